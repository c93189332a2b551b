"""Values of app-template are read as the pods that the chart makes of them, each part where it is written.

What the chart makes was compared with `helm template` of its 4.1.1 on 112 workloads of public repositories.
"""

import textwrap

import pytest
import yaml

from gpuyard_core.manifests.fields import UNKNOWN, PartlyKnown
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.app_template.objects import ChartRelease, app_template_objects
from gpuyard_lint.items import FileLocation, Item
from gpuyard_lint.read import read
from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import Resource
from kit.every import every

RELEASE = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: serve, namespace: ai}
spec:
  chartRef: {kind: OCIRepository, name: app-template}
  values:
"""
SERVE = """controllers:
  serve:
    containers:
      app:
        image:
          repository: ghcr.io/team/serve
          tag: latest
        env:
          TZ: UTC
          NVIDIA_VISIBLE_DEVICES: all
        resources:
          limits: {nvidia.com/gpu: 1}
"""


def released(values, head=RELEASE):
    return head + textwrap.indent(values, "    ")


def described(values, *, release=None):
    """The objects of some values, in YAML or as they are, by kind and name."""
    given = yaml.safe_load(values) if isinstance(values, str) else values
    item = Item(
        Resource("values:app-template", "app-template", given),
        FileLocation("f", Document(given, {})),
    )
    made = [*app_template_objects(item, release or ChartRelease())]
    return {(each.resource.kind, each.resource.name): each for each in made}


def pod_of(values):
    (item,) = described(values).values()
    spec = item.resource.properties["spec"]
    return spec.get("jobTemplate", {"spec": spec})["spec"]["template"]["spec"]


def said(text, name="f.yaml"):
    reading = read(text.encode(), name)
    return sorted(
        (hit.rule.id, hit.diagnostic.location, hit.line)
        for hit in build_report(reading, RULES).hits
        if hit.state in (HitState.OPEN, HitState.NOT_EVALUATED)
    )


def test_a_release_is_judged_as_its_pods_each_place_where_the_values_say_it():
    app = "controllers.serve.containers.app"
    assert said(released(SERVE)) == [
        ("GPU-POD-01", f"{app}.env.NVIDIA_VISIBLE_DEVICES", 16),
        ("GPU-POD-03", f"{app}.image.tag", 13),
    ]


@pytest.mark.parametrize("key", ["values", "valuesObject"])
def test_an_application_of_argo_is_read_as_well(key):
    source = {
        "chart": "app-template",
        "helm": {key: SERVE if key == "values" else yaml.safe_load(SERVE)},
    }
    application = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "serve"},
        "spec": {"source": source, "destination": {"namespace": "ai"}},
    }
    reading = read(yaml.safe_dump(application).encode(), "f.yaml")
    (made,) = [item.resource for item in reading.items if item.is_described_by_values]
    assert (made.kind, made.name, made.namespace) == ("apps/v1/Deployment", "serve", "ai")


@every(
    ("head", "name", "namespace"),
    [
        (RELEASE, "serve", "ai"),
        (RELEASE.replace("  values", "  releaseName: r\n  targetNamespace: t\n  values"), "r", "t"),
        (RELEASE.replace(", namespace: ai", ""), "serve", ""),
        (
            (
                "kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\nhelmCharts:\n"
                "- name: app-template\n  releaseName: k\n  namespace: n\n  valuesInline:\n"
            ),
            "k",
            "n",
        ),
        (
            (
                "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: all}\nspec:\n"
                " template:\n  spec:\n   destination: {namespace: d}\n   source:\n    chart: app-template\n"
                "    helm:\n     valuesObject:\n"
            ),
            "serve",
            "d",
        ),
    ],
)
def test_an_object_has_the_name_and_the_namespace_of_its_release(head, name, namespace):
    by = "      " if "ApplicationSet" in head else "    "
    reading = read((head + textwrap.indent(SERVE, by)).encode(), "f.yaml")
    (made,) = [item.resource for item in reading.items if item.is_described_by_values]
    assert (made.name, made.namespace) == (name, namespace)


def test_a_file_of_values_is_read_and_one_under_the_name_of_the_chart():
    assert [line for _, _, line in said(SERVE)] == [10, 7]
    umbrella = "app-template:\n" + textwrap.indent(SERVE, "  ")
    assert [line for _, _, line in said(umbrella)] == [11, 8]


@every(
    ("kind", "made", "template"),
    [
        ("", "apps/v1/Deployment", ("template",)),
        ("deployment", "apps/v1/Deployment", ("template",)),
        ("statefulset", "apps/v1/StatefulSet", ("template",)),
        ("daemonset", "apps/v1/DaemonSet", ("template",)),
        ("job", "batch/v1/Job", ("template",)),
        ("cronjob", "batch/v1/CronJob", ("jobTemplate", "spec", "template")),
    ],
)
def test_a_controller_is_of_the_kind_that_its_type_says(kind, made, template):
    values = yaml.safe_load(SERVE)
    values["controllers"]["serve"] |= {"type": kind, "replicas": 3, "labels": {"a": "b"}}
    ((found, item),) = described(values).items()
    there = item.resource.properties["spec"]
    assert there.get("replicas") == (3 if made.startswith("apps") else None)
    assert ("selector" in there) is made.startswith("apps")
    for step in template:
        there = there[step]
    assert found == (made, "serve")
    assert there["spec"]["containers"][0]["image"] == "ghcr.io/team/serve:latest"
    assert item.resource.properties["metadata"]["labels"] == {"a": "b"}
    assert item.place.document_path(("metadata", "labels", "a"))[-2:] == ("labels", "a")
    where = ("spec", *template, "spec", "containers", 0, "image")
    assert item.place.document_path(where) == (
        *("controllers", "serve", "containers", "app", "image", "tag"),
    )


def test_what_a_pod_does_not_say_is_told_where_one_would_write_it():
    (item,) = described(SERVE).values()
    missing = ("spec", "template", "spec", "runtimeClassName")
    assert item.place.document_path(missing) == ("controllers", "serve", "pod", "runtimeClassName")


@every(
    "values",
    [
        {},
        {"controllers": {"a": {"type": "pod", "containers": {}}}},
        {"controllers": {"a": {"enabled": False, "containers": {}}}},
        {"controllers": {"a": {"enabled": "${ON}", "containers": {}}}},
        {"controllers": {"a": 1}},
        {"controllers": UNKNOWN},
        PartlyKnown({"controllers": {"a": {"containers": {}}}}),
        {"controllers": {"a": {"containers": {"b": {"args": [PartlyKnown()]}}}}},
    ],
)
def test_nothing_is_made_of_what_is_off_or_not_known(values):
    assert described(values) == {}


def test_values_over_others_of_which_nobody_knows_describe_nothing():
    over = RELEASE.replace("  values:", "  valuesFrom: [{kind: Secret, name: s}]\n  values:")
    assert not any(
        item.is_described_by_values for item in read(released(SERVE, over).encode(), "f.yaml").items
    )


def test_a_release_whose_objects_are_changed_after_the_chart_describes_nothing():
    over = RELEASE.replace("  values:", "  postRenderers: [{kustomize: {}}]\n  values:")
    assert not any(
        item.is_described_by_values for item in read(released(SERVE, over).encode(), "f.yaml").items
    )


OPTIONS = """defaultPodOptionsStrategy: %s
defaultPodOptions:
  runtimeClassName: nvidia
  hostIPC: true
  hostPID: true
  nodeSelector: {gpu: "true"}
  securityContext: {runAsUser: 1}
  labels: {a: usual, b: usual}
  annotations: {c: usual}
