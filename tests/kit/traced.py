"""Coverage is traced where a gate needs it: in unit tests, except those that only repeat lines of others.

With a tracer Python 3.11 loses its fast paths, in all modules: a test takes more than twice its CPU. Tests on
real parts wait for programs in other languages, random searches run the same lines hundreds of times, and the
marker `repeats` names the tests that run the same lines; the tracer is off meanwhile. Lines that only such a
test runs need a unit test.

Most of the other tests run no line that the rest does not run as well. They are listed in `repeating.txt`,
measured and written by `scripts/repeating.py`; a test that is not listed is traced. If the gates fail because
the code has changed since, `scripts/test` runs the listed tests once more with the tracer before it reports
that. `scripts/test` checks the gates, benchmarks/suite.md has the figures.
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
"""Dependencies that are not measured: imported before the tracer starts."""
REPEATING = Path(__file__).with_name("repeating.txt")
"""Tests that run no line of their own; one per line, by pytest's name without the case."""
ALL = "GPUYARD_TRACE_ALL"
"""With this variable the listed tests are traced like any other."""
RECORD = "GPUYARD_TRACE_RECORD"
"""A folder: the coverage data records the test of each line, and a file there the time of each test."""
Kept = functools._lru_cache_wrapper


def is_traced(item: pytest.Item) -> bool:
    """True for a traced test: not for hypothesis searches, which need not reach a line again."""
    if is_random(item) or any(item.get_closest_marker(name) for name in UNTRACED):
        return False
    return bool(os.environ.get(ALL)) or function_of(item) not in repeating()


def function_of(item: pytest.Item) -> str:
    """The test without its case, by pytest's name."""
    return item.nodeid.partition("[")[0]


@functools.cache
def repeating() -> frozenset[str]:
    """The tests that run no line of their own, by measurement."""
    return frozenset(REPEATING.read_text(encoding="utf-8").split())


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Start one tracer, and import all measured modules: imported without it they would count as not run."""
    measuring = stop_all()
    if measuring is None or session.config.getoption("dist", "no") != "no":
        return  # nothing is measured, or other processes run all tests
    for name in OTHERS:
        import_module(name)
    tracer = Tracer(measuring)
    tracer.turn(on=True)
    for package in MEASURED:
        import_all(package)
    tracer.turn(on=False)  # collection does not count
    session.config.pluginmanager.register(tracer, "kit-tracer")
    if folder := os.environ.get(RECORD):
        session.config.pluginmanager.register(Recorder(measuring, Path(folder)), "kit-recorder")


def stop_all() -> Coverage | None:
    """Stop every measurement of this process; returns the innermost, which is saved.

    A worker of pytest-xdist has two: stopping only the inner one starts the tracer of the outer one.
    """
    innermost = None
    while measuring := Coverage.current():
        measuring.stop()
        innermost = innermost or measuring
    return innermost


def import_all(package: str) -> None:
    """Import every module of a package except programs, which run on import."""
    for each in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        if not each.name.endswith(".__main__"):
            import_module(each.name)


def forget(packages: Iterable[str]) -> None:
    """Clear the `@cache` of functions of these packages."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages:
            for each in vars(module).values():
                if isinstance(each, Kept):
                    each.cache_clear()


class Tracer:
    """The tracer of this process: on for traced tests, off for all others."""

    def __init__(self, measuring: Coverage) -> None:
        self.measuring = measuring
        self.on = False

    def turn(self, *, on: bool) -> None:
        """Start or stop it if its state differs: either takes time."""
        if on != self.on:
            self.on = on
            (self.measuring.start if on else self.measuring.stop)()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Order traced tests first: values that are computed once per process are computed with the tracer on.

        Values that were computed during collection are dropped for the same reason.
        """
        items.sort(key=lambda item: not is_traced(item))
        forget(MEASURED)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Set the tracer for a test with its setup and teardown."""
        self.turn(on=is_traced(item))
        return (yield)


class Recorder:
    """Records the lines and the time of each test, for `scripts/repeating.py`."""

    def __init__(self, measuring: Coverage, folder: Path) -> None:
        self.measuring = measuring
        self.folder = folder
        self.seconds: dict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record a test; the tracer's hook runs first."""
        if not is_traced(item):
            return (yield)
        self.measuring.switch_context(function_of(item))
        start = time.process_time()
        result = yield
        self.seconds[function_of(item)] += time.process_time() - start
        return result

    def pytest_sessionfinish(self) -> None:
        """Write the file of this process."""
        path = self.folder / f"{os.getpid()}.json"
        path.write_text(json.dumps(self.seconds), encoding="utf-8")
