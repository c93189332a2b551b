"""Changes of kustomizations are found by what they select: each object is compared with few of them."""

from gpuyard_lint.combined import scopes as together
from gpuyard_lint.combined.kustomize import kustomizations
from gpuyard_lint.combined.scopes import TOO_MANY_CHANGES, ChangeIndex, scopes
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from kit.cases.reading import reading
from kit.every import every

MANY = 60
POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec: {containers: [{name: a, image: "r:5000/IMAGE:1", resources: {limits: {nvidia.com/gpu: 1.5}}}]}
"""
ADD = "patch: '[{op: add, path: /metadata/labels, value: {a: %s}}]'"


def read_pods(changes, *names):
    pods = "".join(POD.replace("NAME", name).replace("IMAGE", name) for name in names)
    return reading({"kustomization.yaml": f"resources: [pods.yaml]\n{changes}", "pods.yaml": pods})


def deployed(changes, *names):
    """What becomes of Pods of these names, and how many comparisons that takes."""
    given = read_pods(changes, *names)
    (scope,) = [scope for scope in scopes(given) if scope.file]
    made = [there.properties for _, there in scope.resources if there.kind == "v1/Pod"]
    (kustomization,) = kustomizations(given).values()
    index = ChangeIndex(kustomization.changes)
    for item in given.items:
        index.applied(item.resource)
    return made, index.lookups


def labels(pods):
    return [pod["metadata"].get("labels", {}).get("a") for pod in pods]


def images(pods):
    return [pod["spec"]["containers"][0]["image"] for pod in pods]


def entries(key, entry):
    return f"{key}:\n" + "".join(f"  - {entry.replace('N', str(n))}\n" for n in range(MANY))


@every(
    ("key", "entry"),
    [
        ("patches", f"{{target: {{kind: Pod, name: p-N}}, {ADD % 'x'}}}"),
        ("patches", f"{{target: {{name: p-N}}, {ADD % 'x'}}}"),
        ("patches", "patch: '{kind: Pod, metadata: {name: p-N, labels: {a: x}}}'"),
        ("images", "{name: r:5000/p-N, newTag: x}"),
    ],
)
def test_an_object_is_compared_with_the_changes_of_its_own_name_alone(key, entry):
    made, lookups = deployed(entries(key, entry), *(f"p-{n}" for n in range(MANY)))
    if key == "images":
        assert images(made) == [f"r:5000/p-{n}:x" for n in range(MANY)]
    else:
        assert labels(made) == ["x"] * MANY
    assert lookups < 9 * MANY


@every(
    ("target", "expected"),
    [
        ("{kind: Pod, name: a}", ["x", None]),
        ("{kind: Po., name: a}", ["x", None]),
        ("{kind: Pod, name: '.b'}", [None, "x"]),
        ("{name: 'ab|a'}", ["x", "x"]),
        ("{kind: Pod}", ["x", "x"]),
        ("{kind: Job, name: a}", [None, None]),
        ("{labelSelector: b!=c}", ["x", "x"]),
        ("{kind: Pod, name: 'a{99999999999999999999}'}", [None, None]),
        (f"{{name: '{'(' * 3000}{')' * 3000}'}}", [None, None]),
    ],
)
def test_a_target_selects_by_exact_names_by_patterns_and_by_labels(target, expected):
    made, _ = deployed(f"patches: [{{target: {target}, {ADD % 'x'}}}]\n", "a", "ab")
    assert labels(made) == expected


def test_patches_stay_in_their_order_whatever_they_select_by():
    targets = ("{name: a}", "{kind: Pod}", "{name: a.*}", "{kind: Pod, name: a}")
    patches = [f"  - {{target: {target}, {ADD % f'x{n}'}}}\n" for n, target in enumerate(targets)]
    for end in range(1, len(patches) + 1):
        made, _ = deployed("patches:\n" + "".join(patches[:end]), "a")
        assert labels(made) == [f"x{end - 1}"]


def test_a_patch_of_the_new_name_finds_an_object_that_an_inner_kustomization_renames():
    files = {
        "top/kustomization.yaml": "resources: [../base]\npatches:\n  - {target: {name: pre-a}, "
        f"{ADD % 'x'}}}\n",
        "base/kustomization.yaml": "resources: [pod.yaml]\nnamePrefix: pre-\n",
        "base/pod.yaml": POD.replace("NAME", "a"),
    }
    (scope,) = scopes(reading(files))
    assert labels([there.properties for _, there in scope.resources if there.kind == "v1/Pod"]) == [
        "x"
    ]


@every(
    ("given", "expected"),
    [
        ("{name: r:5000/a, newName: b}, {name: b, newName: c}", "c:1"),
        ("{name: b, newName: c}, {name: r:5000/a, newName: b}", "b:1"),
        ("{newName: c}, {name: r:5000/a, newTag: x}", "r:5000/a:x"),
    ],
)
def test_images_change_one_after_the_other(given, expected):
    made, _ = deployed(f"images: [{given}]\n", "a")
    assert images(made) == [expected]


def test_what_takes_too_many_comparisons_is_listed_as_not_read(monkeypatch):
    assert TOO_MANY_CHANGES == (
        "matching its patches and images to objects takes more than 1,000,000 comparisons: gpuyard "
        "checks its objects without them. Name one kind and one object in the target of each patch"
    )
    changes = entries("patches", f"{{target: {{name: 'p-N.*'}}, {ADD % 'x'}}}")
    read = read_pods(changes, *(f"p-{n}" for n in range(MANY)))
    rules = [rule for rule in RULES if rule.id == "GPU-POD-04"]
    whole = build_report(read, rules)
    assert whole.skipped == ()
    monkeypatch.setattr(together, "MOST_LOOKUPS", MANY * MANY)
    bounded = build_report(read, rules)
    assert [(each.file, each.reason) for each in bounded.skipped] == [
        ("kustomization.yaml", TOO_MANY_CHANGES)
    ]
    assert bounded.hits == whole.hits
    assert len(whole.hits) == MANY