controllers:
  x:
    pod:
      runtimeClassName: ""
      hostPID: false
      nodeSelector: %s
      labels: {a: own}
    containers: {}
"""


@every(
    ("strategy", "own", "selected"),
    [
        ("overwrite", "{}", {}),
        ("overwrite", "{zone: a}", {"zone": "a"}),
        ("merge", "{zone: a}", {"zone": "a", "gpu": "true"}),
        ("merge", "{gpu: no-more}", {"gpu": "no-more"}),
    ],
)
def test_options_of_all_pods_are_those_of_one_that_says_nothing(strategy, own, selected):
    (item,) = described(OPTIONS % (strategy, own)).values()
    template = item.resource.properties["spec"]["template"]
    assert template["metadata"] == {
        "labels": {"app.kubernetes.io/controller": "x", "a": "own", "b": "usual"},
        "annotations": {"c": "usual"},
    }
    assert {
        key: template["spec"].get(key)
        for key in ("runtimeClassName", "hostIPC", "hostPID", "nodeSelector", "securityContext")
    } == {
        "runtimeClassName": "nvidia",
        "hostIPC": True,
        "hostPID": False,
        "nodeSelector": selected,
        "securityContext": {"runAsUser": 1},
    }
    at = ("spec", "template", "spec")
    assert item.place.document_path((*at, "hostIPC")) == ("defaultPodOptions", "hostIPC")
    assert item.place.document_path((*at, "hostPID")) == ("controllers", "x", "pod", "hostPID")
    labels = ("spec", "template", "metadata", "labels", "a")
    assert item.place.document_path(labels) == ("controllers", "x", "pod", "labels", "a")


USUAL = """controllers:
  x:
    defaultContainerOptionsStrategy: %s
    applyDefaultContainerOptionsToInitContainers: %s
    defaultContainerOptions:
      image: {repository: r, tag: "1"}
      securityContext: {privileged: true}
    initContainers: {first: {}}
    containers:
      app:
        image: {tag: "2"}
        securityContext: {}
      off: {enabled: false}
