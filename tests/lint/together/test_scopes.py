"""What is deployed together: kustomizations, charts, applications, folders; what each makes of an object."""

from dataclasses import replace

import pytest

from gpuyard_lint.combined.patching import strategic_merge
from gpuyard_lint.combined.scopes import scopes
from gpuyard_lint.items import Item, LintInput
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource
from kit.cases.reading import reading
from kit.every import every

POD = "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n"


def pod(name):
    return POD.format(name=name)


def together(files):
    """By scope, the names of what stands in it; configuration of kustomize itself left out."""
    named = [
        sorted(r.name for r, _ in scope.resources if not r.kind.startswith("kustomize."))
        for scope in scopes(reading(files))
    ]
    return sorted(each for each in named if each)


@every(
    "files, expected",
    [
        ({"a/x.yaml": pod("x"), "a/y.yaml": pod("y"), "b/z.yaml": pod("z")}, [["x", "y"], ["z"]]),
        ({"x.yaml": pod("x"), "<stdin>": pod("y")}, [["x", "y"]]),
        (
            {"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n"}
            | {"c/crds/x.yaml": pod("x"), "c/more/y.yaml": pod("y"), "d/z.yaml": pod("z")},
            [["x", "y"], ["z"]],
        ),
        (
            {"k/kustomization.yaml": "resources: [../base, z.yaml, gone.yaml, https://h/x]\n"}
            | {"base/kustomization.yml": "resources: [x.yaml]\n", "base/x.yaml": pod("x")}
            | {"k/z.yaml": pod("z"), "k/apart.yaml": pod("apart")},
            [["apart"], ["x", "z"]],
        ),
        (
            {"k/kustomization.yaml": "helmCharts: [{name: c, valuesFile: v.yaml}]\n"}
            | {"k/v.yaml": "driver: {}\ndevicePlugin: {}\n", "k/x.yaml": pod("x")},
            [["gpu-operator"], ["x"]],
        ),
        (  # two overlays of one base are two clusters
            {"base/kustomization.yaml": "resources: [x.yaml]\n", "base/x.yaml": pod("x")}
            | {"a/kustomization.yaml": "bases: [../base]\nresources: [y.yaml]\n"}
            | {"b/kustomization.yaml": "bases: [../base]\nresources: [z.yaml]\n"}
            | {"a/y.yaml": pod("y"), "b/z.yaml": pod("z")},
            [["x", "y"], ["x", "z"]],
        ),
        (
            {"kustomization.yaml": "components: [part, gone]\nresources: [x.yaml]\n"}
            | {"x.yaml": pod("x"), "part/y.yaml": pod("y")}
            | {
                "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\n"
                "kind: Component\nresources: [y.yaml]\n"
            },
            [["x", "y"]],
        ),
        (  # a circle has no beginning: its files stand in their folders
            {"a/kustomization.yaml": "resources: [../b, x.yaml]\n", "a/x.yaml": pod("x")}
            | {"b/kustomization.yaml": "resources: [../a, y.yaml]\n", "b/y.yaml": pod("y")},
            [["x"], ["y"]],
        ),
        (
            {"kustomization.yaml": "resources: [a, b]\n"}
            | {"a/kustomization.yaml": "resources: [../b, x.yaml]\n", "a/x.yaml": pod("x")}
            | {"b/kustomization.yaml": "resources: [../a, y.yaml]\n", "b/y.yaml": pod("y")},
            [["x", "y"]],
        ),
        (
            {
                "flux.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
                "metadata: {name: f}\nspec: {path: ./apps/prod}\n"
            }
            | {"r/apps/prod/q/x.yaml": pod("x"), "r/apps/prod/j/y.yaml": pod("y")}
            | {"r/apps/dev/z.yaml": pod("z")},
            [["x", "y"], ["z"]],
        ),
        (
            {
                "argo.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"
                "metadata: {name: f}\nspec: {sources: [{path: apps, directory: {recurse: true}},"
                " {path: other}, {path: '', directory: {recurse: true}}]}\n"
            }
            | {"apps/q/x.yaml": pod("x"), "apps/j/y.yaml": pod("y")}
            | {"other/q/v.yaml": pod("v"), "other/j/w.yaml": pod("w")},
            [["f"], ["v"], ["w"], ["x", "y"]],
        ),
    ],
)
def test_what_goes_together_is_one_scope(files, expected):
    assert together(files) == expected


