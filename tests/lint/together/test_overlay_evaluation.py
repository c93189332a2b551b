"""What a kustomization puts in is wrong too: where it is told, how often, and what must be sure for it."""

from dataclasses import replace
from datetime import date

from gpuyard_lint.combined.kustomize_build import kustomizations_to_build, with_kustomize_output
from gpuyard_lint.items import LintInput
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import Resource
from gpuyard_lint.rules.run import Exemption, RuleConfiguration
from gpuyard_lint.rules.subjects.installed_versions import IMAGES
from kit.cases.reading import reading
from kit.every import every

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: v}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
        - {name: side, image: "r.example.org/side:1.0"}
        - name: v
          image: r.example.org/v:1.0
          resources: {limits: {nvidia.com/gpu: 1}}
"""
BASE = {"base/kustomization.yaml": "resources: [d.yaml]\n", "base/d.yaml": DEPLOYMENT}
OVER = "resources: [../base]\n"
LATEST = "images:\n- name: r.example.org/v\n  newTag: latest\n"
PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: v}
spec:
  template:
    spec:
      containers:
        - name: v
          securityContext:
            privileged: true
"""
INDENTED = "".join(f"      {line}\n" for line in PATCH.splitlines())


def hits(found, settings=None):
    return build_report(found, RULES, settings or RuleConfiguration()).hits


def told(files, settings=None):
    return [(h.rule.id, h.file, h.line) for h in hits(reading(files), settings)]


def over(text, **more):
    return told({**BASE, "over/kustomization.yaml": OVER + text, **more})


def test_an_image_that_moves_is_told_where_its_tag_is():
    (hit,) = hits(reading({**BASE, "over/kustomization.yaml": OVER + LATEST}))
    assert (hit.rule.id, hit.file, hit.line) == ("GPU-POD-03", "over/kustomization.yaml", 4)
    assert hit.diagnostic.problem.startswith("r.example.org/v:latest is a moving tag")
    note = "as over/kustomization.yaml deploys it, of base/d.yaml:12"
    assert [hit.reason, hit.resource] == [note, "Deployment v"]


MOVES = {"base/d.yaml": DEPLOYMENT.replace("v:1.0", "v")}
OTHER = "namespace: n\nimages:\n- {name: r.example.org/v, newName: r.example.org/w, newTag: %s}\n"
AGAIN = "r.example.org/v is a moving tag"
"""What is said of it as it is written."""


@every(
    "overlays, starts, note",
    [
        ([], AGAIN, ""),
        (
            [OTHER % "latest"],
            "r.example.org/w:latest is a moving tag",
            "as 0/kustomization.yaml deploys it",
        ),
        ([OTHER % "latest", OTHER % "main"], AGAIN, ""),
        ([OTHER % "latest", ""], AGAIN, ""),
        (
            [OTHER % "latest", OTHER % "1.0"],
            "r.example.org/w:latest is a moving tag",
            "as 0/kustomization.yaml deploys it",
        ),
        (["namespace: n\n"], AGAIN, ""),
    ],
)
def test_an_image_that_moves_before_and_after_is_named_as_it_is_deployed(overlays, starts, note):
    files = {f"{n}/kustomization.yaml": OVER + each for n, each in enumerate(overlays)}
    first = DEPLOYMENT.replace("metadata: {name: v}", "metadata: {name: u}").replace(
        "v:1.0", "u:1.0"
    )
    both = {"base/kustomization.yaml": "resources: [c.yaml, d.yaml]\n", "base/c.yaml": first}
    found = hits(reading({**both, **MOVES, **files}))
    (hit,) = [each for each in found if each.rule.id == "GPU-POD-03"]
    assert [hit.file, hit.line, hit.reason] == ["base/d.yaml", 12, note]
    assert hit.diagnostic.problem.startswith(starts)


MORE = PATCH.replace("- name: v\n", "- name: v\n          image: r.example.org/v:1.0\n")


@every(
    "patch, line",
    [
        (PATCH, 11),  # the container, which has no securityContext there
        (
            MORE.replace("name: v\n          i", "name: first\n          i"),
            9,
        ),  # of a new one, the list
        (  # of one that has moved up, the list
            PATCH.replace("- name: v\n", "- {name: side, $patch: delete}\n        - name: v\n"),
            9,
        ),
    ],
)
def test_where_an_object_is_written_that_a_patch_makes_wrong_is_said(patch, line):
    files = {"over/kustomization.yaml": OVER + "patches: [{path: p.yaml}]\n", "over/p.yaml": patch}
    (hit,) = [h for h in hits(reading({**BASE, **files})) if h.rule.id == "GPU-POD-02"]
    assert hit.file == "over/p.yaml"
    assert hit.reason == f"as over/kustomization.yaml deploys it, of base/d.yaml:{line}"


