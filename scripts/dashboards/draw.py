"""Draws every dashboard with Grafana's own components from a real Prometheus, and fails on a panel without data.

Grafana's components and Chromium are 500 MB, so this is not part of `make test`:

    npm install --ignore-scripts --no-audit --no-fund --legacy-peer-deps --prefix scripts/dashboards
    (cd scripts/dashboards && node bundle.mjs)
    apt-get install --no-install-recommends chromium-headless-shell optipng
    make tools && .venv/bin/python scripts/dashboards/draw.py docs/img

It backfills thirteen hours of exporter series (history.py), evaluates the platform's recording rules over them, asks every
panel's query, and takes a picture at two widths, light and dark. Chromium resolves no host: a request out is an error.
"""

import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from gpuyard.plan import plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.observability.dashboards import dashboards
from gpuyard.render.observability.rules import rule_groups
from gpuyard.spec.read import read_stack_file
from history import HOURS, history

HERE = Path(__file__).parent
TOOLS = HERE.parent.parent / ".testbed" / "bin"
_STEP = 300
_END = 1795924800
"""The last moment of the pictures, 2026-11-29 04:00 UTC: they change only with the dashboards."""
_SHOWN = HOURS - 1
"""Hours of the pictures: rates of the first hour have too few samples."""
_RECORDED = re.compile(r"gpuyard:[\w:]+")
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")
_LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_STYLE = (
    "@font-face{font-family:Inter;src:local('DejaVu Sans')}body{margin:0;font-family:Inter}"
    "#app *{letter-spacing:0!important}"
)
"""A font that exists here under the name of Grafana's, so that bars leave their titles enough room."""
_SIZES = {"wide": 1180, "narrow": 900}
_KEPT = {"fleet-dark.png", "team-light.png", "queue-dark.png", "node-light.png", "cost-light.png"}
"""The pictures of the documentation, at the wide size."""


def main(folder: Path) -> int:
    """The number of problems."""
    stack = HERE / "stack.yaml"
    spec = read_stack_file(stack.read_bytes(), stack.name).spec
    assert spec is not None  # noqa: S101 - stack.yaml is valid
    plan = plan_or_raise(spec)
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        _backfill(plan, work, _END)
        with _prometheus(work) as server:
            for file, dashboard in dashboards(plan).items():
                results = _results(dashboard, server, _END)
                problems += [f"{file}: no data in {each!r}" for each in _empty(dashboard, results)]
                problems += _draw(dashboard, results, _END, work, folder, file)
    print(*(problems or ["every panel has data, no error and no request out"]), sep="\n")
    return len(problems)


def _empty(dashboard: dict[str, Any], results: dict[int, list[Any]]) -> list[str]:
    return [each["title"] for each in dashboard["panels"] if not results[each["id"]]]


# ── Prometheus ───────────────────────────────────────────────────────────────────────────────────────


def _backfill(plan: PlatformPlan, work: Path, end: int) -> None:
    """Blocks of the exporters' series and, level by level, of the rules that read them."""
    (work / "prometheus.yml").write_text("{}", encoding="utf-8")
    text = work / "history.om"
    text.write_text(history(end), encoding="utf-8")
    _promtool("create-blocks-from", "openmetrics", "--quiet", str(text), str(work / "tsdb"))
    for number, rules in enumerate(_levels(plan)):
        file = (
            work / "rules.yml"
        )  # its name decides at which second of a minute the rules are evaluated
        group = {"name": "level", "interval": "60s", "rules": rules}
        file.write_text(yaml.safe_dump({"groups": [group]}), encoding="utf-8")
        blocks = work / f"blocks-{number}"
        with _prometheus(work) as server:
            start = end - HOURS * 3600
            _promtool("create-blocks-from", "rules", f"--start={start}", f"--end={end}", f"--url={server}",
                      f"--output-dir={blocks}", "--eval-interval=60s", str(file))  # fmt: skip
        for block in blocks.glob("*/meta.json"):
            shutil.move(block.parent, work / "tsdb" / block.parent.name)


def _levels(plan: PlatformPlan) -> Iterator[list[dict[str, Any]]]:
    """The rules, each after those that it reads."""
    left = [rule for group in rule_groups(plan) for rule in group["rules"] if "record" in rule]
    while left:
        names = {rule["record"] for rule in left}
        ready = {name for name in names if not any(
            names & set(_RECORDED.findall(rule["expr"])) for rule in left if rule["record"] == name)}  # fmt: skip
        yield [rule for rule in left if rule["record"] in ready]
        left = [rule for rule in left if rule["record"] not in ready]


