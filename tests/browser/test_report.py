"""The page of `gpuyard report` in a real browser: two widths, light and dark."""

from pathlib import Path

import pytest

from gpuyard.usage.fleet import IDLE_HOURS, SERIES
from kit.browser import browser, opened
from kit.inprocess import run
from kit.levels import require_level
from kit.stacks import cut_pool, platform, pool, shape, shared_pool, stack_file, team

PICTURES = Path(__file__).parents[2] / "build" / "report"

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
FOCUS = """[...document.querySelectorAll('a, summary, [tabindex="0"]')].filter(each => {
  each.focus();
  return document.activeElement !== each;
}).map(each => each.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    require_level("browser", browser(), "no Chromium, run `python3 testbed/browser.py`")
    with opened(tmp_path_factory.mktemp("profile")) as found:
        yield found


def answers(self, expression):
    """A pool with activity, an idle pod, a queue; no other data."""
    known = {
        SERIES["gpu_active"]: [
            (("gpu", f"g{n}"), ("node", f"n{n // 8}"), ("pool", "train"), n % 11 / 10)
            for n in range(32)
        ],
        SERIES["billed"]: [(("pool", "train"), 32.0)],
        SERIES["cost"]: [(("part", "used"), ("pool", "train"), ("team", "vision"), 80.0)],
        SERIES["pending"]: [(("priority", "high"), ("queue", "vision"), 3.0)],
        SERIES["pod_active"]: [(("node", "n0"), ("pod", "job"), ("pool", "train"), 0.0)],
        SERIES["pod_allocated"]: [(("node", "n0"), ("pod", "job"), ("pool", "train"), 1.0)],
        IDLE_HOURS: [(("node", "n0"), ("pod", "job"), ("pool", "train"), 3.0)],
    }
    return [(each[:-1], each[-1]) for each in known.get(expression, [])]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Whole GPUs, slices, shares, an unknown machine's finding, and measured data."""
    folder = tmp_path_factory.mktemp("page")
    teams = [team("vision", guarantee={"train": 16}), team("search", borrow={"train": 8})]
    stack = platform(
        [pool(), cut_pool(), shared_pool()], teams=teams, shapes=[shape(gpus_per_node=8)]
    )
    (folder / "stack.yaml").write_bytes(stack_file(stack))
    out = folder / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpuyard.cli.prometheus.Prometheus.query", answers)
        ended = run("report", folder / "stack.yaml", "--out", out, "--live", "http://127.0.0.1:9")
    assert ended.code == 0, ended.err
    return out


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_is_legible_and_requests_nothing(shown, page, width, scheme):
    seen = shown.visit(
        page, width, scheme, open=OPEN, low=TEXT, wider=WIDER, ground=GROUND, focus=FOCUS
    )
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / f"report-{width}-{scheme}.png").write_bytes(seen.png)
    assert seen.requests == [page.as_uri()]
    assert seen.errors == []
    assert seen.results["low"] == []
    assert seen.results["wider"] == 0
    assert seen.results["focus"] == []
    light = seen.results["ground"] == "rgb(251, 251, 250)"
    assert light is (scheme == "light")


def test_a_page_that_requests_something_would_be_noticed(shown, page, tmp_path):
    """The test above can fail: an image without the policy, and a script with it."""
    text = page.read_text(encoding="utf-8")
    open_page, closed = tmp_path / "open.html", tmp_path / "closed.html"
    open_page.write_text("<img src='http://127.0.0.1:9/x.png'>", encoding="utf-8")
    closed.write_text(text.replace("</body>", "<script>1</script></body>"), encoding="utf-8")
    assert "http://127.0.0.1:9/x.png" in shown.visit(open_page, 400, "light").requests
    (error,) = shown.visit(closed, 400, "light").errors
    assert "Content Security Policy" in error
