"""`gpuyard forecast`: the next seven days of each pool from an export."""

import json
import os

import pytest

from kit.stacks import cut_pool, platform, pool

START = 1793577600  # 2026-11-02


@pytest.fixture(autouse=True)
def on_this_day(monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "2026-11-28")


def export(folder, pools, weeks=3, **labels):
    result = [
        {
            "metric": {"pool": name, **labels},
            "values": [[START + h * 3600, str(use(h))] for h in range(weeks * 168)],
        }
        for name, use in pools
    ]
    path = folder / "export.json"
    content = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def busy(hour):
    return 36 if 8 <= hour % 24 < 18 else 8


def words(text):
    return " ".join(text.split())


def test_a_full_pool_is_shown_with_its_date_and_cost(gpuyard, write, tmp_path):
    stack = write(platform([pool(), cut_pool()]))
    ended = gpuyard("forecast", stack, "--from", export(tmp_path, [("train", busy), ("x", busy)]))
    assert (ended.code, ended.err) == (0, "")
    text = words(ended.out)
    for part in (
        "train 32 GPUs at its maximum",
        "Mon 23 Nov 22222222++++++++++222222 peak 36.0 GPUs, 36.0 to 36.0",
        "full: expected from Mon 2026-11-23 08:00 UTC",
        "1 more node: 55.04 $/hour, 40,179 $/month",
        "not enough data: the export has no series of this pool",
        "! it ends on 2026-11-22, 6 days ago: the forecast starts there, not today",
        '! 1 series of no pool of the stack, not used: {pool="x"}',
    ):
        assert part in text


def test_the_document_has_every_hour_and_every_defect(gpuyard, write, tmp_path):
    path = export(tmp_path, [("train", lambda h: "NaN" if h == 30 else busy(h))])
    ended = gpuyard("forecast", write(platform([pool()])), "--from", path, "--format", "json")
    document = json.loads(ended.out)["forecast"]
    assert [d["defect"] for d in document["defects"]] == ["hole", "not-a-number"]
    (train,) = document["pools"]
    assert len(train["hours"]) == 168
    assert train["hours"][8]["time"] == "2026-11-23T08:00:00Z"
    assert train["full"]["expected"] == "2026-11-23T08:00:00Z"
    assert train["more_nodes"] == {"nodes": 1, "usd_per_hour": 55.04, "usd_per_month": 40179.2}


def test_too_little_data_is_an_answer(gpuyard, write, tmp_path):
    path = export(tmp_path, [("train", busy)], weeks=1)
    ended = gpuyard("forecast", write(platform([pool()])), "--from", path)
    assert ended.code == 0
    assert "a forecast needs 336 (2 weeks): 168 hours are missing" in words(ended.out)


def test_a_change_of_the_clock_is_reported(gpuyard, write, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "START", 1792368000)  # 2026-10-19
    stack, path = write(platform([pool()])), export(tmp_path, [("train", busy)])
    shown = gpuyard("forecast", stack, "--from", path, "--timezone", "Europe/Berlin")
    assert "the clock of Europe/Berlin changes on 2026-10-25" in words(shown.out)
    wrong = gpuyard("forecast", stack, "--from", path, "--timezone", "Mars/Base")
    assert wrong.code == 2
    assert "--timezone Mars/Base: no such time zone on this machine." in wrong.err


def test_what_cannot_be_read_ends_with_the_file_and_the_reason(gpuyard, write, tmp_path):
    stack = write(platform([pool()]))
    pipe, broken, wrong = tmp_path / "pipe", tmp_path / "broken", tmp_path / "latin"
    os.mkfifo(pipe)
    broken.write_text("up 1 2\n", encoding="utf-8")
    wrong.write_bytes(b"up\xff 1 2\n")
    several = export(tmp_path, [("train", busy), ("train", busy)])
    content = several.read_text(encoding="utf-8").replace('"train"', '"train", "node": "a"', 1)
    several.write_text(content, encoding="utf-8")
    for path, why in (
        (tmp_path / "none", "can't be read: no such file or directory"),
        (pipe, "not a file. Give the path of a Prometheus export."),
        (broken, "the export has no `# EOF` at its end: it is incomplete"),
        (wrong, "not UTF-8"),
        (several, "the export has several series for pool train."),
    ):
        ended = gpuyard("forecast", stack, "--from", path)
        assert ended.code == 2
        assert why in words(ended.err)


def test_an_export_of_another_platform_is_refused(gpuyard, write, tmp_path):
    path = export(tmp_path, [("other", busy)])
    ended = gpuyard("forecast", write(platform([pool()])), "--from", path)
    assert ended.code == 2
    assert "no series of the export has a label" in words(ended.err)


def test_without_a_plan_there_is_no_forecast(gpuyard, write, tmp_path):
    stack, path = write(platform([pool(nodes="many")])), export(tmp_path, [("train", busy)])
    assert gpuyard("forecast", stack, "--from", path).code == 3
    ended = gpuyard("forecast", stack, "--from", path, "--format", "json")
    assert (ended.code, json.loads(ended.out)["forecast"]) == (3, None)


def test_a_prometheus_is_queried_for_the_weeks_that_the_forecast_uses(gpuyard, write, monkeypatch):
    asked = []

    def answer(self, expression, start, end, step):
        asked.append((self.address, expression, end - start, step))
        first = end - 3 * 168 * 3600
        labels = (("pool", "train"),)
        return ((labels, first + h * 3600, busy(h)) for h in range(3 * 168))

    monkeypatch.setattr("gpuyard_advisor.cli.prometheus.Prometheus.query_range", answer)
    live = ("--live", "http://localhost:9090", "--query", "sum by (pool) (x)")
    ended = gpuyard("forecast", write(platform([pool()])), *live)
    assert (ended.code, "peak 36.0 GPUs" in ended.out) == (0, True)
    assert asked == [("http://localhost:9090", "sum by (pool) (x)", 9 * 168 * 3600, 3600)]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--live", "http://localhost:9090"),
        ("--from", "export.json", "--query", "x"),
        ("--from", "export.json", "--live", "http://localhost:9090", "--query", "x"),
    ],
)
def test_an_export_or_a_prometheus_with_a_query_is_required(gpuyard, write, options):
    ended = gpuyard("forecast", write(platform([pool()])), *options)
    assert ended.code == 2
    assert "write either --from EXPORT, or --live URL with --query PROMQL" in words(ended.err)
