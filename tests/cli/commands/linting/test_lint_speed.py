"""Linting a large rendered file stays quick: in CPU, so that a busy machine changes little."""

import importlib.util
import time

import pytest

import sizes
from gpuyard_lint.cli.files import read_all
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.subjects import installed_versions

LIMIT = 2.0
PATCH = """\
  - target: {kind: Deployment, name: serve-N}
    patch: '[{op: add, path: /metadata/labels/a, value: b}]'
"""
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


@pytest.mark.timeout(120)
@pytest.mark.timed
def test_four_times_the_patches_images_and_objects_take_eight_times_the_cpu_at_most(
    bench, tmp_path
):
    def seconds(count):
        (folder := tmp_path / str(count)).mkdir(exist_ok=True)
        (folder / "objects.yaml").write_text(bench.deployments(count), encoding="utf-8")
        patches = "".join(PATCH.replace("N", str(n)) for n in range(count))
        images = "".join(f"  - {{name: image-{n}, newTag: v2}}\n" for n in range(count))
        changes = f"resources: [objects.yaml]\npatches:\n{patches}images:\n{images}"
        (folder / "kustomization.yaml").write_text(changes, encoding="utf-8")
        started = time.process_time()
        found, _ = read_all([str(folder)])
        assert build_report(found, RULES).skipped == ()
        return time.process_time() - started

    seconds(10)
    # every patch with every object would be sixteen times
    assert min(seconds(1000) for _ in range(2)) < 8 * min(seconds(250) for _ in range(2))


def test_what_is_measured_is_read_and_looked_at(bench):
    reading = read(bench.deployments(30).encode(), "rendered.yaml")
    assert (len(reading.items), reading.skipped) == (30, ())
    broken = bench.deployments(30).replace(
        "- key: nvidia.com/gpu\n          operator", "- operator"
    )
    found = build_report(read(broken.encode(), "rendered.yaml"), RULES)
    assert {hit.rule.id for hit in found.hits} >= {"GPU-POD-03"}
    assert len([hit for hit in found.hits if hit.rule.id == "GPU-POD-03"]) == 30


def test_a_tool_that_fails_is_no_figure(bench):
    with pytest.raises(SystemExit, match="ends with 2"):
        bench.cpu_seconds([*bench.linter(sizes.ROOT / "absent.yaml")])


def test_deployments_that_set_the_variable_scan_the_pinned_releases_once_together(
    bench, monkeypatch
):
    scanned = []
    pinned = installed_versions._pinned

    def counted(resource, program):
        scanned.append(resource.name)
        return pinned(resource, program)

    monkeypatch.setattr(installed_versions, "_pinned", counted)
    files = bench.deployments(30).replace("name: CACHE", "name: NVIDIA_VISIBLE_DEVICES")
    rules = [rule for rule in RULES if rule.id == "GPU-POD-01"]
    found = build_report(read((OPERATOR + files).encode(), "rendered.yaml"), rules)
    assert [hit.state for hit in found.hits] == ["advisory"] * 30
    assert sorted(scanned) == sorted(["gpu-operator", *(f"serve-{n}" for n in range(30))])