def test_an_application_whose_path_is_not_known_yet_has_none():
    flux = Resource(
        "kustomize.toolkit.fluxcd.io/v1/Kustomization", "f", {"spec": {"path": UNKNOWN}}
    )
    made = reading({"a.yaml": pod("x")})
    both = LintInput((*made.items, Item(flux, made.items[0].place)), (), made.files)
    assert len(scopes(both)) == 1


def test_absolute_folders_end_somewhere():
    assert together({"/a/x.yaml": pod("x"), "/a/y.yaml": pod("y")}) == [["x", "y"]]
    chart = {"/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n"}
    assert together(chart | {"/a/x.yaml": pod("x"), "/c/d/y.yaml": pod("y")}) == [["x"], ["y"]]


# ── what a kustomization makes of an object ──

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, labels: {a: b}}
spec:
  template:
    spec:
      containers:
        - {name: main, image: reg/app:latest, args: [one]}
        - {name: side, image: "reg:5000/side@sha256:0"}
"""


def deployed(kustomization, more=None, text=DEPLOYMENT):
    files = {"kustomization.yaml": f"resources: [d.yaml]\n{kustomization}", "d.yaml": text}
    (scope, *_) = scopes(reading(files | (more or {})))
    made = [there for _, there in scope.resources if there.kind.endswith(("Deployment", "Role"))]
    return made[0].properties if made else None


def containers(found):
    return found["spec"]["template"]["spec"]["containers"]


PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"


def test_what_nobody_changes_is_the_object_as_it_is_written():
    made = reading({"kustomization.yaml": "resources: [d.yaml]\n", "d.yaml": DEPLOYMENT})
    (scope,) = scopes(made)
    assert all(written is there for written, there in scope.resources)


@every(
    "images, expected",
    [
        ("[{name: reg/app, newTag: 1.2.3}]", "reg/app:1.2.3"),
        ("[{name: reg/app, newTag: 2}]", "reg/app:2"),
        ("[{name: reg/app, newName: own/app}]", "own/app:latest"),
        ("[{name: reg/app, newTag: 1.0, digest: 'sha256:1'}]", "reg/app:1.0@sha256:1"),
        ("[{name: app, newTag: 1.2.3}]", "reg/app:latest"),
    ],
)
def test_images_are_what_a_kustomization_says(images, expected):
    assert containers(deployed(f"images: {images}\n"))[0]["image"] == expected


def test_an_image_by_digest_keeps_it_and_one_without_tag_gets_none():
    side = containers(deployed("images: [{name: 'reg:5000/side', newName: own/side}]\n"))[1]
    assert side["image"] == "own/side@sha256:0"


def test_a_namespace_is_given_to_what_has_one():
    assert deployed("namespace: team\n")["metadata"]["namespace"] == "team"
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n"
    assert "namespace" not in deployed("namespace: team\n", text=role)["metadata"]


@every(
    "kustomization, more",
    [
        ("patches: [{path: p.yaml}]\n", {"p.yaml": PATCH + "spec: {replicas: 3}\n"}),
        ("patchesStrategicMerge: [p.yaml]\n", {"p.yaml": PATCH + "spec: {replicas: 3}\n"}),
        (
            "patches:\n- {target: {kind: Dep.*}, patch: '[{op: add, path: /spec/replicas, value: 3}]'}\n",
            {},
        ),
        (
            "patchesJson6902: [{path: p.yaml, target: {kind: Deployment}}]\n",
            {"p.yaml": "- {op: replace, path: /spec/replicas, value: 3}\n"},
        ),
        ("patches:\n- patch: |-\n    kind: Deployment\n    spec: {replicas: 3}\n", {}),
    ],
)
def test_a_patch_is_applied_wherever_it_stands(kustomization, more):
    assert deployed(kustomization, more)["spec"]["replicas"] == 3


@every(
    "patch",
    [
        "patches:\n- patch: 'a: ['\n",
        "patches:\n- patch: just words\n",
        "patches:\n- target: {kind: Deployment}\n",
        "patches:\n- {path: gone.yaml}\n",
        "patches:\n- {path: values.yaml}\n",
        "patchesStrategicMerge:\n- |\n  kind: Deployment\n",
        "patches:\n- target: {name: '('}\n  patch: '[{op: remove, path: /spec}]'\n",
        "patches:\n- target: {name: other}\n  patch: '[{op: remove, path: /spec}]'\n",
        "patches:\n- patch: '[{op: remove, path: /spec/gone}]'\n",
        "patches:\n- patch: '[{op: remove, path: /metadata/name/deeper}]'\n",
        "patches:\n- patch: '[{op: add, path: /metadata/name/deeper, value: 1}]'\n",
    ],
)
def test_a_patch_of_another_object_or_form_changes_nothing(patch):
    values = "driver: {}\ndevicePlugin: {}\n"
    assert deployed(patch, {"values.yaml": values})["spec"]["template"]["spec"]


@every(
    "operation, expected",
    [
        ("{op: replace, path: /spec/template/spec/containers/0/image, value: x}", ["x", 2]),
        ("{op: remove, path: /spec/template/spec/containers/1}", ["reg/app:latest", 1]),
        ("{op: remove, path: /spec/template/spec/containers/0/image}", [None, 2]),
        ("{op: add, path: /spec/template/spec/containers/-, value: {}}", ["reg/app:latest", 3]),
        ("{op: copy, path: /metadata/labels/c~1d, from: /x}", ["reg/app:latest", 2]),
    ],
)
def test_operations_are_done_one_by_one(operation, expected):
    found = deployed(f"patches:\n- patch: '[{operation}]'\n")
    assert [containers(found)[0].get("image"), len(containers(found))] == expected
    if "copy" in operation:  # from where, only kustomize looks up
        assert found["metadata"]["labels"]["c/d"] is UNKNOWN


def test_a_whole_object_can_be_patched_away():
    assert deployed("patches:\n- patch: |-\n    kind: Deployment\n    $patch: delete\n") is None


@every(
    "path, index",
    [
        ("spec.template.spec.containers.[name=main].image", [True, False]),
        ("spec.template.spec.containers.*.image", [True, True]),
        ("spec.template.spec.containers.1.image", [False, True]),
    ],
)
def test_what_another_object_gives_is_unknown(path, index):
    found = deployed(
        f"replacements:\n- targets:\n  - select: {{kind: Deployment}}\n    fieldPaths: ['{path}']\n"
        "  - select: {kind: Other}\n    fieldPaths: [spec]\n"
    )
    assert [each["image"] is UNKNOWN for each in containers(found)] == index


def test_an_inner_kustomization_comes_first_and_a_component_changes_all():
    files = {
        "kustomization.yaml": "resources: [base]\ncomponents: [part]\nnamespace: outer\n",
        "base/kustomization.yaml": "resources: [d.yaml]\nnamespace: inner\n",
        "base/d.yaml": DEPLOYMENT,
        "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\n"
        "kind: Component\nimages: [{name: reg/app, newTag: v1}]\n",
    }
    (scope,) = scopes(reading(files))
    (found,) = [there for _, there in scope.resources if there.kind == "apps/v1/Deployment"]
    assert found.properties["metadata"]["namespace"] == "outer"
    assert containers(found.properties)[0]["image"] == "reg/app:v1"


@every(
    "value, patch, expected",
    [
        ({"a": 1, "b": 2}, {"a": None, "c": 3}, {"b": 2, "c": 3}),
        ([{"name": "x", "a": 1}], [{"name": "x", "b": 2}], [{"name": "x", "a": 1, "b": 2}]),
        ([{"name": "x"}], [{"name": "y"}], [{"name": "x"}, {"name": "y"}]),
        ([{"name": "x"}, {"name": "y"}], [{"name": "x", "$patch": "delete"}], [{"name": "y"}]),
        ([1, 2], [3], [3]),
        ([{"name": "x"}], [], []),
        ({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)  # fmt: skip
def test_a_strategic_merge_goes_by_fields_and_names(value, patch, expected):
    assert strategic_merge(value, patch) == expected


# ── rules within a scope ──

QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: train, namespace: t}
spec: {clusterQueue: c}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: t, labels: {kueue.x-k8s.io/queue-name: NAME}}
spec: {template: {spec: {containers: [{name: a, image: a:1, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
"""