"""


@every(
    ("strategy", "first", "images"),
    [
        ("overwrite", "true", [None, "r:1"]),
        ("merge", "true", ["r:2", "r:1"]),
        ("merge", "false", ["r:2", None]),
    ],
)
def test_options_of_all_containers_are_those_of_one_that_says_nothing(strategy, first, images):
    spec = pod_of(USUAL % (strategy, first))
    assert [each["name"] for each in spec["containers"]] == ["app"]
    made = [*spec["containers"], *spec["initContainers"]]
    assert [each.get("image") for each in made] == images
    assert spec["containers"][0]["securityContext"] == {"privileged": True}


def container_of(**given):
    spec = pod_of({"controllers": {"x": {"containers": {"app": given}}}})
    return spec["containers"][0]


@every(
    ("image", "made"),
    [
        ({"repository": "r", "tag": "1@sha256:ab"}, {"image": "r:1@sha256:ab"}),
        ({"repository": "r", "tag": 1.5, "digest": ""}, {"image": "r:1.5"}),
        ({"repository": "r", "digest": "sha256:ab"}, {"image": "r@sha256:ab"}),
        (
            {"repository": "r", "tag": "1", "digest": "sha256:ab", "pullPolicy": "Never"},
            {"image": "r:1@sha256:ab", "imagePullPolicy": "Never"},
        ),
        ({"repository": "r", "tag": UNKNOWN}, {"image": UNKNOWN}),
        ({"repository": "r"}, {}),
        ({"tag": "1"}, {}),
        ("r:1", {}),
    ],
)
def test_an_image_is_put_together_of_its_parts(image, made):
    container = container_of(image=image)
    assert {key: container[key] for key in container if key.startswith("image")} == made


def test_words_and_fields_of_a_container_are_those_of_the_pod():
    made = container_of(nameOverride="n", command="sh", args=["-c", "x"], workingDir="/w")
    assert made == {
        "name": "n",
        "command": ["sh"],
        "args": ["-c", "x"],
        "workingDir": "/w",
        "volumeMounts": [],
    }


SECRET = {"secretKeyRef": {"name": "s", "key": "k"}}


@every(
    ("env", "made"),
    [
        (
            {"A": True, "B": 0, "C": "c", "D": {"value": 1.5}, "E": {"valueFrom": SECRET}},
            [
                {"name": "A", "value": "true"},
                {"name": "B", "value": "0"},
                {"name": "C", "value": "c"},
                {"name": "D", "value": "1.5"},
                {"name": "E", "valueFrom": SECRET},
            ],
        ),
        ({"A": {"dependsOn": "B", **SECRET}}, [{"name": "A", "valueFrom": SECRET}]),
        ([{"name": "A", "value": "a"}], [{"name": "A", "value": "a"}]),
        ([{"name": "A", "valueFrom": SECRET}], [{"name": "A", "valueFrom": SECRET}]),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_variables_are_a_list_however_they_are_written(env, made):
    assert container_of(env=env)["env"] == made


def test_a_variable_is_told_at_its_name_and_its_value_where_that_has_one():
    values = yaml.safe_load(SERVE)
    values["controllers"]["serve"]["containers"]["app"]["env"]["W"] = {"value": "x"}
    (item,) = described(values).values()
    env = ("spec", "template", "spec", "containers", 0, "env")
    own = ("controllers", "serve", "containers", "app", "env")
    assert item.place.document_path((*env, 1)) == (*own, "NVIDIA_VISIBLE_DEVICES")
    assert item.place.document_path((*env, 1, "value")) == (*own, "NVIDIA_VISIBLE_DEVICES")
    assert item.place.document_path((*env, 2, "value")) == (*own, "W", "value")


STORED = """controllers:
  x: {containers: {app: {}, side: {}}}
  y: {containers: {app: {}}}