@every(
    "text, line",
    [
        (LATEST.replace("newTag: latest", "newName: r.example.org/w\n  newTag: latest"), 5),
        (LATEST.replace("newTag: latest", "newName: r.example.org/w"), None),
        (LATEST.replace("v\n", "other\n"), None),
        (LATEST.replace("latest", "1.1"), None),
        (LATEST + "  digest: sha256:1\n", None),
    ],
)
def test_what_an_entry_of_images_makes_of_it(text, line):
    assert over(text) == ([("GPU-POD-03", "over/kustomization.yaml", line)] if line else [])


def test_a_patch_in_a_file_is_told_at_its_line():
    patch = "patches: [{path: p.yaml}]\n"
    assert over(patch, **{"over/p.yaml": PATCH}) == [("GPU-POD-02", "over/p.yaml", 10)]


def test_a_patch_in_the_kustomization_is_told_at_its_line():
    assert over(f"patches:\n- patch: |\n{INDENTED}") == [
        ("GPU-POD-02", "over/kustomization.yaml", 13)
    ]


SELECTS = """\
patches:
- target: {kind: Deployment}
  patch: |
    - {op: add, path: /spec/template/spec/nodeSelector, value: {gpu.nvidia.com/tier: premium}}
"""
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {gpu.nvidia.com/tier: premium}}\n"


def test_a_label_that_a_patch_selects_may_be_given_elsewhere():
    assert over(SELECTS) == [("GPU-POD-05", "over/kustomization.yaml", 5)]
    assert over(SELECTS, **{"nodes/n.yaml": NODE}) == []


OPERATIONS = """\
patches:
- target: {kind: Deployment}
  patch: |
    - {op: add, path: /spec/replicas, value: 2}
    - {op: add, path: /spec/template/spec/hostPID, value: true}
    - {op: add, path: /spec/template/spec/hostname, value: x}
"""


def test_an_operation_is_told_at_its_line():
    assert over(OPERATIONS) == [("GPU-POD-02", "over/kustomization.yaml", 6)]


def test_what_an_operation_brings_is_told_at_it():
    brought = (
        '{name: new, image: "r.example.org/n:latest", resources: {limits: {nvidia.com/gpu: 1}}}'
    )
    where = "/spec/template/spec/containers/-"
    text = OPERATIONS[: OPERATIONS.index("    - {op")]
    assert over(f"{text}    - {{op: add, path: {where}, value: {brought}}}\n") == [
        ("GPU-POD-03", "over/kustomization.yaml", 5)
    ]


def test_what_a_new_container_in_a_patch_has_is_told_there():
    patch = PATCH.replace("name: v\n  ", "name: w\n  ").replace(
        "privileged: true", "privileged: true\n          resources: {limits: {nvidia.com/gpu: 1}}"
    )
    assert over("patches: [{path: p.yaml}]\n", **{"over/p.yaml": patch}) == [
        ("GPU-POD-02", "over/p.yaml", 10)
    ]


def test_a_component_is_told_at_its_own_line():
    part = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + LATEST
    found = over("components: [../part]\n", **{"part/kustomization.yaml": part})
    assert found == [("GPU-POD-03", "part/kustomization.yaml", 5)]


def test_what_a_patch_makes_of_an_image_that_moves_is_told_at_the_patch():
    """The base asks for no GPU, so its tag may move."""
    plain = DEPLOYMENT.replace("v:1.0", "v:latest").replace(
        "          resources: {limits: {nvidia.com/gpu: 1}}\n", ""
    )
    patch = PATCH.replace("securityContext:", "resources:").replace(
        "privileged: true", "limits: {nvidia.com/gpu: 1}"
    )
    files = {"base/d.yaml": plain, "over/p.yaml": patch}
    assert over("patches: [{path: p.yaml}]\n", **files) == [("GPU-POD-03", "over/p.yaml", 8)]


