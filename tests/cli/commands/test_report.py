"""`gpuyard report`: one HTML page without a script and without a request."""

import json
import re
import time
from importlib.resources import files

import pytest

from gpuyard_advisor.cli.prometheus import Prometheus
from gpuyard_advisor.usage.fleet import IDLE_HOURS, SERIES
from kit.html_page import Page, check_accessible, check_self_contained, loads
from kit.stacks import cut_pool, platform, pool, shape, team


@pytest.fixture(autouse=True)
def on_this_day(monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "2026-11-28")


@pytest.fixture
def report(gpuyard, write, tmp_path):
    def made(content, *options, code=0):
        out = tmp_path / "report.html"
        ended = gpuyard("report", write(content), "--out", out, *options)
        assert (ended.code, ended.err if code == 0 else "") == (code, "")
        return out.read_text(encoding="utf-8")

    return made


def yard():
    """A platform with whole GPUs, slices, two teams and a shape."""
    teams = [team("vision", guarantee={"train": 16}), team("search", borrow={"train": 8})]
    return platform([pool(), cut_pool()], teams=teams, shapes=[shape(gpus_per_node=8)])


def test_the_page_shows_pools_quotas_bill_findings_and_shapes(report):
    page = Page(report(yard()))
    headings = [a["id"] for a in page.each("h2")]
    assert headings == ["pools-h", "quotas-h", "bill-h", "findings-h", "shapes-h"]
    for part in (
        "GPU 7",
        "vision",
        "search",
        "expected",
        "one of 4 equal nodes",
        "3g.20gb",
        "2026-11-28",
    ):
        assert part in page.words
    assert "no data" not in page.words


def test_the_same_stack_and_day_give_the_same_page(report):
    assert report(yard()) == report(yard())


def test_the_page_loads_nothing_and_runs_nothing(report):
    check_self_contained(report(yard()))


def test_the_page_has_landmarks_headings_captions_and_descriptions(report):
    check_accessible(Page(report(yard())))


HOSTILE = "</style><script>alert(1)</script><img src=http://evil.example/x onerror=alert(1)>\"'&"


def test_names_and_values_of_the_file_are_text(report):
    stack = yard()
    stack["pools"][0]["machine"] = HOSTILE
    text = report(stack, code=3)
    page = Page(text)
    assert loads(text) == []
    assert not page.each("script")
    assert not page.each("img")
    assert "<script>alert(1)</script>" in page.words
    assert page.each("section") == [{"id": "findings", "aria-labelledby": "findings-h"}]


def test_a_platform_over_its_budget_still_shows_its_bill(report):
    page = Page(report({**yard(), "budget": {"max_usd_per_hour": 1}}, code=3))
    assert "limit of the budget" in page.words
    assert "budget.worst" in page.words


def test_standard_output_has_the_page_alone(gpuyard, write):
    ended = gpuyard("report", write(yard()), "--out", "-")
    assert ended.code == 0
    assert ended.out.startswith("<!DOCTYPE html>\n<html")


# ── measured ──────────────────────────────────────────────────────────────────────────────────────


def measured(monkeypatch, **series):
    """A Prometheus that answers with these series."""
    by_name = {SERIES.get(key, key): samples for key, samples in series.items()}

    def query(self, expression):
        found = by_name.get("idle_hours" if expression == IDLE_HOURS else expression, [])
        return [(tuple(sorted(labels.items())), float(value)) for labels, value in found]

    monkeypatch.setattr(Prometheus, "query", query)


def gpus(nodes=2, of=8, pool="train"):
    return [
        {"pool": pool, "node": f"n{n}", "gpu": f"GPU-{n}-{g}"}
        for n in range(nodes)
        for g in range(of)
    ]


def busy(monkeypatch, nodes=2, pools=("train",)):
    every = [gpu for name in pools for gpu in gpus(nodes, pool=name)]
    pod = {"pool": "train", "node": "n0", "gpu": "GPU-0-1", "slice": "", "team": "vision",
           "namespace": "vision", "pod": HOSTILE, "class": "none"}  # fmt: skip
    measured(
        monkeypatch,
        gpu_active=[(gpu, n % 11 / 10) for n, gpu in enumerate(every) if n != 3],
        gpu_allocated=[(gpu, n != 4) for n, gpu in enumerate(every)],
        billed=[({"pool": name}, nodes * 8) for name in pools],
        allocated=[({"pool": "train", "team": "vision", "class": "none", "slice": ""}, 15)],
        used=[({"pool": "train", "team": "vision", "class": "none", "slice": ""}, 7.5)],
        cost=[({"pool": "train", "team": "vision", "class": "none", "part": "used"}, 52.5),
              ({"pool": "train", "team": "vision", "class": "none", "part": "allocated_idle"}, 52.5)],
        pending=[({"queue": "vision", "status": "active"}, 3)],
        wait_p95=[({"queue": "vision", "priority": "high"}, 5400)],
        target=[({"target": "idle", "priority": ""}, 0.2),
                ({"target": "wait_p95", "priority": "high"}, 7200)],
        pod_allocated=[(pod, 1)],
        pod_active=[(pod, 0)],
        idle_hours=[(pod, 7)],
        gpu_price=[({"pool": "train", "node": "n0"}, 6.88)],
    )  # fmt: skip