def _promtool(*arguments: str) -> None:
    subprocess.run(
        [TOOLS / "promtool", "tsdb", *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def _prometheus(work: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    options = ("--storage.tsdb.retention.time=30d", "--storage.tsdb.min-block-duration=2h",
               "--storage.tsdb.max-block-duration=2h", "--query.lookback-delta=60s", "--log.level=error")  # fmt: skip
    with subprocess.Popen([TOOLS / "prometheus", f"--config.file={work / 'prometheus.yml'}",
        f"--storage.tsdb.path={work / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}", *options]) as process:  # fmt: skip
        try:
            _await(f"{address}/-/ready")
            yield address
        finally:
            process.terminate()


def _await(url: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(url).close()  # noqa: S310 - a local server of this script
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(url)


def _results(dashboard: dict[str, Any], server: str, end: int) -> dict[int, list[Any]]:
    """What Grafana would get for every panel, by its id."""
    found: dict[int, list[Any]] = {}
    for panel in dashboard["panels"]:
        step = _SHOWN * 3600 // panel.get("maxDataPoints", _SHOWN * 3600 // _STEP)
        found[panel["id"]] = [
            series
            for target in panel["targets"]
            for series in _asked(server, target, end, int(step))
        ]
    return found


def _asked(server: str, target: dict[str, Any], end: int, step: int) -> Iterator[dict[str, Any]]:
    filled = {"__rate_interval": f"{4 * _STEP}s", "__range": f"{_SHOWN}h"}
    expr = _VARIABLE.sub(lambda match: filled.get(match[1] or match[2], ".*"), target["expr"])
    instant = target.get("instant")
    start = end if instant else end - _SHOWN * 3600
    asked = (
        {"query": expr, "time": end}
        if instant
        else {"query": expr, "start": start, "end": end, "step": step}
    )
    form, path = urllib.parse.urlencode(asked), "query" if instant else "query_range"
    with urllib.request.urlopen(f"{server}/api/v1/{path}", form.encode()) as answer:  # noqa: S310
        for each in json.load(answer)["data"]["result"]:
            labels = each["metric"]
            known = dict(each.get("values") or [each["value"]])
            times = range(start, end + 1, step)
            yield {
                "refId": target["refId"],
                "name": _legend(target["legendFormat"], labels),
                "labels": labels,
                "times": [moment * 1000 for moment in times],
                "values": [float(known[moment]) if moment in known else None for moment in times],
            }


def _legend(text: str, labels: Mapping[str, str]) -> str:
    return _LEGEND.sub(lambda match: labels.get(match[1], ""), text)


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────────


def _draw(
    dashboard: dict[str, Any],
    results: dict[int, list[Any]],
    end: int,
    work: Path,
    folder: Path,
    file: str,
) -> list[str]:
    height = 72 + 38 * max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in dashboard["panels"])
    data = {"range": {"from": (end - _SHOWN * 3600) * 1000, "to": end * 1000}, "panels": results}
    problems = []
    for mode in ("dark", "light"):
        page = work / f"{mode}.html"
        page.write_text(
            f"<!doctype html><meta charset=utf-8><style>{_STYLE}</style>"
            f'<link rel=stylesheet href="{(HERE / "dist/view.css").as_uri()}"><div id=app></div><script>window.MODE='
            f"{json.dumps(mode)};window.DASHBOARD={json.dumps(dashboard)};window.RESULTS={json.dumps(data)}</script>"
            f'<script src="{(HERE / "dist/view.js").as_uri()}"></script>',
            encoding="utf-8",
        )
        for size, width in _SIZES.items():
            name = f"{file.removesuffix('.json').rsplit('-', 1)[1]}-{mode}.png"
            is_kept = size == "wide" and name in _KEPT
            picture = (folder if is_kept else work) / name
            problems += [
                f"{file} {mode} {size}: {each}" for each in _taken(page, picture, width, height)
            ]
            if is_kept:
                subprocess.run(["optipng", "-quiet", "-o3", picture], check=True)
    return problems


def _taken(page: Path, picture: Path, width: int, height: int) -> list[str]:
    ended = subprocess.run(
        ["chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files",
         "--host-resolver-rules=MAP * ~NOTFOUND", f"--window-size={width},{height}", "--virtual-time-budget=6000",
         "--enable-logging=stderr", f"--screenshot={picture.resolve()}", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return [line for line in ended.stderr.splitlines() if "CONSOLE" in line]


if __name__ == "__main__":
    sys.exit(min(1, main(Path(sys.argv[1]))))
