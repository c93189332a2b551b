"""What an Application of Argo CD changes of the kustomization that it deploys is done before judging."""

from gpuyard_lint.deployers.argo import argo_deployer, argocd_source_deployer, image_entry
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import RuleConfiguration
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
        - {name: v, image: "r.example.org/v:TAG", resources: {limits: {nvidia.com/gpu: 1}}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: v, namespace: argocd}
spec:
  source:
    path: v
"""
PINS = "    kustomize: {images: ['r.example.org/v:v1.0']}\n"
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: all, namespace: argocd}
spec:
  generators: [{git: {directories: [{path: apps/*}]}}]
  template:
    spec:
      source:
        path: PATH
        kustomize: {images: ['r.example.org/v:TAG']}
"""
MOVING = [("GPU-POD-03", "r/v/d.yaml", 10)]
PIN = "kustomize: {images: ['r.example.org/v:latest@sha256:1']}\n"


def files(application, tag="v1.0", **more):
    found = {
        "r/v/kustomization.yaml": "resources: [d.yaml]\n",
        "r/v/d.yaml": DEPLOYMENT.replace("TAG", tag),
        "r/apps/v.yaml": application,
    }
    return {**found, **more}


def told(files):
    found = build_report(reading(files), RULES, RuleConfiguration()).hits
    return [(h.rule.id, h.file, h.line) for h in found if h.state.value == "open"]


@every(
    "written, made",
    [
        ("a:1", {"name": "a", "newTag": "1", "digest": ""}),
        ("a@sha256:1", {"name": "a", "newTag": "", "digest": "sha256:1"}),
        ("a:1@sha256:1", {"name": "a", "newTag": "1", "digest": "sha256:1"}),
        ("h:5000/a", {"name": "h:5000/a", "newTag": "", "digest": ""}),
        ("a=h:5000/b:1", {"name": "a", "newName": "h:5000/b", "newTag": "1", "digest": ""}),
        ("a=*:1", {"name": "a", "newTag": "1", "digest": ""}),
        ("a=b", {"name": "a", "newName": "b", "newTag": "", "digest": ""}),
        ("a:1:2@", {"name": "a:1:2@", "newTag": "", "digest": ""}),
    ],
)
def test_an_image_as_argo_cd_writes_it(written, made):
    assert image_entry(written) == made


def test_an_image_that_argo_cd_pins_does_not_move():
    assert told(files(APPLICATION, tag="latest")) == MOVING
    assert told(files(APPLICATION + PINS, tag="latest")) == []
    several = (APPLICATION + PINS).replace("  source:\n    path", "  sources:\n  - path")
    assert told(files(several, tag="latest")) == []


def test_an_image_that_argo_cd_makes_move_is_told_at_its_line():
    moves = "    kustomize:\n      images:\n        - a:1\n        - r.example.org/v=o/v:latest\n"
    assert told(files(APPLICATION + moves)) == [("GPU-POD-03", "r/apps/v.yaml", 10)]


def test_a_patch_and_a_component_of_argo_cd():
    patch = """\
    kustomize:
      patches:
        - target: {kind: Deployment}
          patch: |-
            [{op: replace, path: /spec/template/spec/containers/0/image, value: "o/v:1.0"}]
"""
    assert told(files(APPLICATION + patch, tag="latest")) == []
    part = {"r/parts/kustomization.yaml": "images: [{name: r.example.org/v, newTag: v1}]\n"}
    parts = "    kustomize: {components: [../parts]}\n"
    assert told(files(APPLICATION + parts, tag="latest", **part)) == []


def test_a_folder_of_plain_files_is_not_built_by_kustomize():
    given = files(APPLICATION + PINS, tag="latest")
    given.pop("r/v/kustomization.yaml")
    assert told(given) == MOVING


@every(
    "name, application, open_ones",
    [
        (".argocd-source-v.yaml", APPLICATION, []),
        (".argocd-source.yaml", APPLICATION, []),
        # of an Application that is not in view
        (".argocd-source-w.yaml", "[]", []),
        (".argocd-source-w.yaml", APPLICATION, MOVING),
        ("argocd-source-v.yaml", APPLICATION, MOVING),
    ],
)
def test_what_the_image_updater_writes_into_the_folder(name, application, open_ones):
    given = files(application, tag="latest") | {f"r/v/{name}": PIN}
    assert told(given) == open_ones


def test_flux_does_not_read_what_is_for_argo_cd():
    flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: v}\n"
    given = files(f"{flux}spec: {{path: v}}\n", tag="latest") | {"r/v/.argocd-source-v.yaml": PIN}
    assert told(given) == MOVING


@every(
    "path, excused", [("'{{path}}'", True), ("'{{.path.path}}'", True), ("other/{{path}}", False)]
)
def test_what_a_set_fills_in_may_be_any_folder_that_it_fits(path, excused):
    pins = SET.replace("PATH", path).replace("TAG", "v1.0")
    assert told(files(pins, tag="latest")) == ([] if excused else MOVING)
    assert told(files(SET.replace("PATH", path).replace("TAG", "latest"))) == []


def test_a_source_without_a_folder_deploys_none():
    chart = APPLICATION.replace("path: v", "chart: v")
    (item,) = reading({"a.yaml": chart}).items
    assert list(argo_deployer(item)) == []
    (told_there,) = reading({"x/.argocd-source.yaml": PIN}).items
    assert (
        argocd_source_deployer(told_there).path,
        len(argocd_source_deployer(told_there).changes),
    ) == ("x", 1)
