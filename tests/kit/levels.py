"""The levels that a test may need, and the upstream files that some compare with.

A test visibly skips what this machine lacks, and fails if `GPUYARD_REQUIRE` names it: CI sets
`engine,cluster`, and runs tests that skipped without upstream files again with `upstream`.
"""

import os
from pathlib import Path

import pytest

LEVELS = ("engine", "cluster", "gpu", "browser")
REQUIRABLE = (*LEVELS, "upstream")
NEEDS_UPSTREAM = "needs upstream file"
SECONDS = {"engine": 1800, "cluster": 1800, "gpu": 300, "browser": 300}
"""Wall-clock seconds after which a test counts as hung; a unit test has the `timeout` of pyproject.toml.

Speed is asserted where it is promised, by CPU time or relative to the load of the machine. The first test of
a file includes the start of its clusters.
"""


def is_timed(item: pytest.Item) -> bool:
    """Whether a test, or the command line, sets a time limit: campaigns have hours.

    A marker added here would override the command line.
    """
    return bool(item.get_closest_marker("timeout") or item.config.getoption("timeout", None))


def required_levels() -> frozenset[str]:
    """The levels in `GPUYARD_REQUIRE`; an unknown name is an error."""
    names = [name.strip() for name in os.environ.get("GPUYARD_REQUIRE", "").split(",")]
    expected = frozenset(name for name in names if name)
    if unknown := sorted(expected - set(REQUIRABLE)):
        message = f"GPUYARD_REQUIRE names {', '.join(unknown)}; allowed: {', '.join(REQUIRABLE)}"
        raise pytest.UsageError(message)
    return expected


def require_level(level: str, available: object, why: str) -> None:
    """Continue if the level is available; else skip, or fail if it is required.

    `why` completes "not available: ", as in "no kube-apiserver built, run `make tools`".
    """
    if level not in LEVELS:
        message = f"no level {level!r}; allowed: {', '.join(LEVELS)}"
        raise pytest.UsageError(message)
    if available:
        return
    if level in required_levels():
        pytest.fail(
            f"level {level} is required by GPUYARD_REQUIRE and not available: {why}", pytrace=False
        )
    pytest.skip(f"level {level} not available: {why}")


def upstream(*parts: str) -> Path:
    """A file or folder of the upstream projects' own schemas and values; skips or fails without."""
    value = os.environ.get("GPUYARD_UPSTREAM")
    expected = "/".join(parts) or "."
    if value and Path(value, *parts).exists():
        return Path(value, *parts)
    if value:
        pytest.fail(f"no {expected} in GPUYARD_UPSTREAM={value}", pytrace=False)
    message = f"{NEEDS_UPSTREAM} {expected}: set GPUYARD_UPSTREAM to a folder that has it"
    if "upstream" in required_levels():
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