persistence:
  shm:
    type: emptyDir
    medium: Memory
    globalMounts: [{path: /dev/shm}]
  cache: {type: emptyDir, sizeLimit: 1Gi}
  dev:
    type: hostPath
    hostPath: /dev/dri
    hostPathType: Directory
    advancedMounts: {x: {side: [{readOnly: true}]}}
  old: {type: hostPath, hostPath: /data}
  own:
    type: custom
    volumeSpec: {hostPath: {path: /dev}}
    advancedMounts: {y: {app: [{path: /d}]}}
  config: {existingClaim: c}
  media: {type: nfs, server: s, path: /p}
  off: {enabled: false, type: emptyDir}
"""


def test_volumes_are_those_of_the_pods_that_mount_them():
    x, y = described(STORED).values()
    volumes = x.resource.properties["spec"]["template"]["spec"]["volumes"]
    assert volumes == [
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "dev", "hostPath": {"path": "/dev/dri", "type": "Directory"}},
        {"name": "old", "hostPath": {"path": "/data"}},
        {"name": "config", "persistentVolumeClaim": {}},
        {"name": "media", "nfs": {}},
    ]
    others = y.resource.properties["spec"]["template"]["spec"]["volumes"]
    assert [each["name"] for each in others] == ["shm", "cache", "old", "own", "config", "media"]
    assert others[3] == {"name": "own", "hostPath": {"path": "/dev"}}
    at = ("spec", "template", "spec", "volumes")
    assert x.place.document_path((*at, 0, "emptyDir")) == ("persistence", "shm")
    assert x.place.document_path((*at, 0, "emptyDir", "medium")) == ("persistence", "shm", "medium")
    assert x.place.document_path((*at, 2, "hostPath", "path")) == ("persistence", "dev", "hostPath")
    own = ("persistence", "own", "volumeSpec", "hostPath", "path")
    assert y.place.document_path((*at, 3, "hostPath", "path")) == own


def test_a_container_mounts_what_is_for_all_and_what_is_for_it():
    x, _ = described(STORED).values()
    containers = x.resource.properties["spec"]["template"]["spec"]["containers"]
    shm = "/dev/shm"  # noqa: S108  the path as a pod has it, not a file of ours
    of_all = [("shm", shm), ("cache", "/cache"), ("old", "/data"), ("config", "/config")]
    app, side = (
        [(mount["name"], mount["mountPath"]) for mount in each["volumeMounts"]]
        for each in containers
    )
    assert app == [*of_all, ("media", "/media")]
    assert sorted(side) == sorted([*of_all, ("media", "/media"), ("dev", "/dev/dri")])
    at = ("spec", "template", "spec", "containers", 1, "volumeMounts", 2)
    assert containers[1]["volumeMounts"][2]["readOnly"] is True
    assert x.place.document_path(at) == ("persistence", "dev", "advancedMounts", "x", "side", 0)


@every(
    ("more", "names"),
    [
        ({}, ["serve-x", "serve-y"]),
        ({"fullnameOverride": "f"}, ["f-x", "f-y"]),
        ({"global": {"fullnameOverride": "y"}}, ["y-x", "y"]),
    ],
)
def test_of_several_each_has_its_own_name_too(more, names):
    values = {"controllers": {"x": {}, "y": {}}, **more}
    release = ChartRelease("serve", "ai")
    assert [name for _, name in described(values, release=release)] == names


def test_a_service_is_for_its_controller_or_the_only_one():
    values = {
        "controllers": {"dcgm-exporter": {"containers": {}}},
        "service": {
            "app": {
                "type": "LoadBalancer",
                "annotations": {"a": "b"},
                "ports": {"http": {"port": 9400}, "off": {"enabled": False, "port": 1}},
            }
        },
    }
    found = described(values, release=ChartRelease("gpus", "ai"))
    item = found["v1/Service", "gpus"]
    assert item.resource.properties == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "gpus", "namespace": "ai", "annotations": {"a": "b"}},
        "spec": {
            "type": "LoadBalancer",
            "ports": [{"name": "http", "port": 9400}],
            "selector": {"app.kubernetes.io/controller": "dcgm-exporter"},
        },
    }
    assert item.place.document_path(("spec", "type")) == ("service", "app", "type")
    assert [rule for rule, _, _ in said(yaml.safe_dump(values))] == ["GPU-STK-07"]


def test_an_anchor_is_what_it_stands_for():
    aliased = SERVE.replace("tag: latest", "tag: &tag latest").replace("TZ: UTC", "TZ: *tag")
    assert said(aliased) == said(SERVE)
