"""What a kustomization changes: names and what refers to them, labels, annotations; what patches are for.

What is expected is what `kubectl kustomize` (kustomize v5.5.0) makes of the same files.
"""

from datetime import date

from gpuyard_lint.combined.scopes import scopes
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import Exemption, FindingState, RuleConfiguration
from kit.cases.reading import reading
from kit.every import every

OBJECTS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, labels: {a: b}}
spec:
  template:
    spec:
      serviceAccountName: sa
      priorityClassName: pc
      containers: [{name: main, image: m:1, envFrom: [{secretRef: {name: s}}, {}]}]
      volumes:
        - {name: v, persistentVolumeClaim: {claimName: p}}
        - {name: w, configMap: {name: c}}
        - {name: x, configMap: {name: elsewhere}}
---
{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: r}, spec: {headGroupSpec: {template: {spec: {
  containers: [{name: a, image: m:1}, {name: b, image: m:1}], volumes: [{configMap: {name: c}}]}}}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: sa}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: ns}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: pc}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: cj}, spec: {jobTemplate: {spec: {template: {spec: {
  containers: [{name: a, image: m:1}]}}}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b}
roleRef: {kind: ClusterRole, name: cr}
subjects: [{kind: ServiceAccount, name: sa, namespace: t}, {kind: User, name: sa}]
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: cr}}
---
{apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {selector: {a: b}}}
---
{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: kn}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: one}, spec: {selector: {
  matchLabels: {a: b}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: all}, spec: {selector: {}}}