def said(files, *rules):
    chosen = [rule for rule in RULES if rule.id in rules]
    return [(hit.file, hit.diagnostic.problem) for hit in build_report(reading(files), chosen).hits]


def test_a_queue_of_another_folder_is_of_another_cluster():
    job = JOB.replace("NAME", "other")
    assert len(said({"a/q.yaml": QUEUE, "a/j.yaml": job}, "GPU-QUE-01")) == 1
    assert said({"a/q.yaml": QUEUE, "b/j.yaml": job}, "GPU-QUE-01") == []
    # and one that stands elsewhere is there as well: both views have to agree
    elsewhere = {"b/q.yaml": QUEUE.replace("train", "other")}
    assert said({"a/q.yaml": QUEUE, "a/j.yaml": job} | elsewhere, "GPU-QUE-01") == []


def test_a_finding_is_told_in_the_words_of_its_scope():
    job = JOB.replace("NAME", "nowhere")
    own = {"a/q.yaml": QUEUE, "a/j.yaml": job}
    far = {"b/q.yaml": QUEUE.replace("train", "far")}
    chosen = [rule for rule in RULES if rule.id == "GPU-QUE-01"]
    (hit,) = build_report(reading(own | far), chosen).hits
    assert hit.diagnostic.fix_message == "name one of train"


