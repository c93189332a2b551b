"""`gpuyard rightsize`: workloads that fit a smaller slice."""

import json

import pytest

from gpuyard_advisor.usage.rightsize import ACTIVE, GPUS, MEMORY, USED
from kit.recorded import recorded, write_matrix
from kit.stacks import cut_pool, platform, pool, team

GIB = 1024**3


@pytest.fixture
def stack(write):
    whole = pool("whole", machine="p4d.24xlarge", nodes=1)
    return write(platform([whole, cut_pool()], [team("ml", isolation="slice")]))


def export(folder, hours=200, gib=3.0, missing=()):
    labels = {"pool": "whole", "team": "ml", "namespace": "ml", "slice": "", "class_": "inference"}
    labels |= {"pod": "web-6d4cf56db9-bcdfg", "gpu": "g0"}
    rows = [
        recorded(USED, lambda h: None if h in missing else gib * GIB, **labels),
        recorded(MEMORY, 40 * GIB, **labels),
        recorded(ACTIVE, 0.05, **labels),
        recorded(GPUS, 1, **labels),
        recorded("up", 1),
    ]
    return write_matrix(folder / "pods.json", rows, hours)


def words(text):
    return " ".join(text.split())


def test_a_workload_that_fits_a_slice_is_shown_with_its_saving(gpuyard, stack, tmp_path):
    ended = gpuyard("rightsize", stack, "--from", export(tmp_path, missing=(5,)))
    assert (ended.code, ended.err) == (0, "")
    text = words(ended.out)
    assert "ml ml/web whole GPU 3.0 5 % oversized 1g.5gb (serve)" in text
    assert "1 workload can hold less" in text
    assert "! 1 defect of the export" in text


def test_reasons_and_layouts_are_shown(gpuyard, stack, tmp_path):
    young = words(gpuyard("rightsize", stack, "--from", export(tmp_path, 5)).out)
    assert "not enough data" in young
    assert "ml/web: 5 hours with samples; advice needs 72" in young
    larger = words(gpuyard("rightsize", stack, "--from", export(tmp_path, gib=5.0)).out)
    assert "ml/web: no pool offers 1g.10gb; it needs a MIG layout" in larger


def test_the_document_has_the_figures(gpuyard, stack, tmp_path):
    path = export(tmp_path, missing=(5,))
    ended = gpuyard("rightsize", stack, "--from", path, "--format", "json")
    document = json.loads(ended.out)
    (web,) = document["workloads"]
    assert (web["owner"], web["finding"], web["reason"]) == ("web", "oversized", None)
    assert web["fits"] == {
        "pool": "serve",
        "unit": "1g.5gb",
        "memory_gib": 4.4,
        "compute_gpus": 0.1429,
        "offered": True,
    }
    assert web["saves_usd_per_month"] > 0
    assert document["defects"][0]["defect"] == "hole"
    none = gpuyard("rightsize", stack, "--from", export(tmp_path, 5), "--format", "json")
    assert json.loads(none.out)["workloads"][0]["fits"] is None


def test_live_queries_28_days(gpuyard, stack, monkeypatch):
    asked = []

    def query_range(_, expression, start, end, step):
        asked.append((end - start + step) / 3600)
        yield (("__name__", USED), ("pod", "web"), ("pool", "whole")), start, 1.0

    monkeypatch.setattr("gpuyard_advisor.cli.prometheus.Prometheus.query_range", query_range)
    ended = gpuyard("rightsize", stack, "--live", "http://localhost:9")
    assert ended.code == 0
    assert asked == [24] * 28


def test_wrong_options_and_a_rejected_stack(gpuyard, stack, write, tmp_path):
    assert gpuyard("rightsize", stack).code == 2
    wrong = write(platform([pool(nodes="many")]), "wrong.yaml")
    assert gpuyard("rightsize", wrong, "--from", export(tmp_path)).code == 3
    ended = gpuyard("rightsize", wrong, "--from", export(tmp_path), "--format", "json")
    assert (ended.code, json.loads(ended.out)["workloads"]) == (3, None)
