"""Files that Argo CD passes over, and what names them all the same."""

from gpuyard_lint.unused.argo import undeployed_by_argo
from kit.cases.reading import reading
from kit.every import every

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: x}}
spec: {{source: {{path: {path}, directory: {directory}}}}}
"""
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: x}
spec:
  generators:
    - clusters: {}
    - git:
        directories:
          - path: apps/*
          - path: apps/off-*
            exclude: true
"""


def application(path, directory="{}"):
    return APPLICATION.format(path=path, directory=directory)


def gone(files):
    found = reading({name: text for name, text in files.items() if name.endswith(".yaml")})
    return undeployed_by_argo(found, list(files), lambda file: files[file].encode())


ML = {"ml/a.yaml": POD, "ml/b.yaml": POD, "ml/bench/c.yaml": POD, "other/d.yaml": POD}


@every(
    ("directory", "expected"),
    [
        ("{}", {"ml/bench/c.yaml"}),
        ("{recurse: true}", set()),
        ("{recurse: true, exclude: b.yaml}", {"ml/b.yaml"}),
        ("{recurse: true, exclude: bench/*}", {"ml/bench/c.yaml"}),
        ("{recurse: true, exclude: '*.yaml'}", {"ml/a.yaml", "ml/b.yaml", "ml/bench/c.yaml"}),
        ("{recurse: true, exclude: '{b.yaml, bench/*}'}", {"ml/b.yaml", "ml/bench/c.yaml"}),
        ("{recurse: true, include: '{a,b}.yaml'}", {"ml/bench/c.yaml"}),
        ("{recurse: true, include: b.yaml, exclude: b.yaml}", set(ML) - {"other/d.yaml"}),
        ("{recurse: true, exclude: '${OUT}'}", set()),
        ("none", {"ml/bench/c.yaml"}),
    ],
)
def test_an_application_takes_what_its_directory_says(directory, expected):
    assert gone({**ML, "root.yaml": application("ml", directory)}) == expected


@every(
    "more",
    [
        {"b.yaml": application("ml/bench")},
        {"b.yaml": application("./ml", "{recurse: true}")},
        {
            "b.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
            "metadata: {name: x}\nspec: {path: ./ml}\n"
        },
        {"up.sh": "kubectl apply -f ml/bench/\n"},
        {"up.sh": "kubectl apply -f ml/bench/c.yaml\n"},
        {"b/kustomization.yaml": "resources: [../ml/bench/c.yaml]\n"},
        {"b/values.yaml": "apps: [{path: ml/bench}]\n"},
        {"ml/kustomization.yaml": "resources: [a.yaml]\n"},
        {"ml/Chart.yaml": "name: ml\n"},
        {"ml/bench/kustomization.yaml": "resources: [c.yaml]\n"},
        {"root.yaml": application("'{{path}}'")},
        {"root.yaml": application(".")},
        {"root.yaml": application("$X")},
    ],
)
def test_what_something_else_deploys_is_deployed(more):
    assert gone({**ML, "root.yaml": application("ml"), **more}) == set()


def test_one_that_takes_nothing_was_to_take_what_is_below():
    assert gone({"ml/bench/c.yaml": POD, "root.yaml": application("ml")}) == set()


@every(
    ("pattern", "expected"),
    [("x.yaml", True), ("'{y.yaml, x.yaml}'", True), ("x*", False), ("'*'", False)],
)
def test_an_application_is_applied_by_hand_unless_a_pattern_is_its_name(pattern, expected):
    files = {
        "apps/x.yaml": application("elsewhere"),
        "root.yaml": application("apps", f"{{exclude: {pattern}}}"),
    }
    assert gone(files) == ({"apps/x.yaml"} if expected else set())


def test_what_only_mentions_it_deploys_nothing():
    more = {
        "README.md": "bench/ has what we measure\n",
        "b/values.yaml": "# path: ml/bench\nname: bench\npath: elsewhere/bench/\n",
        "b/gpus.yaml": "driver: {enabled: false}\ntoolkit: {enabled: true}\n",
    }
    files = {**ML, "root.yaml": application("ml"), **more}
    assert gone(files) == {"ml/bench/c.yaml"}


APPS = {"apps/a/pod.yaml": POD, "apps/off-b/pod.yaml": POD, "set.yaml": SET}


@every(
    ("more", "expected"),
    [
        ({}, {"apps/off-b/pod.yaml"}),
        ({"set.yaml": SET.replace("exclude: true", "exclude: false")}, set()),
        ({"set.yaml": SET.replace("apps/off-*", "off-*")}, set()),
        ({"more.yaml": SET.replace("apps/off-*", "apps/a")}, set()),
        ({"up.sh": "kubectl apply -f apps/off-b/pod.yaml\n"}, set()),
        ({"b.yaml": application("apps/off-b")}, set()),
    ],
)
def test_a_folder_that_a_set_leaves_out(more, expected):
    assert gone({**APPS, **more}) == expected


def test_what_a_variable_decides_in_terraform_says_nothing():
    text = """# GPUs
resource "kubernetes_manifest" "s" {
  manifest = {
    apiVersion = "argoproj.io/v1alpha1"
    kind       = "ApplicationSet"
    metadata   = { name = "s" }
    spec       = { generators = [{ git = { directories = var.folders } }] }
  }
}
resource "kubernetes_manifest" "a" {
  manifest = {
    apiVersion = "argoproj.io/v1alpha1"
    kind       = "Application"
    metadata   = { name = "a" }
    spec       = { source = { path = var.path } }
  }
}
"""
    found = reading({**APPS, "main.tf": text})
    assert undeployed_by_argo(found, [], lambda _: b"") == {"apps/off-b/pod.yaml"}