def test_an_image_that_a_kustomization_pins_is_pinned():
    job = JOB.replace("a:1", "app:latest").replace(
        ", labels: {kueue.x-k8s.io/queue-name: NAME}", ""
    )
    files = {"j.yaml": job, "kustomization.yaml": "resources: [j.yaml]\n"}
    assert len(said(files, "GPU-POD-03")) == 1
    files["kustomization.yaml"] += "images: [{name: app, newTag: '2'}]\n"
    assert said(files, "GPU-POD-03") == []


def test_a_rule_is_evaluated_once_as_written_and_once_as_deployed():
    from gpuyard_lint.rules.rule import Violation

    asked = []

    def check(resource, _):
        asked.append(resource.namespace)
        for index in range(3):
            yield Violation(("spec", index), f"problem {index}", "fix")

    (any_rule, *_) = RULES
    rule = replace(any_rule, kinds=("batch/Job",), check=check, check_stack=None, adjust=None)
    files = {"j.yaml": JOB, "kustomization.yaml": "resources: [j.yaml]\nnamespace: deployed\n"}
    assert len(build_report(reading(files), [rule]).hits) == 3
    assert asked == ["t", "deployed"]


def test_a_patch_is_no_object_of_its_own_but_what_stands_whole_in_it_is_deployed():
    queue = (
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: c}\nspec: {}\n"
    )
    assert len(said({"p.yaml": queue}, "GPU-TEN-04")) == 1
    assert (
        said({"p.yaml": queue, "kustomization.yaml": "patches: [{path: p.yaml}]\n"}, "GPU-TEN-04")
        == []
    )
    config = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  any: |\n    version: v1\n"
        "    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 0}]}}\n"
    )
    files = {"p.yaml": config, "kustomization.yaml": "patches: [{path: p.yaml}]\n"}
    assert len(said(files, "GPU-CFG-01")) == 1