def test_each_overlay_counts_for_itself_and_what_both_take_is_said_once():
    both = {**BASE, "a/kustomization.yaml": OVER + LATEST, "b/kustomization.yaml": OVER + LATEST}
    assert [each[1] for each in told(both)] == ["a/kustomization.yaml", "b/kustomization.yaml"]
    base = {"base/kustomization.yaml": BASE["base/kustomization.yaml"] + LATEST}
    both = {**BASE, **base, "a/kustomization.yaml": OVER, "b/kustomization.yaml": OVER}
    assert told(both) == [("GPU-POD-03", "base/kustomization.yaml", 4)]


def test_what_is_written_so_is_said_there_alone():
    latest = {"base/d.yaml": DEPLOYMENT.replace("v:1.0", "v:latest")}
    assert over(LATEST, **latest) == [("GPU-POD-03", "base/d.yaml", 12)]
    more = f"patches:\n- target: {{kind: Deployment}}\n  patch: |\n    {OP_FIRST}\n"
    assert over(more, **latest) == [("GPU-POD-03", "base/d.yaml", 12)]


GONE = "- patch: |\n    kind: Deployment\n    metadata: {name: v}\n    $patch: delete\n"
MAYBE = "- target: {labelSelector: 'a in (b)'}\n  patch: |\n"
OP_FIRST = "- {op: add, path: /spec/template/spec/containers/0, value: {name: first, image: 'f:1'}}"


@every(
    "text",
    [
        f"patches:\n- target: {{kind: Deployment, namespace: other}}\n  patch: |\n{INDENTED}",
        f"patches:\n- target: {{labelSelector: 'a in (b)'}}\n  patch: |\n{INDENTED}",
        f"patches:\n- target: {{kind: Other}}\n  patch: |\n{INDENTED}",
        OPERATIONS.replace("op: add", "op: copy").replace("value: true", "from: /spec/x"),
        f"patches:\n- patch: |\n{INDENTED}{GONE}",
        f"patches:\n- patch: |\n{INDENTED}{MAYBE}{INDENTED.replace('true', 'false')}",
    ],
)
def test_what_is_not_sure_accuses_nobody(text):
    assert over(text) == []


def test_samples_are_left_alone():
    for folder in ("over", "base"):
        found = reading({**BASE, "over/kustomization.yaml": OVER + LATEST})
        names = [name for name in found.files if name.startswith(folder)]
        sample = LintInput(found.items, (), found.files, frozenset(names))
        assert hits(sample) == ()
    part = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + LATEST
    files = {**BASE, "over/kustomization.yaml": f"{OVER}components: [../part]\n"}
    found = reading({**files, "part/kustomization.yaml": part})
    assert hits(found)
    sample = frozenset({"part/kustomization.yaml"})
    assert hits(LintInput(found.items, (), found.files, sample)) == ()


def test_a_tag_that_a_command_sets_under_the_name_that_is_written_moves_for_nobody():
    renamed = LATEST.replace("newTag: latest", "newName: r.example.org/w\n  newTag: latest")
    found = reading({**BASE, "over/kustomization.yaml": OVER + renamed})
    assert hits(found)
    said = Resource(IMAGES, "", {"names": ["r.example.org/v"], "containers": []})
    assert hits(replace(found, installs=(said,))) == ()


def test_a_version_that_a_command_sets_is_not_deployed_as_it_is_written():
    old = "images:\n- name: r.example.org/v\n  newName: nvidia/cuda\n  newTag: '12.0'\n"
    found = reading({**BASE, "over/kustomization.yaml": OVER + old})
    assert [hit.rule.id for hit in hits(found)] == ["GPU-POD-04"]
    said = Resource(IMAGES, "", {"names": ["r.example.org/v"], "containers": []})
    assert hits(replace(found, installs=(said,))) == ()


def test_an_exception_holds_for_it_too():
    settings = RuleConfiguration(
        exemptions=(Exemption("GPU-POD-03", "v", "later", date(2027, 1, 1)),)
    )
    files = {**BASE, "over/kustomization.yaml": OVER + "namePrefix: x-\n" + LATEST}
    assert told(files, settings) == []
    off = RuleConfiguration(off=frozenset({"GPU-POD-03"}))
    assert told(files, off) == []


# ── what kustomize itself has made ──

REPLACED = """\
resources: [../base, cm.yaml]
namePrefix: x-
replacements:
  - source: {kind: ConfigMap, name: c, fieldPath: data.image}
    targets:
      - select: {kind: Deployment}
        fieldPaths: [spec.template.spec.containers.1.image]
"""
CM = {"over/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {image: x}\n"}


