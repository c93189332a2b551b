"""Wait for a condition; a timeout reports the condition and the last observed value."""

import inspect
import time
from collections.abc import Callable
from typing import Any

import pytest

PAUSE, LONGEST_PAUSE = 0.1, 1.0
"""Seconds between two polls, first and maximum."""
OF_THE_WAIT = 0.03
"""A pause is this share of the time waited so far: long waits should use little CPU."""
PATIENCE = 300
"""Seconds for an operation that takes a few on an idle machine. After this time it has failed."""
SHORTER = 120
"""The same in a test with a limit of 180 s."""


def until(
    look: Callable[[], Any],
    expected: Callable[[Any], object] = bool,
    seconds: float = PATIENCE,
    *,
    what: str = "",
    errors: tuple[type[Exception], ...] = (),
) -> Any:
    """Poll until the value is as expected, and return it; these errors count as no value.

    `what` completes "waited 60 s for"; without it the condition's own source is quoted.
    """
    began = time.monotonic()
    deadline = began + seconds
    while True:
        try:
            seen = look()
        except errors as problem:
            seen = problem
        else:
            if expected(seen):
                return seen
        now = time.monotonic()
        if now >= deadline:
            named = what or condition(look, expected)
            pytest.fail(f"waited {seconds:g} s for {named}; last seen: {seen!r}")
        time.sleep(min(LONGEST_PAUSE, max(PAUSE, (now - began) * OF_THE_WAIT)))


def condition(look: Callable[[], Any], expected: Callable[[Any], object] = bool) -> str:
    """The condition as in the test: the source of the poll, and of the expectation."""
    source = " ".join(_source(look).split())
    return (
        source
        if expected is bool or _source(expected) in source
        else f"{source}: {_source(expected)}"
    )


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function).strip()
    except (OSError, TypeError):
        return getattr(function, "__qualname__", repr(function))
