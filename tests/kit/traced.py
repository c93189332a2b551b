"""Coverage is traced where a gate needs it: in unit tests, and in none that only repeat what these run.

The tracer of Python 3.11 is called for every line of ours. Tests on real parts wait for programs in other
languages, and long searches run the same lines thousands of times; what they alone would run is to have a
unit test. `scripts/test` holds the gates; benchmarks/suite.md has the figures.
"""

from collections.abc import Iterator

import pytest
from coverage import Coverage

from kit.levels import LEVELS

UNTRACED = (*LEVELS, "search")
"""Markers of tests, setup and teardown included, that are run without the tracer."""


def is_traced(item: pytest.Item) -> bool:
    """True for a test whose lines count."""
    return not any(item.get_closest_marker(name) for name in UNTRACED)


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