def test_measured_use_is_drawn_and_listed(report, monkeypatch):
    busy(monkeypatch)
    text = report(yard(), "--live", "http://prometheus.example")
    page = Page(text)
    assert loads(text) == []
    assert not page.each("script")
    for part in (
        "16 measured GPUs, 15 allocated, 41 % active on average",
        "15 GPUs 7.5 used",
        "1.5 h",
        "52.50 $/hour",
        "6.88",
        "idle – 20 % no data",
        "wait p95 high 2.0 h no data",
        "series without data",
        "Activity: no data",
    ):
        assert part in page.words, part
    rows = dict.fromkeys(
        a["class"] for a in page.each("rect") if a.get("class", "").startswith("h")
    )
    assert set(rows) == {"h0", "h1", "h2", "h3", "h4", "h5", "hn"}


def test_without_data_the_page_says_so_and_shows_no_zero(report, monkeypatch):
    measured(monkeypatch)
    page = Page(report(yard(), "--live", "http://prometheus.example"))
    for part in (
        "Pools now, in GPUs: no data",
        "Teams now, in GPUs: no data",
        "Queues now: no data",
    ):
        assert part in page.words
    assert "14 series without data" in page.words
    assert "Targets" not in page.words, "the stack file has none"
    now = page.words.split("Measured by")[1].split("Pools 2 pools")[0]
    assert not re.search(r"\b0(\.0+)?\b", now), "a zero that nothing measured"


def test_activity_without_allocation_is_not_an_allocation_of_zero(report, monkeypatch):
    measured(
        monkeypatch, gpu_active=[(gpu, 0.5) for gpu in gpus()], billed=[({"pool": "train"}, 32)]
    )
    words = Page(report(yard(), "--live", "http://prometheus.example")).words
    assert "16 measured GPUs, allocation: no data, 50 % active on average" in words
    assert "allocated no data idle no data" in words


def test_a_password_in_the_address_is_not_written(report, monkeypatch):
    measured(monkeypatch)
    text = report(yard(), "--live", "https://user:secret@prometheus.example:9090/p")
    assert "secret" not in text
    assert "Measured by https://prometheus.example:9090/p." in Page(text).words


def test_a_pod_that_uses_its_gpu_is_not_idle(report, monkeypatch):
    pod = {"pool": "train", "node": "n0", "gpu": "g", "pod": "job"}
    measured(monkeypatch, pod_allocated=[(pod, 1)], pod_active=[(pod, 0.9)])
    page = Page(report(yard(), "--live", "http://prometheus.example"))
    assert "No pod holds an idle GPU." in page.words


def test_an_address_that_is_none_is_refused(gpuyard, write, tmp_path):
    ended = gpuyard("report", write(yard()), "--out", tmp_path / "r", "--live", "prometheus")
    assert ended.code == 2
    assert "not the address of a Prometheus" in ended.err


# ── size and contrast ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.timed
def test_a_large_fleet_is_a_small_page_made_quickly(report, monkeypatch):
    pools = [pool(f"pool-{n}", nodes="2..5") for n in range(200)]
    teams = [
        team(f"team-{n}", guarantee={f"pool-{n % 200}": 2}, borrow={f"pool-{(n + 1) % 200}": 4})
        for n in range(500)
    ]
    names = [each["name"] for each in pools]
    busy(monkeypatch, nodes=5, pools=names)
    stack = platform(pools, teams=teams)
    begun = time.process_time()
    text = report(stack, "--live", "http://prometheus.example")
    assert time.process_time() - begun < 3
    assert len(text.encode()) < 3_000_000
    assert len([t for t in Page(text).tags if t[0] == "rect"]) > 8000


STYLE = files("gpuyard_advisor.cli.views.report").joinpath("report.css").read_text(encoding="utf-8")
PAIRS = [
    *((text, ground) for text in ("ink", "dim", "accent", "warning") for ground in ("bg", "card")),
    ("error", "errorbg"), ("warning", "warningbg"), ("info", "infobg"),
    ("on", "accent"), ("on", "slice"),
    ("hlo", "h0"), ("hlo", "h1"), ("hlo", "h2"), ("hhi", "h3"), ("hhi", "h4"), ("hhi", "h5"),
]  # fmt: skip
SHAPES = [
    ("accent", "none"),
    ("accent", "card"),
    ("maybe", "card"),
    ("nonel", "card"),
    ("slice", "card"),
]


def colours():
    """The variables of the light and of the dark theme."""
    light, dark = (
        dict(re.findall(r"--(\w+):(#\w+)", part))
        for part in re.findall(r":root\{([^}]*)\}", STYLE)[:2]
    )
    return {"light": light, "dark": dark}


def luminance(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_drawings_have_the_contrast_of_wcag_aa(theme):
    found = colours()[theme]
    low = [
        (a, b, round(contrast(found[a], found[b]), 2))
        for a, b in PAIRS
        if contrast(found[a], found[b]) < 4.5
    ]
    low += [
        (a, b, round(contrast(found[a], found[b]), 2))
        for a, b in SHAPES
        if contrast(found[a], found[b]) < 3
    ]
    assert low == []


def test_the_style_has_a_theme_a_narrow_width_print_and_less_motion():
    for query in (
        "prefers-color-scheme:dark",
        "max-width:520px",
        "print",
        "prefers-reduced-motion:reduce",
    ):
        assert query in STYLE
    assert json.dumps(sorted(colours()["light"])) == json.dumps(sorted(colours()["dark"]))