"""


def made(kustomization, more=None):
    """By the written name, what each object is deployed as."""
    files = {"kustomization.yaml": f"resources: [o.yaml]\n{kustomization}", "o.yaml": OBJECTS}
    (scope, *_) = scopes(reading(files | (more or {})))
    return {written.name: there for written, there in scope.resources}


def pod(deployment):
    return deployment.properties["spec"]["template"]["spec"]


def test_a_prefix_renames_objects():
    found = made("namePrefix: x-\nnameSuffix: -y\nnamespace: t\n")
    names = {name: there.name for name, there in found.items() if name and name != there.name}
    assert names == {n: f"x-{n}-y" for n in names}
    assert {"d", "r", "c", "s", "sa", "p", "pc", "cj", "cr", "svc"} <= set(names)
    assert "ns" not in names
    assert found["d"].properties["metadata"]["name"] == "x-d-y"


@every("key", ["configurations: [c.yaml]", "transformers: [c.yaml]", "crds: [c.json]"])
def test_with_a_configuration_of_its_own_nobody_knows_what_refers_to_what(key):
    assert made(f"namePrefix: x-\n{key}\n")["d"].name == "d"


def test_an_object_without_a_name_gets_none():
    found = made(
        "namePrefix: x-\n",
        {"o.yaml": "{apiVersion: v1, kind: Pod, metadata: {generateName: g-}}\n"},
    )
    assert found["(no name)"].name == "(no name)"


@every(
    "given, templates, selectors",
    [
        ("labels: [{pairs: {l: m}}]", False, False),
        ("labels: [{pairs: {l: m}, includeTemplates: true}]", True, False),
        ("labels: [{pairs: {l: m}, includeSelectors: true}]", True, True),
        ("commonLabels: {l: m}", True, True),
    ],
)
def test_labels_go_to_objects_to_templates_and_to_selectors(given, templates, selectors):
    found = {name: there.properties for name, there in made(given + "\n").items() if name}
    assert found["d"]["metadata"]["labels"] == {"a": "b", "l": "m"}
    assert found["r"]["metadata"]["labels"] == {"l": "m"}
    job = found["cj"]["spec"]["jobTemplate"]["spec"]["template"]
    assert ("l" in job.get("metadata", {}).get("labels", {})) is templates
    labels = [
        found["svc"]["spec"]["selector"],
        found["d"]["spec"].get("selector", {}).get("matchLabels", {}),
        found["one"]["spec"]["selector"]["matchLabels"],
    ]
    assert ["l" in each for each in labels] == [selectors] * 3
    assert "spec" not in found["kn"]
    assert found["all"]["spec"]["selector"] == {}


def test_annotations_go_to_objects_and_to_templates():
    found = made("commonAnnotations: {l: m}\n")
    assert found["c"].properties["metadata"]["annotations"] == {"l": "m"}
    assert found["d"].properties["spec"]["template"]["metadata"]["annotations"] == {"l": "m"}


def hit(target):
    """Whether a patch for this target reaches the deployment."""
    patch = "- {op: add, path: /spec/replicas, value: 3}"
    found = made(f"namePrefix: x-\npatches:\n- target: {target}\n  patch: |\n    {patch}\n")
    return found["d"].properties["spec"].get("replicas") == 3


@every(
    "target, reached",
    [
        ("{kind: Deployment}", True),
        ("{kind: Dep.*, name: d}", True),
        ("{kind: Deploy}", False),
        ("{group: apps, version: v1}", True),
        ("{group: batch}", False),
        ("{version: v1beta1}", False),
        ("{namespace: default}", True),
        ("{namespace: other}", True),  # it may be: nobody here says no
        ("{labelSelector: a=b}", True),
        ("{labelSelector: 'a==b, !c'}", True),  # not read here: it may be
        ("{labelSelector: 'a'}", True),
        ("{labelSelector: 'c'}", False),
        ("{labelSelector: 'a!=b'}", False),
        ("{labelSelector: 'c!=b'}", True),
        ("{labelSelector: 'a=c'}", False),
        ("{labelSelector: 'a in (c)'}", True),  # not read here: it may be
        ("{annotationSelector: a=b}", False),
    ],
)
def test_what_a_patch_is_for(target, reached):
    assert hit(target) is reached


def test_a_patch_of_an_overlay_may_use_any_name_on_the_way():
    files = {"over/kustomization.yaml": "resources: [../base]\nnamePrefix: y-\npatches:\n"}
    for name in ("d", "x-d"):
        files["over/kustomization.yaml"] += (
            "- patch: |\n    apiVersion: apps/v1\n    kind: Deployment\n"
            f"    metadata: {{name: {name}, annotations: {{{name}: seen}}}}\n"
        )
    files["base/kustomization.yaml"] = "resources: [o.yaml]\nnamePrefix: x-\n"
    (scope,) = scopes(reading(files | {"base/o.yaml": OBJECTS}))
    (found,) = (there for written, there in scope.resources if written.name == "d")
    assert found.name == "y-x-d"
    assert found.properties["metadata"]["annotations"] == {"d": "seen", "x-d": "seen"}


def test_a_patch_is_for_the_kind_of_its_group():
    """Knative has a Service too."""
    patch = "patches:\n- patch: |\n    apiVersion: GROUP\n    kind: Service\n    spec: {x: y}\n"
    for group, name, other in (("serving.knative.dev/v1", "kn", "svc"), ("v1", "svc", "kn")):
        found = made(patch.replace("GROUP", group))
        assert found[name].properties["spec"]["x"] == "y"
        assert "x" not in found[other].properties.get("spec", {})


def patched(name, patch):
    target = "{kind: Deployment|RayCluster}"
    return made(f"patches:\n- target: {target}\n  patch: |\n    {patch}\n")[name].properties


def test_a_patch_changes_neither_name_nor_kind():
    found = patched("d", "{kind: Other, metadata: {name: any, namespace: t}, spec: {replicas: 3}}")
    assert [found["kind"], found["metadata"]["name"], found["spec"]["replicas"]] == [
        "Deployment",
        "d",
        3,
    ]


def test_in_a_kind_of_somebodys_own_a_patch_replaces_a_list():
    patch = "{spec: {headGroupSpec: {template: {spec: {containers: [{name: b, args: [x]}]}}}}}"
    head = patched("r", patch)["spec"]["headGroupSpec"]
    assert head["template"]["spec"]["containers"] == [{"name": "b", "args": ["x"]}]


@every(
    "patch, expected",
    [
        ("{spec: {template: {spec: {$patch: replace, a: 1}}}}", {"a": 1}),
        ("{spec: {template: {spec: {volumes: [{$patch: replace}, {name: n}]}}}}", [{"name": "n"}]),
        ("{spec: {template: {spec: {volumes: [{name: n, $patch: delete}]}}}}", 3),
    ],
)
def test_a_patch_says_what_becomes_of_what_it_meets(patch, expected):
    found = patched("d", patch)["spec"]["template"]["spec"]
    whole = found if "a" in found else found["volumes"]
    assert (len(whole) if isinstance(expected, int) else whole) == expected


def test_mounts_are_told_apart_by_their_paths():
    mounts = "image: m:1, volumeMounts: [{name: v, mountPath: /a}], envFrom"
    text = OBJECTS.replace("image: m:1, envFrom", mounts)
    patch = (
        "patchesStrategicMerge:\n- 3\n- |\n  kind: Deployment\n  spec: {template: {spec: {containers: "
        "[{name: main, volumeMounts: [{name: v, mountPath: /b}]}]}}}\n"
    )
    (main,) = pod(made(patch, {"o.yaml": text})["d"])["containers"]
    assert [each["mountPath"] for each in main["volumeMounts"]] == ["/a", "/b"]


def test_an_operation_adds_to_a_list_where_it_says():
    patch = "- {op: add, path: /spec/template/spec/volumes/0, value: {name: first}}"
    files = f"patches:\n- target: {{kind: Deployment}}\n  patch: |\n    {patch}\n"
    assert [each["name"] for each in pod(made(files)["d"])["volumes"]] == ["first", "v", "w", "x"]


def test_an_operation_that_tests_changes_nothing():
    patch = "- {op: test, path: /spec/replicas, value: 9}"
    files = f"patches:\n- target: {{kind: Deployment}}\n  patch: |\n    {patch}\n"
    assert "replicas" not in made(files)["d"].properties["spec"]


def test_json_patches_of_the_older_list_come_after_labels():
    older = "patchesJson6902:\n- target: {kind: Deployment, name: d}\n  patch: |\n    "
    patch = "- {op: replace, path: /metadata/labels/l, value: z}\n"
    found = made(f"commonLabels: {{l: m}}\n{older}{patch}")
    assert found["d"].properties["metadata"]["labels"] == {"a": "b", "l": "z"}


def test_only_images_of_containers_are_set_and_a_new_tag_is_of_no_digest():
    text = (
        "{apiVersion: x.io/v1, kind: Own, metadata: {name: o}, spec: {image: 'm:1', in: [{containers:"
        " [{name: a, image: 'm:1@sha256:0'}, {name: b}]}]}}\n"
    )
    found = made("images: [{name: m, newTag: '2'}]\n", {"o.yaml": text})["o"].properties
    assert found["spec"] == {
        "image": "m:1", "in": [{"containers": [{"name": "a", "image": "m:2"}, {"name": "b"}]}]
    }  # fmt: skip


# ── what is said of it ──

CLUSTER = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: train, namespace: ml}
spec: {clusterQueue: cq}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: ml, labels: {LABELS}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: "r.example.org/a:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""
QUEUE = "kueue.x-k8s.io/queue-name: "


def said(kustomization, labels="", settings=None):
    cluster = CLUSTER.replace("LABELS", labels)
    files = {"kustomization.yaml": f"resources: [c.yaml]\n{kustomization}", "c.yaml": cluster}
    rules = [rule for rule in RULES if rule.id == "GPU-QUE-01"]
    hits = build_report(reading(files), rules, settings or RuleConfiguration()).hits
    return [
        hit.diagnostic.problem if hit.state is FindingState.OPEN else hit.state.value
        for hit in hits
    ]


@every(
    "given",
    [
        f"labels: [{{pairs: {{{QUEUE}train}}}}]",
        f"labels: [{{pairs: {{{QUEUE}train}}, includeTemplates: true}}]",
        f"commonLabels: {{{QUEUE}train}}",
    ],
)
def test_a_label_of_the_kustomization_names_the_queue(given):
    assert len(said("")) == 1
    assert said(given + "\n") == []


@every(
    "given, label",
    [("namePrefix: prod-", "prod-train"), ("nameSuffix: -eu", "train-eu")],
)
def test_the_queue_is_there_under_the_name_that_it_gets(given, label):
    assert said("", QUEUE + label)
    assert said(given + "\n", QUEUE + label) == []


def test_an_exception_for_what_is_written_holds_under_another_name_too():
    settings = RuleConfiguration(
        exemptions=(
            Exemption("GPU-QUE-01", "j", "later", date(2027, 1, 1)),
            Exemption("GPU-QUE-01", "other", "later", date(2027, 1, 1)),
        )
    )
    assert said("", QUEUE + "none", settings) == ["excepted"]
    assert said("namePrefix: prod-\n", QUEUE + "none", settings) == ["excepted"]
