"""Shared by every test: level, time, sockets, golden files, property-test profiles."""

import os
import random
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from kit.cluster.warm import cold, warm
from kit.levels import LEVELS, NEEDS_UPSTREAM, SECONDS, is_timed, require_level, upstream
from kit.searches import examples

__all__ = ["cold", "require_level", "upstream", "warm"]

# gpuyard's plugin, loaded explicitly: its entry point would load it before coverage starts. The tests of a single
# package run without it (scripts/suite/package_tests.py), and are not traced.
pytest_plugins = ["gpuyard_testing.plugin", "kit.traced"] if find_spec("gpuyard_testing") else []

HERE = Path(__file__).parent

# In CI the same examples every time; a busy machine must not fail a property.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=examples(200))
settings.register_profile(
    "dev", deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


# Commands use this date as today: no fact that most stacks use exceeds its maximum age on it, and each
# Kubernetes minor of the tests is supported.
os.environ.setdefault("GPUYARD_TODAY", "2026-10-15")
# Clusters of tests have separate names, also if a CI job sets another one for its `make up`.
os.environ.pop("GPUYARD_SIM_NAME", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test its level: its own marker, else the folder's, else unit."""
    if os.environ.get("GPUYARD_GOLDEN") == "write":
        items[:] = [item for item in items if "golden" in getattr(item, "fixturenames", ())]
    for item in items:
        level = next((name for name in LEVELS if item.get_closest_marker(name)), None)
        if level is None:
            folder = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
            level = folder if folder in LEVELS else "unit"
            item.add_marker(level)
        if level == "unit":
            continue
        if not is_timed(item):
            item.add_marker(pytest.mark.timeout(SECONDS[level]))
        # Real parts listen only on this machine.
        item.add_marker(pytest.mark.allow_hosts(["127.0.0.1", "::1", "localhost"]))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """List the tests that skip without upstream files in the file that GPUYARD_LACKING_UPSTREAM names."""
    lacking = os.environ.get("GPUYARD_LACKING_UPSTREAM")
    if not lacking or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if report.skipped and NEEDS_UPSTREAM in str(report.longrepr):
        with Path(lacking).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distribute tests, the longest first, and tests that share a cluster together."""
    from kit.live import LongestFirst

    return LongestFirst(config, log)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Live tests wait more than they work: `-n auto` starts more workers for them than there are cores."""
    from kit.live import workers

    return workers(config.args, os.cpu_count() or 1)


@pytest.fixture(scope="session", autouse=True)
def _stutter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Pause parts of clusters now and then on request: see `stutter`."""
    seed = os.environ.get("GPUYARD_STUTTER")
    if seed is None:
        yield
        return
    from kit.cluster.stutter import stuttering

    chance = random.Random(seed)  # noqa: S311  accidents, not secrets
    with stuttering(tmp_path_factory.getbasetemp(), chance):
        yield


@pytest.fixture
def golden() -> Callable[[Path, str], None]:
    """Compare text with a golden file; `make golden` regenerates the files instead."""

    def compare(path: Path, text: str) -> None:
        if os.environ.get("GPUYARD_GOLDEN") == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"no golden file {path}; `make golden` writes it", pytrace=False)
        assert path.read_text(encoding="utf-8") == text, (
            f"{path} differs; if the change is intended, `make golden` regenerates it"
        )

    return compare
