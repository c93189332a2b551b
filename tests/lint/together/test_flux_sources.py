"""Kustomizations of Flux that nobody applies, and the folders that they alone would bring."""

from gpuyard_lint.combined.flux_sources import undeployed_by_flux
from gpuyard_lint.read import read
from kit.cases.reading import reading
from kit.every import every

KS = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: x}}
spec: {{path: {path}}}
"""
ABOVE = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
HOME = {
    "k/apps/gpu/kustomization.yaml": f"{ABOVE}  - ./namespace.yaml\n  # - ./operator/ks.yaml\n",
    "k/apps/gpu/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: gpu}\n",
    "k/apps/gpu/operator/ks.yaml": KS.format(path="./k/apps/gpu/operator/app"),
    "k/apps/gpu/operator/app/kustomization.yaml": f"{ABOVE}  - ./pod.yaml\n",
    "k/apps/gpu/operator/app/pod.yaml": POD,
}
GONE = {name for name in HOME if "/operator/" in name}


def listing(entry):
    return {"k/apps/gpu/kustomization.yaml": f"{ABOVE}  - ./namespace.yaml\n  - {entry}\n"}


def gone(files):
    return set(undeployed_by_flux(reading(files), lambda file: files[file].encode()))


@every(
    "more, expected",
    [
        ({}, GONE),
        (listing("./operator/ks.yaml"), set()),
        (listing("operator/ks.yaml # all of it"), set()),
        (listing('"./operator/"'), set()),
        (listing("path: ./operator"), set()),
        (listing("./operators/ks.yaml"), GONE),
        ({"k/flux/apps.yaml": KS.format(path="./k/apps")}, GONE),
        ({"k/flux/apps.yaml": KS.format(path="./k/apps/gpu")}, GONE),
        ({"k/flux/apps.yaml": KS.format(path="./k/apps/gpu/operator")}, set()),
        (
            {"k/flux/apps.yaml": KS.format(path="k/apps/gpu/operator/app/")},
            {"k/apps/gpu/operator/ks.yaml"},
        ),
        (  # that of a cluster lists it by its path
            {"k/clusters/a/kustomization.yaml": f"{ABOVE}  - ../../apps/gpu/operator/ks.yaml\n"},
            set(),
        ),
        ({"k/clusters/a/kustomization.yaml": f"{ABOVE}  - ../../apps/other/ks.yaml\n"}, GONE),
        ({"k/apps/gpu/operator/ks.yaml": KS.format(path="./${GROUP}/operator")}, set()),
        ({"k/apps/gpu/operator/ks.yaml": KS.format(path=".")}, set()),
        (
            {"k/apps/gpu/operator/ks.yaml": KS.format(path="x").replace("{path: x}", "none")},
            set(),
        ),
    ],
)
def test_what_no_list_has_is_not_applied(more, expected):
    assert gone({**HOME, **more}) == expected


def test_without_a_kustomization_above_flux_takes_all_there_is():
    files = {name: text for name, text in HOME.items() if name != "k/apps/gpu/kustomization.yaml"}
    assert gone(files) == set()


def test_a_file_in_the_list_of_its_own_folder_is_applied():
    files = {
        "apps/kustomization.yaml": f"{ABOVE}- ks.yaml\n",
        "apps/ks.yaml": KS.format(path="./gpu"),
        "gpu/pod.yaml": POD,
    }
    assert gone(files) == set()
    assert gone({**files, "apps/kustomization.yaml": ABOVE}) == {"apps/ks.yaml", "gpu/pod.yaml"}


def test_paths_from_the_root_end_somewhere():
    files = {"/repo/a/ks.yaml": KS.format(path="./gpu"), "/repo/gpu/pod.yaml": POD}
    assert gone(files) == set()
    above = {"/repo/a/kustomization.yaml": f"{ABOVE}- ./other\n"}
    assert gone({**above, **files}) == {"/repo/a/ks.yaml", "/repo/gpu/pod.yaml"}


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: x}}
spec: {{{source}}}
"""
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: x}}
spec: {{generators: [{{git: {{directories: [{{path: {path}}}]}}}}, {{clusters: {{}}}}]}}
"""
LISTED = f"{ABOVE}  - apps/web.yaml\n"
OF_ARGO = {
    "kustomization.yaml": f"{LISTED}# apps/gpus.yaml\n",
    "apps/web.yaml": APPLICATION.format(source="source: {path: web}"),
    "apps/gpus.yaml": APPLICATION.format(source="source: {path: gpus}"),
    "gpus/pod.yaml": POD,
    "web/pod.yaml": POD,
}
OUT = {"apps/gpus.yaml", "gpus/pod.yaml"}


@every(
    "more, expected",
    [
        ({}, OUT),
        ({"kustomization.yaml": f"{LISTED}#  - './apps/gpus.yaml'\n"}, OUT),
        ({"kustomization.yaml": f"{LISTED}#  - apps/gpus.yaml   # wave 5\n"}, OUT),
        (
            {"kustomization.yaml": LISTED},
            set(),
        ),  # applied by hand, or the one that applies the others
        ({"kustomization.yaml": f"{LISTED}# apps/no-gpus.yaml\n"}, set()),
        ({"kustomization.yaml": f"{LISTED}# apps/gpus.yaml is next\n"}, set()),
        ({"other/kustomization.yaml": f"{ABOVE}  - ../apps/gpus.yaml\n"}, set()),
        ({"root.yaml": APPLICATION.format(source="source: {path: apps}")}, set()),
        (
            {"apps/gpus.yaml": APPLICATION.format(source="sources: [{chart: a}, {path: gpus}]")},
            OUT,
        ),
        ({"apps/gpus.yaml": APPLICATION.format(source="source: {chart: a}")}, {"apps/gpus.yaml"}),
        ({"apps/web.yaml": APPLICATION.format(source="source: {path: gpus}")}, {"apps/gpus.yaml"}),
        ({"apps/gpus.yaml": APPLICATION.format(source="project: a")}, {"apps/gpus.yaml"}),
        ({"apps/gpus.yaml": SET.format(path="gpus/*")}, OUT),
        ({"apps/gpus.yaml": SET.format(path="gpus/*, exclude: true")}, {"apps/gpus.yaml"}),
        ({"apps/gpus.yaml": SET.format(path="'*'")}, {"apps/gpus.yaml"}),
        ({"apps/web.yaml": SET.format(path="gpus/*")}, {"apps/gpus.yaml"}),
    ],
)
def test_an_application_that_the_list_has_in_a_comment(more, expected):
    assert gone({**OF_ARGO, **more}) == expected


def test_an_application_without_anything():
    text = APPLICATION.format(source="").replace("spec: {}", "spec: none")
    assert gone({**OF_ARGO, "apps/gpus.yaml": text}) == {"apps/gpus.yaml"}


def test_a_set_whose_folders_a_variable_decides():
    text = """# GPUs
resource "kubernetes_manifest" "s" {
  manifest = {
    apiVersion = "argoproj.io/v1alpha1"
    kind       = "ApplicationSet"
    metadata   = { name = "s" }
    spec       = { generators = [{ git = { directories = var.folders } }] }
  }
}
"""
    found = read(text.encode(), "main.tf")
    assert found.items
    assert list(undeployed_by_flux(found, lambda _: b"")) == []