SINGLE = "driver: {}\ndevicePlugin: {}\nmig: {strategy: single}\n"
QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: t}
spec: {hard: {requests.nvidia.com/mig-1g.5gb: 1}}
"""


def test_keys_of_a_copied_chart_are_read_by_its_own_templates():
    values = "toolkit: {enabled: true}\ndevicePlugin: {enabled: true, ours: 1}\nhouse: {a: b}\n"
    rule = "GPU-CFG-02"
    assert len(said({"c/values.yaml": values}, rule)) == 2
    chart = "apiVersion: v2\nname: gpu-operator\nversion: 1.0.0\n"
    # a chart that only depends on the vendor's hands on what that one knows, and no more
    wrapped = {"c/Chart.yaml": chart, "c/values.yaml": values}
    assert len(said(wrapped, rule)) == 2
    copied = wrapped | {"c/templates/house.yaml": "a: {{ .Values.house.a }}\n"}
    assert said(copied, rule) == []
    # whoever installs the copy with values of another file is told as before
    assert len(said(copied | {"values.yaml": values}, rule)) == 2
    # and what is wrong for the vendor's operator is wrong in a copy as well
    wrong = values + "mig: {strategy: dynamic}\n"
    assert [each for _, each in said(copied | {"c/values.yaml": wrong}, rule)] == [
        "mig.strategy dynamic is rejected: it must be none, single or mixed"
    ]
    # of other charts every key is taken anyhow
    plugin = {"c/values.yaml": "migStrategy: none\ndeviceListStrategy: envvar\nours: 1\n"}
    (scope,) = scopes(reading(copied | plugin))
    ((_, there),) = scope.resources
    assert "ours" in there.properties


def test_values_files_side_by_side_are_alternatives():
    one = {"values.yaml": SINGLE, "quota.yaml": QUOTA}
    assert len(said(one, "GPU-SHR-03")) == 1
    assert said(one | {"values-b.yaml": SINGLE.replace("single", "mixed")}, "GPU-SHR-03") == []
    made = scopes(reading(one | {"values-b.yaml": SINGLE, "x/values.yaml": SINGLE}))
    absent = [[r.name for r in each] for scope in made for each in scope.absent_resources]
    assert absent == [["gpu-operator"], ["gpu-operator"]]


@pytest.mark.parametrize("more", [{}, {"b/x.yaml": POD.format(name="x")}])
def test_a_rule_that_could_not_end_over_all_is_still_held_within_a_scope(more):
    from gpuyard_lint.combined.evaluation import evaluate_files
    from gpuyard_lint.rules.run import DEFAULT_CONFIGURATION, FindingState

    made = reading({"a/q.yaml": QUEUE, "a/j.yaml": JOB.replace("NAME", "other")} | more)
    unknown = Resource("batch/v1/Job", "u", {"metadata": UNKNOWN, "spec": UNKNOWN})
    place = made.items[-1].place
    both = LintInput((Item(unknown, place), *made.items), (), made.files)
    chosen = [rule for rule in RULES if rule.id == "GPU-QUE-01"]
    verdicts = [
        each.state for each in evaluate_files(both, chosen, DEFAULT_CONFIGURATION, scopes(both))
    ]
    expected = [FindingState.NOT_EVALUATED, FindingState.OPEN]
    assert verdicts == (expected if more else expected[:1])


SIZED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data: {size: "${SIZE}"}
"""


def test_what_hangs_on_a_value_that_somebody_fills_in_ends_no_rule_over_all():
    from gpuyard_core.manifests.fields import text
    from gpuyard_lint.combined.evaluation import evaluate_files
    from gpuyard_lint.rules.rule import Violation
    from gpuyard_lint.rules.run import DEFAULT_CONFIGURATION, FindingState

    def check(stack, _):
        found = stack.resources_of_kinds("ConfigMap")
        for each in found:
            yield Violation(("data", "size"), text(each.properties["data"]["size"]), "f", each)
            if len(found) == 1:
                yield Violation(("metadata",), "it is alone", "f", each)

    (any_rule, *_) = RULES
    rule = replace(any_rule, kinds=("ConfigMap",), check=None, check_stack=check, adjust=None)
    two = {f"{name}/c.yaml": SIZED.replace("NAME", name) for name in "ab"}
    one = reading({"a/c.yaml": two["a/c.yaml"]})
    found = evaluate_files(one, [rule], DEFAULT_CONFIGURATION, scopes(one))
    alone = list(found)
    assert [each.diagnostic.problem for each in alone if each.state is FindingState.OPEN] == [
        "it is alone"
    ]
    found = evaluate_files(reading(two), [rule], DEFAULT_CONFIGURATION, scopes(reading(two)))
    both = [each.state for each in found]
    assert both == [FindingState.NOT_EVALUATED] * 2


