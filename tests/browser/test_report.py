"""The page of `gpuyard report` in a real browser: two widths, light and dark."""

from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import pytest
import yaml

from gpuyard_advisor.usage.fleet import IDLE_HOURS, SERIES
from kit.browser import browser, opened
from kit.inprocess import run
from kit.levels import require_level
from kit.stacks import cut_pool, platform, pool, shape, shared_pool, stack_file, team

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "report"
LOCAL = ROOT / "stacks" / "Pulumi.local.yaml"

TEXT = """(() => {
  const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const c = numbers(getComputedStyle(node).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const low = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const of = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || of.closest('svg')) continue;
    const pair = [light(numbers(getComputedStyle(of).color)), light(ground(of))].sort((a, b) => a - b);
    const contrast = (pair[1] + 0.05) / (pair[0] + 0.05);
    if (contrast < 4.5) low.push(`${contrast.toFixed(2)} ${walk.currentNode.data.trim().slice(0, 40)}`);
  }
  return [...new Set(low)];
})()"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
GROUND = "getComputedStyle(document.body).backgroundColor"
OPEN = "document.querySelectorAll('details').forEach(each => { each.open = true; })"
CUT = """[...document.querySelectorAll('.card, .scroll, td, th')].filter(
  each => each.scrollWidth > each.clientWidth + 1
).map(each => each.outerHTML.slice(0, 80))"""
FOCUS = """[...document.querySelectorAll('a, summary, [tabindex="0"]')].filter(each => {
  each.focus();
  return document.activeElement !== each;
}).map(each => each.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    require_level("browser", browser(), "no Chromium, run `python3 testbed/browser.py`")
    with opened(tmp_path_factory.mktemp("profile")) as found:
        yield found


NODES = {("train", n): (8, 55.04) for n in range(4)} | {
    ("serve", 0): (8, 21.96),
    ("dev", 0): (4, 4.6),
}
"""GPUs and dollars an hour of each node of the local stack."""
SLICES = (("1g.5gb", 1 / 7), ("2g.10gb", 2 / 7), ("3g.20gb", 3 / 7))


def pods():
    """Pods of every team: pool, node, GPU, slice, team, name, GPU equivalents and activity."""
    for n, gpu in product((0, 1), range(8)):
        yield "train", n, gpu, "", "speech", f"llm-70b-{n}", 1, 0.55 + gpu % 4 / 10
    for gpu in range(8):
        yield "train", 2, gpu, "", "vision", "segment-0", 1, 0.7
    for gpu in range(4):
        yield "train", 3, gpu, "", "vision", "notebook-ana-0", 1, 0
    for gpu, (name, part) in product(range(8), SLICES):
        if name != "3g.20gb" or gpu < 4:
            yield "serve", 0, gpu, name, "search", f"ranker-{name[0]}-{gpu}", part, gpu / 10
    for gpu, share in product(range(3), range(2)):
        yield "dev", 0, gpu, "shared", "vision", f"notebook-{gpu}-{share}", 1 / 4, 0.3


def state():
    """What the recording rules make of these pods."""
    found, cost = defaultdict(list), Counter()
    held, use = defaultdict(Counter), defaultdict(Counter)
    for (pool_, n), (gpus, usd) in NODES.items():
        node = {"pool": pool_, "node": f"{pool_}-{n}"}
        found["gpu_price"].append((node, usd / gpus))
        mine = [each for each in pods() if each[:2] == (pool_, n)]
        for gpu in range(gpus):
            on = [each for each in mine if each[2] == gpu]
            place = {**node, "gpu": f"GPU-{gpu}"}
            found["gpu_active"].append((place, sum(each[6] * each[7] for each in on)))
            found["gpu_allocated"].append((place, sum(each[6] for each in on)))
        for _, _, gpu, part, team_, pod, size, active in mine:
            labels = {**node, "gpu": f"GPU-{gpu}", "slice": part, "team": team_, "class": "none",
                      "namespace": team_, "pod": pod}  # fmt: skip
            found["pod_allocated"].append((labels, size))
            found["pod_active"].append((labels, active))
            if active == 0:
                found["idle_hours"].append((labels, 6.5))
            whose = (pool_, team_)
            held["allocated"][whose] += size
            use["used"][whose] += size * active
            cost[*whose, "used"] += size * active * usd / gpus
            cost[*whose, "allocated_idle"] += size * (1 - active) * usd / gpus
        cost[pool_, "", "unallocated"] += usd - sum(each[6] for each in mine) * usd / gpus
        cost[pool_, "", "overhead"] += 0
    for key, sums in (held | use).items():
        found[key] = [({"pool": p, "team": t}, value) for (p, t), value in sums.items()]
    for name in ("train", "serve", "dev"):
        of_pool = [of for (each, _), of in NODES.items() if each == name]
        found["billed"].append(({"pool": name}, sum(gpus for gpus, _ in of_pool)))
        found["unavailable"].append(({"pool": name}, 0))
        found["bill"].append(({"pool": name}, sum(usd for _, usd in of_pool)))
    found["cost"] = [({"pool": p, "team": t, "part": w}, usd) for (p, t, w), usd in cost.items()]
    for queue, priority, waiting, middle, high in QUEUES:
        of_queue = {"queue": queue, "priority": priority}
        found["pending"].append(({"queue": queue, "status": "active"}, waiting))
        found["wait_p50"].append((of_queue, middle))
        found["wait_p95"].append((of_queue, high))
    for target, priority, value, actual in TARGETS:
        labels = {"target": target, "priority": priority}
        found["target"].append((labels, value))
        found["actual"].append((labels, actual))
    return found


QUEUES = (("search", "production", 0, 6, 14), ("speech", "research", 1, 600, 2400),
          ("vision", "research", 3, 900, 5400))  # fmt: skip
TARGETS = (("utilisation_min", "", 0.65, 0.43), ("utilisation_max", "", 0.85, 0.43),
           ("idle", "", 0.2, 0.41), ("wait_p95", "research", 7200, 5400))  # fmt: skip


def written(folder, stack, **series):
    """The page of a stack, measured by a Prometheus that answers with these series."""
    known = {SERIES.get(name, IDLE_HOURS): samples for name, samples in series.items()}

    def query(self, expression):
        found = known.get(expression, [])
        return [(tuple(sorted(labels.items())), float(value)) for labels, value in found]

    out = folder / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("gpuyard_advisor.cli.prometheus.Prometheus.query", query)
        ended = run("report", stack, "--out", out, "--live", "http://prometheus.example")
    assert ended.code == 0, ended.err
    return out


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The local stack with targets; every series has data."""
    folder = tmp_path_factory.mktemp("measured")
    raw = yaml.safe_load(LOCAL.read_text(encoding="utf-8"))["config"]["gpuyard:platform"]
    targets = {"utilisation_percent": "65..85", "idle_percent": 20}
    waits = {"wait_p95_minutes": {"research": 120}}
    raw |= {"priorities": {"research": 10, "production": 20}, "targets": targets | waits}
    (folder / "local.yaml").write_bytes(stack_file(raw))
    return written(folder, "local.yaml", **state())


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """A pool with activity, an idle pod and a queue; no other data."""
    folder = tmp_path_factory.mktemp("sparse")
    teams = [team("vision", guarantee={"train": 16}), team("search", borrow={"train": 8})]
    stack = platform(
        [pool(), cut_pool(), shared_pool()], teams=teams, shapes=[shape(gpus_per_node=8)]
    )
    (folder / "stack.yaml").write_bytes(stack_file(stack))
    pod = {"pool": "train", "node": "n0", "gpu": "g0", "pod": "job"}
    return written(
        folder,
        "stack.yaml",
        gpu_active=[
            ({"pool": "train", "node": f"n{n // 8}", "gpu": f"g{n}"}, n % 11 / 10)
            for n in range(32)
        ],
        billed=[({"pool": "train"}, 32)],
        cost=[({"pool": "train", "team": "vision", "part": "used"}, 80)],
        pending=[({"queue": "vision", "status": "active"}, 3)],
        pod_active=[(pod, 0)],
        pod_allocated=[(pod, 1)],
        idle_hours=[(pod, 3)],
    )


@pytest.fixture(params=["measured", "sparse"])
def page(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_is_legible_and_requests_nothing(shown, page, width, scheme):
    seen = shown.visit(
        page, width, scheme, open=OPEN, low=TEXT, wider=WIDER, ground=GROUND, focus=FOCUS
    )
    keep(f"{page.parent.name[:-1]}-{width}-{scheme}.png", seen.png)
    assert seen.requests == [page.as_uri()]
    assert seen.errors == []
    assert seen.results["low"] == []
    assert seen.results["wider"] == 0
    assert seen.results["focus"] == []
    light = seen.results["ground"] == "rgb(251, 251, 250)"
    assert light is (scheme == "light")


def test_a_printed_page_is_black_on_white_and_shows_what_is_folded(shown, page):
    """The width is that of A4 within margins of 1 cm; a reader with a dark theme prints too."""
    seen = shown.visit(
        page, 718, "dark", media="print", low=TEXT, wider=WIDER, ground=GROUND, cut=CUT
    )
    keep(f"{page.parent.name[:-1]}-print.png", seen.png)
    keep(f"{page.parent.name[:-1]}.pdf", printed := shown.pdf(page))
    assert seen.results == {"low": [], "wider": 0, "ground": "rgb(255, 255, 255)", "cut": []}
    assert printed.startswith(b"%PDF")


def test_the_pictures_of_the_guide_are_small(shown, measured, tmp_path):
    planned = tmp_path / "report.html"
    assert run("report", LOCAL.stem.removeprefix("Pulumi."), "--out", planned).code == 0
    for name, page, scheme, height in (
        ("report", planned, "light", 1220),
        ("report-live", measured, "dark", 1160),
    ):
        seen = shown.visit(page, 1280, scheme, height=height)
        keep(f"{name}.png", seen.png)
        assert 50_000 < len(seen.png) < 200_000


def keep(name, content):
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / name).write_bytes(content)


def test_a_page_that_requests_something_would_be_noticed(shown, sparse, tmp_path):
    """The test above can fail: an image without the policy, and a script with it."""
    text = sparse.read_text(encoding="utf-8")
    open_page, closed = tmp_path / "open.html", tmp_path / "closed.html"
    open_page.write_text("<img src='http://127.0.0.1:9/x.png'>", encoding="utf-8")
    closed.write_text(text.replace("</body>", "<script>1</script></body>"), encoding="utf-8")
    assert "http://127.0.0.1:9/x.png" in shown.visit(open_page, 400, "light").requests
    (error,) = shown.visit(closed, 400, "light").errors
    assert "Content Security Policy" in error
