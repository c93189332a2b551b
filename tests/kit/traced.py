"""Coverage is traced where a gate needs it: in unit tests, and in none that only repeat what these run.

With a tracer Python 3.11 leaves its quick paths, in our modules and in all others: a test takes more than
twice its CPU. Tests on real parts wait for programs in other languages, long searches run the same lines
thousands of times, and what bears `repeats` says which tests run its lines; the tracer rests meanwhile. What
one of these alone would run is to have a unit test. `scripts/test` holds the gates, benchmarks/suite.md has
the figures.
"""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest
from coverage import Coverage

from kit.levels import LEVELS

UNTRACED = (*LEVELS, "search", "timed", "repeats")
"""Markers of tests, setup and teardown included, that are run without the tracer."""
MEASURED = ("gpuyard", "gpuyard_idle")
OTHERS = ("pulumi", "pulumi_kubernetes.core.v1", "pydantic", "rich.console", "typer", "yaml")
"""What ours import and nobody measures: imported before the tracer starts."""


def is_traced(item: pytest.Item) -> bool:
    """True for a test whose lines count."""
    return not any(item.get_closest_marker(name) for name in UNTRACED)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let one tracer run, and import all that is measured: while it rests, that would look never run."""
    measuring = stop_all()
    if measuring is None or session.config.getoption("dist", "no") != "no":
        return  # nothing is measured, or all tests are run by other processes
    for name in OTHERS:
        import_module(name)
    measuring.start()
    for package in MEASURED:
        import_all(package)
    session.config.pluginmanager.register(Tracer(measuring), "kit-tracer")


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


class Tracer:
    """The tracer of this process, which is on."""

    def __init__(self, measuring: Coverage) -> None:
        self.measuring = measuring

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Stop it for the length of a test that needs none, setup and teardown included."""
        if is_traced(item):
            return (yield)
        self.measuring.stop()
        try:
            return (yield)
        finally:
            self.measuring.start()
