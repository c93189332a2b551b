"""Coverage is traced where a gate needs it: in unit tests, and in none that only repeat what these run.

With a tracer Python 3.11 leaves its quick paths, in our modules and in all others: a test takes more than
twice its CPU. Tests on real parts wait for programs in other languages, random searches run the same lines
hundreds of times, and what bears `repeats` says which tests run its lines; the tracer rests meanwhile. What
one of these alone would run is to have a unit test.

Most of the others run nothing that the rest does not run as well. Those are in `repeating.txt`, measured and
written by `scripts/repeating.py`; a test that is not named there is traced. Where the gates fall short, for
the code has changed since, `scripts/test` runs what is named there once more with the tracer before it says
so. `scripts/test` holds the gates, benchmarks/suite.md has the figures.
"""

import functools
import json
import os
import pkgutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from coverage import Coverage

from kit.levels import LEVELS
from kit.seconds import is_random

UNTRACED = (*LEVELS, "search", "timed", "repeats")
"""Markers of tests, setup and teardown included, that are run without the tracer."""
MEASURED = ("gpuyard", "gpuyard_gate", "gpuyard_idle", "gpuyard_requeue", "gpuyard_validator")
OTHERS = ("pulumi", "pulumi_kubernetes.core.v1", "pydantic", "rich.console", "typer", "yaml")
"""What ours import and nobody measures: imported before the tracer starts."""
REPEATING = Path(__file__).with_name("repeating.txt")
"""Tests that run no line that others do not run too; a line each, as pytest names them without a case."""
ALL = "GPUYARD_TRACE_ALL"
"""With this the tests named there are traced like any other."""
RECORD = "GPUYARD_TRACE_RECORD"
"""A folder: which test ran what goes into the coverage data, and what each took into a file there."""
Kept = functools._lru_cache_wrapper


def is_traced(item: pytest.Item) -> bool:
    """True for a test whose lines count: not what hypothesis searches, for it need not find a line again."""
    if is_random(item) or any(item.get_closest_marker(name) for name in UNTRACED):
        return False
    return bool(os.environ.get(ALL)) or function_of(item) not in repeating()


def function_of(item: pytest.Item) -> str:
    """The test without its case, as pytest names it."""
    return item.nodeid.partition("[")[0]


@functools.cache
def repeating() -> frozenset[str]:
    """The tests that were measured to run nothing of their own."""
    return frozenset(REPEATING.read_text(encoding="utf-8").split())


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let one tracer run, and import all that is measured: while it rests, that would look never run."""
    measuring = stop_all()
    if measuring is None or session.config.getoption("dist", "no") != "no":
        return  # nothing is measured, or all tests are run by other processes
    for name in OTHERS:
        import_module(name)
    tracer = Tracer(measuring)
    tracer.turn(on=True)
    for package in MEASURED:
        import_all(package)
    tracer.turn(on=False)  # what tests do while they are collected does not count
    session.config.pluginmanager.register(tracer, "kit-tracer")
    if folder := os.environ.get(RECORD):
        session.config.pluginmanager.register(Recorder(measuring, Path(folder)), "kit-recorder")


def stop_all() -> Coverage | None:
    """Stop every measurement of this process; the innermost, the one that is saved.

    A worker of pytest-xdist has two: to stop the inner one alone is to start the tracer of the outer one.
    """
    innermost = None
    while measuring := Coverage.current():
        measuring.stop()
        innermost = innermost or measuring
    return innermost


def import_all(package: str) -> None:
    """Every module of a package but programs, which do something when they are imported."""
    for each in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        if not each.name.endswith(".__main__"):
            import_module(each.name)


def forget(packages: Iterable[str]) -> None:
    """Empty what functions of these packages keep (`@cache`)."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages:
            for each in vars(module).values():
                if isinstance(each, Kept):
                    each.cache_clear()


class Tracer:
    """The tracer of this process: it runs for tests that count, and rests for all others."""

    def __init__(self, measuring: Coverage) -> None:
        self.measuring = measuring
        self.on = False

    def turn(self, *, on: bool) -> None:
        """Start or stop it, unless it does so already: either costs something."""
        if on != self.on:
            self.on = on
            (self.measuring.start if on else self.measuring.stop)()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Tests that count come first: what is computed once a process is computed while somebody looks.

        What tests computed while they were collected is forgotten for the same reason.
        """
        items.sort(key=lambda item: not is_traced(item))
        forget(MEASURED)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """For a test with its setup and teardown, whatever ran before."""
        self.turn(on=is_traced(item))
        return (yield)


class Recorder:
    """Notes which test runs which line, and what each takes: what `scripts/repeating.py` chooses by."""

    def __init__(self, measuring: Coverage, folder: Path) -> None:
        self.measuring = measuring
        self.folder = folder
        self.seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """The tracer has been turned before: its hook is the first."""
        if not is_traced(item):
            return (yield)
        self.measuring.switch_context(function_of(item))
        start = time.process_time()
        result = yield
        self.seconds[function_of(item)] += time.process_time() - start
        return result

    def pytest_sessionfinish(self) -> None:
        """Each process writes a file of its own."""
        path = self.folder / f"{os.getpid()}.json"
        path.write_text(json.dumps(self.seconds), encoding="utf-8")