PROVISIONER = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: gpu}
spec: {}
"""
INSTALLED = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter}
spec: {source: {chart: karpenter, repoURL: r.example.org, targetRevision: v0.13.2}}
"""


@every(
    "files, severity, word",
    [
        (
            {"a/p.yaml": PROVISIONER, "b/x.yaml": pod("x")},
            "warning",
            "current ones do not serve it",
        ),
        ({"a/p.yaml": PROVISIONER, "a/k.yaml": INSTALLED}, "info", "which v0.13.2 here serves"),
        # the folder alone would warn of it; what is pinned in the next one makes it less grave
        ({"a/p.yaml": PROVISIONER, "b/k.yaml": INSTALLED}, "info", "which v0.13.2 here serves"),
    ],
)
def test_of_a_scope_and_all_files_the_less_grave_word_counts(files, severity, word):
    hits = [h for h in build_report(reading(files), RULES).hits if h.rule.id == "GPU-CFG-03"]
    assert [(h.file, h.diagnostic.severity, word in h.diagnostic.problem) for h in hits] == [
        ("a/p.yaml", severity, True)
    ]


WHEN_EMPTY = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  disruption: {consolidationPolicy: WhenEmpty}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements: [{key: karpenter.k8s.aws/instance-category, operator: In, values: [p]}]
"""
PINNED = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec: {amiSelectorTerms: [{id: ami-0123456789}]}
"""


@every(
    "files, state",
    [
        ({"a/p.yaml": WHEN_EMPTY, "b/x.yaml": pod("x")}, "open"),
        ({"a/p.yaml": WHEN_EMPTY, "a/c.yaml": PINNED}, "advisory"),
        # the folder alone would count it; what stands in the next one makes it a choice
        ({"a/p.yaml": WHEN_EMPTY, "b/c.yaml": PINNED}, "advisory"),
        ({"a/p.yaml": WHEN_EMPTY, "a/c.yaml": PINNED, "b/p.yaml": WHEN_EMPTY}, "advisory"),
    ],
)
def test_what_is_a_choice_in_a_scope_or_over_all_files_is_one(files, state):
    hits = build_report(reading(files), RULES).hits
    found = [h for h in hits if h.rule.id == "GPU-CAP-04" and h.file == "a/p.yaml"]
    assert [h.state for h in found] == [state]


OLDER = """\
resource "helm_release" "karpenter" {
  chart   = "karpenter"
  version = var.karpenter_version
}
resource "kubernetes_manifest" "pool" {
  manifest = {
    apiVersion = "karpenter.sh/v1beta1"
    kind       = "NodePool"
    metadata   = { name = "gpu" }
    spec       = { template = { spec = { nodeClassRef = { name = "gpu" } } } }
  }
}
"""


@every(
    "text, found",
    [
        (OLDER, []),  # which one it is, a variable decides
        (
            OLDER.replace("var.karpenter_version", '"1.6.0"'),
            [("error", "apiVersion"), ("error", "nodeClassRef")],
        ),
        (OLDER.replace("var.karpenter_version", '"1.0.8"'), [("info", "apiVersion")]),
        (OLDER.replace("var.karpenter_version", '"0.37.0"'), []),  # it is the only version there
    ],
)
def test_a_version_that_a_variable_decides_may_be_the_older_one(text, found):
    hits = [h for h in build_report(reading({"a/main.tf": text}), RULES).hits if h.state == "open"]
    said = [
        (h.diagnostic.severity, h.diagnostic.location.rpartition(".")[2])
        for h in hits
        if h.rule.id == "GPU-CFG-03"
    ]
    assert sorted(said) == found
