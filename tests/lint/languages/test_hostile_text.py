"""Text that makes a search go back over itself: twice as much of it takes twice as long, not four times."""

import time

import pytest

from gpuyard_lint.cli.files import read_all
from gpuyard_lint.combined import changes
from gpuyard_lint.combined.rendered import UnreadChart, rendered_items
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.subjects.promql import read_promql
from kit.every import every

POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: a, image: "m:latest", resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
GROUP = 'resource "aws_eks_node_group" "g" {\n  instance_types = ["p5.48xlarge"]\n}\n'
SIZE = 32_000
RATIO, NOISE = 2.6, 0.3


def seconds(work):
    """CPU of the quickest of three runs."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def grows_with_its_length(work):
    once, twice = (seconds(lambda size=size: work(size)) for size in (SIZE, 2 * SIZE))
    assert twice <= RATIO * once + NOISE, (once, twice)


@pytest.mark.timed
@every(
    ("file", "before", "unit"),
    [
        ("x.yaml", "a: [1\nnvidia.com/gpu: 1\n", "{{"),
        ("x.yaml", "a: [1\nnvidia.com/gpu: 1\n", "{"),
        ("x.yaml", "a: [1\nnvidia.com/gpu: 1\n", "{{a}"),
        ("x.yaml", POD.strip() + " # gpuyard: ignore A because a", " "),
        ("x.yaml", POD.strip() + " # gpuyard: ignore A", " "),
        ("m.tf", GROUP, "\n"),
        ("m.tf", "# ", "cdi "),
        ("up.sh", "helm install a b/c ", "--set a=b "),
        ("up.sh", "helm install a b/c\n", "$("),
        (
            "kustomization.yaml",
            "resources: [x.yaml]\nimages: [{name: a, newTag: b}]\nbases:\n  - ",
            "a/",
        ),
        (
            "Pulumi.yaml",
            "name: l\nruntime: yaml\nresources: {a: {type: aws:eks:NodeGroup}}\nx: '",
            "${",
        ),
        ("w.tf", "# gpu.nvidia.com/a\n", "labels = merge("),
    ],
)
def test_a_file_takes_time_in_proportion_to_its_length(tmp_path, monkeypatch, file, before, unit):
    monkeypatch.chdir(tmp_path)

    def work(size):
        (tmp_path / file).write_text(before + unit * (size // len(unit)), encoding="utf-8")
        reading, ignores = read_all(["."])
        build_report(reading, RULES, ignores=ignores)

    grows_with_its_length(work)
    (tmp_path / file).unlink()


@pytest.mark.timed
@every("unit", ["<", "[", "[[", "${", '"a', "#", "max(a + ", "sum by (a) (b + ", r"\"", r"\'"])
def test_an_expression_takes_time_in_proportion_to_its_length(unit):
    grows_with_its_length(
        lambda size: read_promql("DCGM_FI_DEV_GPU_UTIL " + unit * (size // len(unit)))
    )


@pytest.mark.timed
def test_what_helm_makes_takes_time_in_proportion_to_its_length():
    chart = UnreadChart("c", ("c/templates/a.yaml",), ())

    def work(size):
        output = b"# Source: c/templates/a.yaml" + b" " * size + b"!\n"
        assert list(rendered_items(chart, output, {"c/templates/a.yaml": b""})) == []

    grows_with_its_length(work)


@every(
    ("pattern", "name", "known"),
    [
        ("(a+)+$", "a" * 99 + "!", None),
        ("(a|a)*b", "a" * 99, None),
        (".*a.*a.*a.*b", "a" * 9999, None),
        (r"(a)\1", "aa", None),
        ("app-1", "app-1", True),
        ("app-1", "app-2", False),
        ("app-.*", "app-1", True),
        ("a|b", "c", False),
        ("[", "[", True),
    ],
)
def test_a_pattern_that_python_may_try_for_ever_is_unknown(pattern, name, known):
    assert changes._pattern(pattern)(name) is known


def test_a_pattern_says_nothing_on_the_terminal(recwarn):
    assert changes._pattern("[[a]")("[") is True
    assert not list(recwarn)


def test_a_patch_for_such_a_pattern_changes_nothing_for_sure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patch = '{op: replace, path: /spec/containers/0/image, value: "m:1.2.3"}'
    for name, hits in (("(p+)+", []), ("p", []), ("(q+)", ["GPU-POD-03"])):
        target = f"resources: [pod.yaml]\npatches: [{{target: {{name: '{name}'}}, patch: '[{patch}]'}}]\n"
        (tmp_path / "kustomization.yaml").write_text(target, encoding="utf-8")
        (tmp_path / "pod.yaml").write_text(POD, encoding="utf-8")
        assert [hit.rule.id for hit in build_report(read_all(["."])[0], RULES).hits] == hits
