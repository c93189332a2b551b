"""`gpuyard lint` on small folders of an attacker that ask for much time or memory, or speak to a pipeline."""

import re

import pytest

from gpuyard_lint.cli.files import read_all
from kit.every import every

POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a, image: "m:latest", resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
LEVELS = 40
LONG, MANY = "x" * 100_000, 20_000
DIGITS = "9" * 5000
GROUP = 'resource "aws_eks_node_group" "g" {\n  instance_types = ["p5.48xlarge"]\n'
RELEASE = 'resource "helm_release" "g" {\n  chart = "gpu-operator"\n  values = ['
SET = """apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: a}
spec:
  generators: [{list: {elements: [{a: %s}]}}]
  template: {spec: {source: {chart: %s, targetRevision: "{{a}}"}}}
"""
FLUX = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: a}
spec: {path: ./x, postBuild: {substitute: {a: %s}}}
"""


def kustomization(*taken):
    return f"resources: [{', '.join(taken)}]\n"


def patched(op, step):
    patch = f'{{op: {op}, path: "/spec/containers/{step}", value: 1}}'
    return f"resources: [pod.yaml]\npatches: [{{target: {{kind: Pod}}, patch: '[{patch}]'}}]\n"


BOMBS = {
    "kustomizations that each take the next one twice": {
        **{
            f"k{at}{side}/kustomization.yaml": kustomization(f"../k{at + 1}a", f"../k{at + 1}b")
            for at in range(LEVELS)
            for side in "ab"
        },
        **{f"k{LEVELS}{side}/kustomization.yaml": kustomization("pod.yaml") for side in "ab"},
        **{f"k{LEVELS}{side}/pod.yaml": POD for side in "ab"},
    },
    "kustomizations below each other": {
        **{f"k{at}/kustomization.yaml": kustomization(f"../k{at + 1}") for at in range(600)},
        "k600/kustomization.yaml": kustomization("pod.yaml"),
        "k600/pod.yaml": POD,
    },
    "a variable of Flux": {
        "f.yaml": FLUX % LONG,
        "x/pod.yaml": POD.replace("name: p", f'name: p, annotations: {{a: "{"${a}" * MANY}"}}'),
    },
    "a variable of a template": {
        "main.tf": f'{RELEASE}templatefile("v.txt", {{a = "{LONG}"}})]\n}}\n',
        "v.txt": f"driver: {{enabled: false, x: '{'${a}' * MANY}'}}\n",
    },
    "a file that is opened many times": {
        "main.tf": RELEASE + 'file("v.txt"), ' * 1000 + "]\n}\n",
        "v.txt": f"driver: {{enabled: false, x: {LONG}}}\n",
    },
    "a word of a set": {"s.yaml": SET % (LONG, f'"{"{{a}}" * MANY}"')},
    "comments that never end": {"main.tf": GROUP + "  a = 1 /*\n" * 20_000 + "}\n"},
    "a number of many digits": {"main.tf": f"{GROUP}  a = {DIGITS}\n  b = c.{DIGITS}\n}}\n"},
    **{
        f"{op} at an item of many digits": {
            "kustomization.yaml": patched(op, DIGITS),
            "pod.yaml": POD,
        }
        for op in ("add", "replace", "remove")
    },
    "a tag of many digits": {"pod.yaml": POD.replace("m:latest", f"nvidia/cuda:{DIGITS}.1-base")},
    "versions of many digits": {
        f"{number}.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r}\n"
        f'spec: {{chart: {{spec: {{chart: gpu-operator, version: "{version}"}}}}}}\n'
        for number, version in enumerate(
            (f"v{DIGITS}.x", f">=1.{DIGITS} <1.2", f">={DIGITS}.1 <{DIGITS}.2")
        )
    },
    "a limit of many digits": {
        "pool.yaml": "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: gpus}\n"
        f'spec: {{limits: {{nvidia.com/gpu: "{DIGITS}"}}, template: {{spec: {{nodeClassRef: {{group: '
        "karpenter.k8s.aws, kind: EC2NodeClass, name: g}, requirements: [{key: "
        'karpenter.k8s.aws/instance-gpu-count, operator: Gt, values: ["0"]}]}}}\n'
    },
    "a constraint of many digits": {
        "main.tf": 'terraform {\n  required_providers {\n    aws = {source = "hashicorp/aws", version ='
        f' "{DIGITS}.1"}}\n  }}\n}}\n{GROUP}}}\n'
    },
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Writes files below a folder of their own, which is then linted."""

    def write(files):
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        monkeypatch.chdir(root)
        return root

    return write


@pytest.mark.timeout(90)
@every("bomb", BOMBS)
def test_a_small_folder_is_judged_in_bounded_time_and_memory(gpuyard, tree, bomb):
    tree(BOMBS[bomb])
    ended = gpuyard("lint", ".")
    assert ended.code in {0, 3}, ended.err
    assert "fault of ours" not in ended.err
    assert "the rule failed" not in ended.out


@pytest.mark.timeout(30)
@every("target", [".", "/"])
def test_a_pattern_of_all_folders_follows_no_link(tree, target):
    root = tree({"a/pod.yaml": POD, ".hidden/pod.yaml": POD})
    for name in ("b", "c"):
        (root / name).symlink_to(target)
    for pattern in ("**/*.yaml", "**", "./**/pod.yaml", f"{root}/**/*.yaml"):
        reading, _ = read_all([pattern])
        found = {item.place.file.removeprefix(f"{root}/") for item in reading.items}
        assert found == {"a/pod.yaml"}, pattern
    assert {item.place.file for item in read_all([".*/*.yaml"])[0].items} == {".hidden/pod.yaml"}


COMMANDS = ("::error::x", "##[add-mask]e", "##vso[task.setvariable]x", "a\n::set-output name=x::y")
A_COMMAND = re.compile(r"^\s*::(?!notice |warning |error )|##(?:vso)?\[", re.MULTILINE)
"""https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs"""


@every("form", ["text", "json", "sarif", "junit", "github"])
def test_a_name_is_no_command_of_a_pipeline_and_drives_no_terminal(gpuyard, tree, form):
    tree({f"{name}/\x1b[31m\x9b{number}.yaml": POD for number, name in enumerate(COMMANDS)})
    ended = gpuyard("lint", ".", "--format", form)
    if form == "github":  # each line is a command of lint's own, and a runner reads one a line
        assert all(line.startswith("::warning file=") for line in ended.out.splitlines())
    else:
        assert not A_COMMAND.search(ended.out + ended.err)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", ended.out + ended.err)
    assert ended.out.count("GPU-POD-03")
