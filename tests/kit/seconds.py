"""Where a run of the suite spends its seconds, by folder and by cause: `GPUYARD_SECONDS=1 make test`.

With the name of a folder instead of 1 each run also writes the time of every test into a file there.

CPU is counted as the kernel counts it, so a value means the same on a busy machine; only wall time does not.
A process that a test started is counted once it has ended and been waited for; a part of a cluster at once.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from kit.cluster import warm
from kit.cluster.planes import Planes
from kit.levels import LEVELS

HERE = Path(__file__).resolve().parent.parent
SLOWEST = 25
ASKED = "GPUYARD_SECONDS"
MARK = "kit.seconds"
"""Key under which a worker sends its values to the process that prints them."""


@dataclass
class Spent:
    """Seconds: CPU of this process, CPU of processes that it waited for, and wall time."""

    own: float = 0.0
    children: float = 0.0
    wall: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        return Spent(self.own + other.own, self.children + other.children, self.wall + other.wall)

    def since(self, start: "Spent") -> "Spent":
        return Spent(self.own - start.own, self.children - start.children, self.wall - start.wall)

    @property
    def waited(self) -> float:
        """Wall time without CPU use."""
        return max(0.0, self.wall - self.own - self.children)


def now(planes: Planes | None = None) -> Spent:
    """The time that this process and its clusters have spent so far."""
    clusters = planes.spent() if planes else 0.0
    times = os.times()
    return Spent(
        times.user + times.system,
        times.children_user + times.children_system + warm.spent() + clusters,
        time.monotonic(),
    )


def folder(nodeid: str) -> str:
    """`tests/plan` of `tests/plan/pools/test_x.py::test_y`."""
    return "/".join(nodeid.partition("::")[0].split("/")[:2])


def cause(item: pytest.Item) -> str:
    """The kind of work of a test: its level, or what dominates its time."""
    level = next((name for name in LEVELS if item.get_closest_marker(name)), "unit")
    if level != "unit":
        return level
    return "random search" if is_random(item) else "cases"


def is_random(item: pytest.Item) -> bool:
    """True for a property that hypothesis searches for counterexamples."""
    return hasattr(getattr(item, "obj", None), "hypothesis")


class Clock:
    """Sums what each test takes; one for a process that runs tests."""

    def __init__(self) -> None:
        self.planes = Planes()
        self.started = now()
        self.collected = Spent()
        self.rows: dict[str, tuple[str, Spent]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Iterator[None]:
        """Measure imports so far, and collection."""
        result = yield
        self.collected = now().since(self.started)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: Any) -> Iterator[None]:
        """Measure setup, call and teardown of a test together."""
        kind = cause(item)
        planes = self.planes if kind in LEVELS else None
        start = now(planes)
        result = yield
        self.rows[item.nodeid] = (kind, now(planes).since(start))
        return result

    def as_data(self) -> dict[str, Any]:
        return {
            "collected": asdict(self.collected),
            "rows": [[name, kind, asdict(spent)] for name, (kind, spent) in self.rows.items()],
        }

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send a worker's values to the main process."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[MARK] = json.dumps(self.as_data())


class Report:
    """Prints the time of all processes; one per run."""

    def __init__(self, clock: Clock | None) -> None:
        self.clock = clock
        self.parts: list[dict[str, Any]] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Collect the values of an ended worker, unless it died."""
        text = getattr(node, "workeroutput", {}).get(MARK)
        if text:
            self.parts.append(json.loads(text))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print three tables: by folder, by cause, and the slowest tests."""
        if self.clock is not None and self.clock.rows:
            self.parts.append(self.clock.as_data())
        if (folder := Path(os.environ[ASKED])).is_dir():
            (folder / f"{os.getpid()}.json").write_text(json.dumps(self.parts), encoding="utf-8")
        terminalreporter.section("seconds")
        for line in report(self.parts):
            terminalreporter.write_line(line)


def report(parts: list[dict[str, Any]]) -> list[str]:
    """The tables, line by line."""
    rows = [(name, kind, Spent(**spent)) for part in parts for name, kind, spent in part["rows"]]
    folders, causes = (
        grouped((folder(name), spent) for name, _, spent in rows),
        grouped((kind, spent) for _, kind, spent in rows),
    )
    collected = [Spent(**part["collected"]) for part in parts]
    causes["collection"] = (len(parts), total(collected))
    slow = sorted(rows, key=lambda row: -row[2].own - row[2].children)[:SLOWEST]
    return [
        *table("by folder", folders),
        *table("by cause", causes),
        *table("the dearest", {name: (1, spent) for name, _, spent in slow}),
    ]


def total(every: list[Spent]) -> Spent:
    result = Spent()
    for each in every:
        result = result.plus(each)
    return result


def grouped(pairs: Any) -> dict[str, tuple[int, Spent]]:
    results: dict[str, list[Spent]] = defaultdict(list)
    for key, spent in pairs:
        results[key].append(spent)
    return {key: (len(every), total(every)) for key, every in results.items()}


def table(title: str, rows: Mapping[str, tuple[int, Spent]]) -> list[str]:
    """A table with the largest first and a sum."""
    ordered = sorted(rows.items(), key=lambda row: -row[1][1].own - row[1][1].children)
    summed = total([spent for _, spent in rows.values()])
    lines = [("", title, "count", "CPU", "processes", "waited")]
    lines += [cells(name, count, spent) for name, (count, spent) in ordered]
    lines.append(cells("sum", sum(count for count, _ in rows.values()), summed))
    return [f"| {line[1]} | " + " | ".join(line[2:]) + " |" for line in lines] + [""]


def cells(name: str, count: int, spent: Spent) -> tuple[str, ...]:
    figures = (spent.own, spent.children, spent.waited)
    return ("", name, str(count), *(f"{figure:.1f}" for figure in figures))


def pytest_configure(config: pytest.Config) -> None:
    """Register the measurement if it is requested."""
    if not os.environ.get(ASKED):
        return
    clock = Clock()
    clock.planes.watch()
    config.pluginmanager.register(clock, "kit-seconds-clock")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Report(clock), "kit-seconds-report")
