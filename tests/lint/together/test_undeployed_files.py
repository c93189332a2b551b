"""Folders that the kustomization above them leaves out: whose files nobody deploys, and what excuses."""

from gpuyard_lint.combined.undeployed_files import undeployed_files
from gpuyard_lint.items import LintInput
from gpuyard_lint.read import read
from kit.cases.reading import reading
from kit.every import every

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
ONE = "resources: [pod.yaml]\n"
CHOOSES = "resources:\n- a\n- b\n"
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: x}}
spec: {{path: {path}}}
"""
ARGO = "apiVersion: argoproj.io/v1alpha1\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n"
GENERATED = "{{generators: [{{git: {{directories: [{{path: {path}}}]}}}}]}}"


def folder(name, parent="apps"):
    return {f"{parent}/{name}/kustomization.yaml": ONE, f"{parent}/{name}/pod.yaml": POD}


BESIDE = {"apps/kustomization.yaml": CHOOSES, **folder("a"), **folder("b"), **folder("gpus")}
GONE = {"apps/gpus"}


def folders_left_out(files):
    found = LintInput()
    for name, text in files.items():
        if name.endswith((".yaml", ".json")):
            found += read(text.encode(), name)
    names = undeployed_files(found, list(files), lambda file: files[file].encode())
    return {name.rpartition("/")[0] for name in names}


def generated(path):
    return ARGO.format(kind="ApplicationSet", spec=GENERATED.format(path=path))


@every(
    "more, expected",
    [
        ({}, GONE),
        ({"README.md": "gpus/ is for later, see https://docs.nvidia.com/cloud/gpus/"}, GONE),
        ({"README.md": "kubectl get pods -n gpus"}, GONE),
        ({"README.md": "kubectl apply -k apps/gpus"}, set()),
        ({"README.md": "cd apps && kubectl apply -k gpus"}, set()),
        ({"README.md": "kubectl apply -f elsewhere/gpus/"}, GONE),
        ({"up.sh": "# kubectl apply -k apps/gpus\n"}, GONE),
        ({"up.sh": "for each in x gpus; do kubectl apply -k apps/$each; done\n"}, set()),
        ({"up.sh": "kubectl create namespace gpus\n"}, GONE),
        ({"up.sh": "kubectl apply -k $HERE/gpus\n"}, set()),
        ({"Makefile": "up:\n\tkubectl apply -k ../gpus\n"}, set()),
        ({"x/flux.yaml": FLUX.format(path="./apps/gpus")}, set()),
        ({"x/flux.yaml": FLUX.format(path="./apps")}, GONE),
        ({"x/argo.yaml": generated("apps/*")}, set()),
        ({"x/argo.yaml": generated("'*/*'")}, set()),
        ({"x/argo.yaml": generated("apps/**/app.json")}, set()),
        ({"x/argo.yaml": generated("apps/*/app.json")}, set()),
        ({"x/argo.yaml": generated("other/*")}, GONE),
        ({"x/argo.yaml": generated("'*'")}, GONE),
        ({"x/argo.yaml": generated("'apps/{{name}}'")}, set()),
        (
            {"x/argo.yaml": generated("x").replace("git:", "list: {elements: [{a: gpus}]}, git:")},
            set(),
        ),
        (
            {"x/argo.yaml": ARGO.format(kind="Application", spec="{source: {path: apps/gpus}}")},
            set(),
        ),
        (
            {
                "x/argo.yaml": "kind: Application\n"
                + ARGO.format(
                    kind="Application",
                    spec="{source: {path: elsewhere, directory: {recurse: true}}}",
                )
            },
            GONE,
        ),
        ({"x/values.yaml": "apps:\n- name: gpus\n"}, set()),
        ({"x/values.yaml": "apps:\n- gpus\n"}, set()),
        ({"x/values.yaml": "# - gpus\nnamespace: gpus\n"}, GONE),
        ({"x/kustomization.yaml": "resources: [../apps/gpus]\n"}, set()),
        ({"x/kustomization.yaml": "components: [../apps/gpus]\n"}, set()),
        ({"x/kustomization.yaml": "resources: [../apps/gpus/pod.yaml]\n"}, set()),
        ({"apps/kustomization.yaml": "resources: [a]\n"}, set()),
        ({"apps/kustomization.yaml": "resources: [a, ../b]\n"}, set()),
        ({"apps/kustomization.yaml": "resources:\n- a\n#- gpus/  # broken\n"}, GONE),
        ({"apps/kustomization.yaml": "resources:\n- x.yaml\n#  - './gpus'\n"}, GONE),
        ({"apps/kustomization.yaml": "resources:\n- a\n# - gpus are next\n"}, set()),
        ({"apps/kustomization.yaml": "resources:\n- a\n# gpus\n"}, set()),
        (
            {
                "apps/kustomization.yaml": "resources:\n- a\n# - gpus\n",
                "up.sh": "oc apply -k apps/gpus",
            },
            set(),
        ),
        ({"apps/kustomization.yaml": "resources: [a, b, gpus]\n"}, set()),
        ({"apps/kustomization.yaml": "resources: [a, b, gpus/pod.yaml]\n"}, set()),
        ({"apps/kustomization.yaml": "resources: [a/pod.yaml, b/pod.yaml]\n"}, GONE),
        ({"apps/kustomization.yaml": "resources: [a/x.yaml, b/x.yaml]\n"}, set()),
        ({"apps/kustomization.yaml": f"{CHOOSES}# - gpus\n", "x/values.yaml": "on: [gpus]"}, GONE),
        ({"apps/kustomization.yaml": f"{CHOOSES}# - gpus\n", "up.sh": "echo gpus"}, GONE),
        (
            {
                "apps/kustomization.yaml": f"{CHOOSES}#  - ./gpus\n",
                "x/flux.yaml": FLUX.format(path="apps/gpus"),
            },
            set(),
        ),
        ({"apps/gpus/up.sh": "kubectl apply -k ../gpus\n"}, GONE),
        (
            {"apps/gpus/kustomization.yaml": "resources: [x]\n", **folder("x", "apps/gpus")},
            {"apps/gpus", "apps/gpus/x"},
        ),
    ],
)
def test_a_folder_that_the_kustomization_above_leaves_out_is_nobodys_unless_something_names_it(
    more, expected
):
    assert folders_left_out({**BESIDE, **more}) == expected


TWO = {"apps/kustomization.yaml": "resources: [a]\n", **folder("a"), **folder("gpus")}


@every(
    ("more", "expected"),
    [
        ({}, GONE),
        ({"README.md": "kubectl apply -k apps/gpus"}, set()),
        (folder("b"), set()),
        ({"apps/gpus/kustomization.yaml": "resources: [pod.yaml, ../a]\n"}, set()),
        ({"apps/gpus/kustomization.yaml": "resources: [pod.yaml]\ncomponents: [../a]\n"}, set()),
        ({"apps/kustomization.yaml": "resources: [a/pod.yaml]\n"}, GONE),
        ({"apps/kustomization.yaml": "resources: [x.yaml]\n"}, set()),
    ],
)
def test_of_two_folders_alike_the_list_has_one(more, expected):
    assert folders_left_out({**TWO, **more}) == expected


@every(
    ("text", "applied"),
    [
        ("kubectl apply -n ml -f apps/gpus.yaml\n", True),
        ("then `oc create -f ./apps/gpus.yaml`\n", True),
        ("# kubectl apply -f apps/gpus.yaml\n", False),
        ("kubectl apply -f other/gpus.yaml\n", False),
        ("kubectl apply -f my-apps/gpus.yaml\n", False),
        ("kubectl delete -f apps/gpus.yaml\n", False),
        ("kubectl get pods\ncat apps/gpus.yaml\n", False),
    ],
)
def test_a_file_beside_a_kustomization_that_a_command_applies(text, applied):
    files = {"apps/kustomization.yaml": "resources: [a.yaml]\n", "apps/gpus.yaml": POD}
    found = reading({**files, "apps/a.yaml": POD})
    files |= {"up.sh": text, "apps/a.yaml": POD}
    gone = set(undeployed_files(found, list(files), lambda file: files[file].encode()))
    assert gone == (set() if applied else {"apps/gpus.yaml"})


@every(
    ("said", "expected"),
    [
        ("resources: [ollama.yaml]\n", {"gpus.yaml"}),
        ("resources:\n- ollama.yaml\n# - gpus.yaml\n", {"gpus.yaml"}),
        ("resources:\n- ollama.yaml # and not gpus.yaml\n", {"gpus.yaml"}),
        ("resources:\n- ollama.yaml\n- gpus.yaml # all of them\n", set()),
        ("resources:\n- ollama.yaml\n- 'gpus.yaml'\n", set()),
        ("resources: [ollama.yaml]\npatches: [{path: gpus.yaml}]\n", set()),
    ],
)
def test_a_file_beside_a_kustomization_that_has_it_in_a_comment_or_not_at_all(said, expected):
    files = {"kustomization.yaml": said, "ollama.yaml": POD, "gpus.yaml": POD}
    found = reading(files)
    assert set(undeployed_files(found, list(files), lambda file: files[file].encode())) == expected
    files["other/kustomization.yaml"] = "resources: [../gpus.yaml]\n"
    found = reading(files)
    assert not set(undeployed_files(found, list(files), lambda file: files[file].encode()))


def test_an_application_that_takes_all_below_a_folder_takes_what_is_left_out_there():
    recursive = "{{source: {{path: {path}, directory: {{recurse: true}}}}}}"
    files = {f"clusters/{name}": text for name, text in BESIDE.items()}
    for path, expected in (("clusters", set()), ("clusters/apps", {"clusters/apps/gpus"})):
        taken = ARGO.format(kind="Application", spec=recursive.format(path=path))
        assert folders_left_out({**files, "x.yaml": f"{taken}# kind: Application\n"}) == expected


def test_files_of_flux_below_are_left_out_where_others_like_them_are_taken():
    files = {
        f"apps/{name}/ks.yaml": FLUX.format(path=f"./apps/{name}/app")
        for name in ("a", "b", "gpus")
    }
    files["apps/gpus/app/pod.yaml"] = POD
    chooses = "resources:\n- ./a/ks.yaml\n- ./b/ks.yaml\n"
    assert folders_left_out({**files, "apps/kustomization.yaml": chooses}) == {
        "apps/gpus",
        "apps/gpus/app",
    }
    assert not folders_left_out({**files, "apps/kustomization.yaml": f"{chooses}- gpus/ks.yaml\n"})


def test_objects_in_a_folder_without_a_kustomization_are_in_no_list_of_folders():
    files = {name: text for name, text in BESIDE.items() if name != "apps/gpus/kustomization.yaml"}
    assert folders_left_out(files) == GONE
    assert not folders_left_out({**files, "up.sh": "kubectl apply -f apps/gpus/\n"})
    assert not folders_left_out({**files, "apps/gpus/pod.yaml": "mig: {strategy: single}\n"})


INSTALLED = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: g}
spec: {source: {chart: gpu-operator, targetRevision: v26.3.3, helm: {values: "mig: {strategy: single}"}}}
"""
OF_THE_CHART = {
    "gpus/kustomization.yaml": "resources: [pod.yaml]\n",
    "gpus/pod.yaml": POD,
    "gpus/values.yaml": "driver: {enabled: false}\ntoolkit: {enabled: true}\nmig: {strategy: mixed}\n",
    "apps/gpus.yaml": INSTALLED,
}


@every(
    ("more", "expected"),
    [
        ({}, {"gpus"}),
        ({"README.md": "values are in gpus/values.yaml"}, set()),
        ({"gpus/kustomization.yaml": "resources: [pod.yaml, values.yaml]\n"}, set()),
        ({"gpus/Chart.yaml": "name: gpu-operator\n"}, set()),
        ({"apps/gpus.yaml": INSTALLED.replace("gpu-operator", "redis")}, set()),
        ({"apps/gpus.yaml": INSTALLED.replace("v26.3.3", "'{{version}}'")}, {"gpus"}),
    ],
)
def test_values_that_nothing_names_where_the_chart_has_others(more, expected):
    assert folders_left_out({**OF_THE_CHART, **more}) == expected


def test_files_from_here_and_from_elsewhere_are_looked_at_alike():
    assert folders_left_out({**BESIDE, "/else/pod.yaml": POD}) == GONE
