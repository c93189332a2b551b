"""The levels of proof a test may need, and the upstream files some compare with.

A test skips, visibly, for what this machine lacks, and fails where `GPUYARD_REQUIRE` names it: CI sets
`engine,cluster`, and runs the tests that skipped for want of upstream files again with `upstream`.
"""

import os
from pathlib import Path

import pytest

LEVELS = ("engine", "cluster", "gpu")
REQUIRABLE = (*LEVELS, "upstream")
NEEDS_UPSTREAM = "needs upstream file"
SECONDS = {"engine": 1800, "cluster": 1800, "gpu": 300}
"""On the clock, after which a test is taken to hang; a unit test takes the `timeout` of pyproject.toml.

Speed is asserted where it is promised, by CPU or by how busy the machine is; these fail no busy one. The
first test of a file pays for its clusters as well.
"""


def is_timed(item: pytest.Item) -> bool:
    """Whether a test, or the command line, says how long it may take: campaigns have hours.

    A marker of ours would win over the command line.
    """
    return bool(item.get_closest_marker("timeout") or item.config.getoption("timeout", None))


def required_levels() -> frozenset[str]:
    """What `GPUYARD_REQUIRE` promises; an unknown name in it is an error, not a wish."""
    names = [name.strip() for name in os.environ.get("GPUYARD_REQUIRE", "").split(",")]
    expected = frozenset(name for name in names if name)
    if unknown := sorted(expected - set(REQUIRABLE)):
        message = f"GPUYARD_REQUIRE names {', '.join(unknown)}; allowed: {', '.join(REQUIRABLE)}"
        raise pytest.UsageError(message)
    return expected


def require_level(level: str, available: object, why: str) -> None:
    """Go on when the level is available; else skip, or fail where it was promised.

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
