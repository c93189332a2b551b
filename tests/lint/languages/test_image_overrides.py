"""Images that commands set at each apply, or load onto the nodes: what files and commands say together."""

import pytest

from gpuyard_lint.cli.files import read_all
from gpuyard_lint.languages.image_overrides import scripted_images
from gpuyard_lint.report import HitState, build_report
from gpuyard_lint.rules import RULES
from kit.every import every

PATH = ".github/workflows/deploy.yml"


def names(text, file="deploy.sh", script=True):
    return [n for said in scripted_images(text.encode(), file, script=script) for n in said.names]


def containers(text, file="deploy.sh", script=True):
    return [
        c
        for said in scripted_images(text.encode(), file, script=script)
        for c in said.image_targets
    ]


@every(
    ("text", "found"),
    [
        ("cd k8s && kustomize edit set image train=r.example.org/train:$SHA", ["train"]),
        ("$(KUSTOMIZE) edit set image \\\n  a=r/a:1 \\\n  'b=r/b@sha256:00'", ["a", "b"]),
        ("kustomize edit set image docker.io/vision/train:$TAG", ["vision/train"]),
        ("kustomize edit set image train=r.example.org/train:latest", []),
        ("TAG=r/train:latest\nkustomize edit set image train=$TAG", []),
        ("kustomize edit set image $NAME=r/train:1", []),
        ("# kustomize edit set image train=r/train:1", []),
        ("kind load docker-image vision/train:latest --name lab", ["vision/train"]),
        ("IMG=vision/train:1\nkind load docker-image --name lab ${IMG}", ["vision/train"]),
        ('for i in a:1 b:1; do\n  k3d image import "$i" -c lab\ndone', ["a", "b"]),
        ("minikube -p lab image load train:dev", ["train"]),
        ("minikube image load $WHO", []),
        ("kind load docker-image $WHERE/train:1", []),
        ("echo set image", []),
    ],
)
def test_the_images_that_a_script_sets_or_loads(text, found):
    assert names(text) == found


@every(
    ("text", "found"),
    [
        (
            "kubectl -n v set image deployment/train main=r/t:$SHA side=r/s:latest",
            [("train", "main")],
        ),
        ("kubectl set image deployment/train *=r/t:$SHA -n vision", [("train", "*")]),
        ("oc set image dc/a x=r/t:1", [("a", "x")]),
    ],
)
def test_the_containers_whose_images_a_script_sets(text, found):
    assert containers(text) == found


def test_a_text_that_explains_says_only_what_is_loaded():
    text = "kustomize edit set image a=r/a:1\nkubectl set image deploy/x y=r/b:1\nkind load docker-image c:1"
    assert (names(text, "README.md"), containers(text, "README.md")) == (["c"], [])


@every(
    ("file", "read"),
    [(PATH, True), ("skaffold.yaml", True), ("a/cloudbuild.yaml", True), ("x.yaml", False)],
)
def test_pipelines_are_read_and_no_other_files(file, read):
    assert bool(names("kustomize edit set image a=r/a:1", file, script=False)) is read


SKAFFOLD = """apiVersion: skaffold/v4beta11
kind: Config
build:
  artifacts:
    - {image: us-docker.pkg.dev/acme/ml/serve}
    - {image: "{{.REPO}}/x"}
    - {context: app}
profiles:
  - {name: dev, build: {artifacts: [{image: acme/debug}]}}
"""


@every(
    ("text", "file", "found"),
    [
        (SKAFFOLD, "skaffold.yaml", ["us-docker.pkg.dev/acme/ml/serve"]),
        (SKAFFOLD, "a/skaffold-ci.yml", ["us-docker.pkg.dev/acme/ml/serve"]),
        (SKAFFOLD, "other.yaml", []),
        (
            "apiVersion: skaffold/v1alpha2\nbuild: {artifacts: [{imageName: gcr.io/a/b}]}\n",
            "skaffold.yaml",
            ["gcr.io/a/b"],
        ),
        (SKAFFOLD.replace("skaffold/", "other/"), "skaffold.yaml", []),
        (f"{SKAFFOLD}\tx: {{", "skaffold.yaml", []),
    ],
)
def test_skaffold_gives_the_images_that_it_builds_a_tag(text, file, found):
    assert names(text, file, script=False) == found


POD = """apiVersion: apps/v1
kind: Deployment
metadata: {name: train}
spec:
  template:
    spec:
      tolerations: [{operator: Exists}]
      containers:
        - {name: main, image: "docker.io/vision/train:latest", resources: {limits: {nvidia.com/gpu: 1}}}
        - {name: side, image: "vision/other", resources: {limits: {nvidia.com/gpu: 1}}}
"""


@pytest.mark.parametrize(
    ("command", "states"),
    [
        ("true", ["open", "open", "open"]),
        ("kind load docker-image vision/train:latest", ["open", "advisory", "open"]),
        ("kubectl set image deployment/train side=r/o:$SHA", ["open", "open", "advisory"]),
        ("kubectl set image deployment/train *=r/o:$SHA", ["open", "advisory", "advisory"]),
        ("kubectl set image deployment/serve *=r/o:$SHA", ["open", "open", "open"]),
    ],
)
def test_the_tag_of_an_image_that_a_command_sets_is_a_choice(tmp_path, command, states):
    (tmp_path / "d.yaml").write_text(POD)
    (tmp_path / "up.sh").write_text(f"{command}\n")
    reading, ignores = read_all([str(tmp_path)])
    rules = [rule for rule in RULES if rule.id == "GPU-POD-03"]
    made = build_report(reading, rules, ignores=ignores)
    assert [hit.state for hit in made.hits] == [HitState(each) for each in states]
