"""Linting a large rendered file stays quick: in CPU, so that a busy machine changes little."""

import importlib.util

import pytest

import sizes
from gpuyard.lint.read import read
from gpuyard.lint.report import report
from gpuyard.rules import RULES
from gpuyard.rules.subjects import installed

LIMIT = 2.0
OPERATOR = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: gpu-operator}
spec: {source: {chart: gpu-operator, targetRevision: v25.10.0}}
---
"""


@pytest.fixture(scope="module")
def bench():
    path = sizes.ROOT / "benchmarks" / "lint.py"
    spec = importlib.util.spec_from_file_location("bench_lint", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(120)
@pytest.mark.timed
def test_a_thousand_deployments_are_linted_in_two_seconds_of_cpu(bench, tmp_path):
    path = tmp_path / "rendered.yaml"
    path.write_text(bench.deployments(1000), encoding="utf-8")
    # cores that others use make CPU time longer; the benchmark holds the bare limit
    assert min(bench.cpu_seconds(bench.linter(path)) for _ in range(2)) < 2 * LIMIT


def test_what_is_measured_is_read_and_looked_at(bench):
    reading = read(bench.deployments(30).encode(), "rendered.yaml")
    assert (len(reading.items), reading.unread) == (30, ())
    broken = bench.deployments(30).replace(
        "- key: nvidia.com/gpu\n          operator", "- operator"
    )
    found = report(read(broken.encode(), "rendered.yaml"), RULES)
    assert {hit.rule.id for hit in found.hits} >= {"GPU-POD-03"}
    assert len([hit for hit in found.hits if hit.rule.id == "GPU-POD-03"]) == 30


def test_a_tool_that_fails_is_no_figure(bench):
    with pytest.raises(SystemExit, match="ends with 2"):
        bench.cpu_seconds([*bench.linter(sizes.ROOT / "absent.yaml")])


def test_deployments_that_set_the_variable_scan_the_pinned_releases_once_together(
    bench, monkeypatch
):
    scanned = []
    pinned = installed._pinned

    def counted(resource, program):
        scanned.append(resource.name)
        return pinned(resource, program)

    monkeypatch.setattr(installed, "_pinned", counted)
    files = bench.deployments(30).replace("name: CACHE", "name: NVIDIA_VISIBLE_DEVICES")
    rules = [rule for rule in RULES if rule.id == "GPU-POD-01"]
    found = report(read((OPERATOR + files).encode(), "rendered.yaml"), rules)
    assert [hit.state for hit in found.hits] == ["choice"] * 30
    assert sorted(scanned) == sorted(["gpu-operator", *(f"serve-{n}" for n in range(30))])
