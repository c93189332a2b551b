"""Coverage is traced where a gate needs it: in a sample of the unit tests.

With a tracer Python 3.11 loses its fast paths, in all modules: a test takes more than twice its CPU. So the tracer
is off in tests on real parts, which wait for programs in other languages, in random searches and sweeps, which run
the same lines again, and in folders of tests that mirror no measured package. The rule for the others:

- tests of a layer whose every branch is a gate are traced (COMPLETE);
- elsewhere the first case of each test function is traced.

A line that only an untraced test runs needs a unit test of its layer. `scripts/test` has the gates.
"""

import functools
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module

import pytest
from coverage import Coverage

from kit.levels import LEVELS

UNTRACED = (*LEVELS, "search", "timed", "repeats")
"""Markers of tests, setup and teardown included, that are run without the tracer."""
COMPLETE = ("admission", "plan", "providers", "render", "spec", "usage")
"""Folders of tests that are traced completely."""
ELSEWHERE = ("docs", "house", "images", "policies", "stacks", "testbed", "typed", "wheel")
"""Folders of tests that mirror no measured package."""
MEASURED = ("gpuyard", "gpuyard_agents", "gpuyard_validator")
OTHERS = ("pulumi", "pulumi_kubernetes.core.v1", "pydantic", "rich.console", "typer", "yaml")
"""Dependencies that are not measured: imported before the tracer starts."""
Kept = functools._lru_cache_wrapper


def traced(items: Iterable[pytest.Item]) -> set[str]:
    """The names of the tests that are traced."""
    seen: set[str] = set()
    results = set()
    for item in items:
        area = item.nodeid.split("/")[1]
        is_search = hasattr(getattr(item, "obj", None), "hypothesis")
        if is_search or any(item.get_closest_marker(name) for name in UNTRACED):
            continue
        function = item.nodeid.partition("[")[0]
        if area in COMPLETE or (area not in ELSEWHERE and function not in seen):
            results.add(item.nodeid)
        seen.add(function)
    return results


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
        self.traced: set[str] = set()

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
        self.traced = traced(items)
        items.sort(key=lambda item: item.nodeid not in self.traced)
        forget(MEASURED)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Set the tracer for a test with its setup and teardown."""
        self.turn(on=item.nodeid in self.traced)
        return (yield)
