"""Coverage is traced where a gate needs it: in unit tests, and in none that only repeat what these run.

The tracer of Python 3.11 is called for every line of ours. Tests on real parts wait for programs in other
languages, and long searches run the same lines thousands of times; what they alone would run is to have a
unit test. `scripts/test` holds the gates; benchmarks/suite.md has the figures.
"""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest
from coverage import Coverage

from kit.levels import LEVELS

UNTRACED = (*LEVELS, "search", "timed")
"""Markers of tests, setup and teardown included, that are run without the tracer."""
MEASURED = ("gpuyard", "gpuyard_idle")


def is_traced(item: pytest.Item) -> bool:
    """True for a test whose lines count."""
    return not any(item.get_closest_marker(name) for name in UNTRACED)


def pytest_collection_finish() -> None:
    """Import all that is measured: what is first imported while the tracer rests would look never run."""
    if Coverage.current() is not None:
        for package in MEASURED:
            import_all(package)


def import_all(package: str) -> None:
    """Every module of a package but programs, which do something when they are imported."""
    for each in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        if not each.name.endswith(".__main__"):
            import_module(each.name)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Stop the tracer for the length of a test that needs none."""
    measuring = Coverage.current()
    if measuring is None or is_traced(item):
        return (yield)
    measuring.stop()
    try:
        return (yield)
    finally:
        measuring.start()