def made(kustomization, output):
    found = reading({**BASE, **CM, "over/kustomization.yaml": kustomization})
    (each,) = kustomizations_to_build(found)
    return [
        (h.rule.id, h.file, h.line, h.diagnostic.problem[:22], h.reason)
        for h in hits(with_kustomize_output(found, {each: output.encode()}))
    ]


def test_what_a_replacement_puts_in_is_told_at_the_replacement():
    output = DEPLOYMENT.replace("name: v}", "name: x-v}").replace("v:1.0", "v:latest")
    note = "as over/kustomization.yaml deploys it, of base/d.yaml:12"
    assert made(REPLACED, output) == [
        ("GPU-POD-03", "over/kustomization.yaml", 4, "r.example.org/v:latest", note)
    ]


def test_what_nothing_written_tells_is_said_of_the_object():
    output = DEPLOYMENT.replace("name: v}", "name: x-v}").replace(
        "    spec:", "    spec:\n      hostPID: true"
    )
    text = REPLACED.replace("kind: Deployment", "kind: Other")
    found = reading({**BASE, **CM, "over/kustomization.yaml": text})
    (each,) = kustomizations_to_build(found)
    (hit,) = hits(with_kustomize_output(found, {each: output.encode()}))
    assert (hit.file, hit.line) == ("base/d.yaml", 8)
    assert hit.diagnostic.problem.endswith("(as over/kustomization.yaml deploys it)")


@every("name", ["y-v", "x-v-2"])
def test_an_object_of_another_name_is_not_taken_for_it(name):
    output = DEPLOYMENT.replace("name: v}", f"name: {name}}}").replace("v:1.0", "v:latest")
    assert made(REPLACED, output) == []


# ── of several ──

CLUSTER = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: train, namespace: ml}
spec: {clusterQueue: cq}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: ml, labels: {kueue.x-k8s.io/queue-name: train}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: "r.example.org/a:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""


def cluster(text, **more):
    files = {"k/kustomization.yaml": f"resources: [c.yaml]\n{text}", "k/c.yaml": CLUSTER}
    return [h.diagnostic.problem for h in hits(reading(files | more))]


def test_a_prefix_takes_the_queue_from_the_job():
    assert cluster("") == []
    problem = "train is not a LocalQueue of its namespace: the job never starts"
    assert cluster("namePrefix: x-\n") == [f"{problem} (as k/kustomization.yaml deploys it)"]


def test_what_stands_elsewhere_under_that_name_excuses_it():
    queue = CLUSTER[: CLUSTER.index("---")]
    assert cluster("namePrefix: x-\n", **{"other/q.yaml": queue}) == []


def test_of_several_only_what_is_sure_accuses():
    patch = "patches:\n- target: {labelSelector: 'a in (b)'}\n  patch: |\n    metadata: {labels: {q: z}}\n"
    assert cluster(f"namePrefix: x-\n{patch}") == []


def test_of_several_samples_are_left_alone():
    files = {"k/kustomization.yaml": "resources: [c.yaml]\nnamePrefix: x-\n", "k/c.yaml": CLUSTER}
    found = reading(files)
    assert hits(found)
    for name in files:
        assert hits(replace(found, example_files=frozenset({name}))) == ()


SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: dcgm-exporter}
spec: {type: LoadBalancer, ports: [{port: 9400}]}
"""
INTERNAL = "commonAnnotations: {service.beta.kubernetes.io/aws-load-balancer-scheme: internal}\n"


@every(
    "overlays, severity",
    [
        ([INTERNAL], "warning"),
        ([INTERNAL, INTERNAL], "warning"),
        ([INTERNAL, "{}\n"], "error"),
        ([INTERNAL, "patches: [{patch: '{$patch: delete, kind: Service}'}]\n"], "warning"),
        (["patches: [{patch: '{kind: Service, spec: {type: ClusterIP}}'}]\n", INTERNAL], "warning"),
    ],
)
def test_what_every_overlay_makes_less_grave_is_no_graver(overlays, severity):
    files = {"base/kustomization.yaml": "resources: [d.yaml]\n", "base/d.yaml": SERVICE}
    for number, text in enumerate(overlays):
        files[f"over-{number}/kustomization.yaml"] = OVER + text.removeprefix("{}\n")
    assert [(h.rule.id, h.diagnostic.severity.value) for h in hits(reading(files))] == [
        ("GPU-STK-07", severity)
    ]
