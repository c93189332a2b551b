"""Whatever stands in values of app-template, they are read to the end, and what they describe is judged."""

from itertools import product

import yaml

from gpuyard_core.manifests.fields import UNKNOWN
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.app_template.objects import ChartRelease, app_template_objects
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.run import RuleConfiguration, RuleVerdict, evaluate

VALUES = """fullnameOverride: n
global: {fullnameOverride: n}
defaultPodOptionsStrategy: merge
defaultPodOptions: {labels: {a: b}, runtimeClassName: nvidia, nodeSelector: {a: b}}
controllers:
  x:
    enabled: true
    type: deployment
    labels: {a: b}
    replicas: 1
    pod: {annotations: {a: b}, hostPID: true, nodeSelector: {c: d}}
    defaultContainerOptionsStrategy: merge
    defaultContainerOptions: {image: {pullPolicy: Always}, securityContext: {privileged: true}}
    initContainers: {i: {image: {repository: r, tag: t}}}
    containers:
      c:
        nameOverride: d
        image: {repository: r, tag: latest, digest: ""}
        command: [sh]
        args: -c
        env: {A: 1, NVIDIA_VISIBLE_DEVICES: {value: all, dependsOn: A}, S: {secretKeyRef: {name: s}}}
        resources: {limits: {nvidia.com/gpu: 1}}
service: {s: {controller: x, type: LoadBalancer, ports: {http: {port: 9400, targetPort: 9400}}}}
persistence:
  shm: {type: emptyDir, medium: Memory, globalMounts: [{path: /dev/shm}]}
  dev: {type: hostPath, hostPath: /dev, hostPathType: Directory, advancedMounts: {x: {c: [{path: /d}]}}}
  own: {type: custom, volumeSpec: {hostPath: {path: /dev}}}
"""
JUNK = (None, True, 5, 0.5, "", "${X}", [], [1, [2]], {}, {"a": {"b": []}}, {1: 2}, UNKNOWN)


def paths(value, path=()):
    """Every place in some values."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield (*path, key)
        yield from paths(value[key], (*path, key))


def with_junk(value, path, junk):
    """The values with something else at a place."""
    if not path:
        return junk
    made = dict(value) if isinstance(value, dict) else list(value)
    made[path[0]] = with_junk(value[path[0]], path[1:], junk)
    return made


def test_nothing_strange_in_values_stops_lint():
    values = yaml.safe_load(VALUES)
    for path, junk in product(list(paths(values)), JUNK):
        given = with_junk(values, path, junk)
        place = FileLocation("values.yaml", Document(given, {}))
        item = Item(Resource("values:app-template", "app-template", given), place)
        made = [*app_template_objects(item, ChartRelease("r", "n"))]
        for each in made:
            assert each.place.document_path(("spec", "template", "spec", "volumes", 0, "emptyDir"))
        said = evaluate([each.resource for each in made], RULES, RuleConfiguration())
        assert RuleVerdict.FAILED not in {each.verdict for each in said}, (path, junk)
