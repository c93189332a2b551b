"""Wait for a condition; who gives up says which condition it was, and what was seen last."""

import inspect
import time
from collections.abc import Callable
from typing import Any

import pytest

PAUSE, LONGEST_PAUSE = 0.1, 1.0
"""Seconds between two looks, at first and at most."""
OF_THE_WAIT = 0.03
"""A pause is so much of what was waited already: who waits a minute for others need not take their CPU."""
PATIENCE = 300
"""Seconds for what takes a few where nothing else runs. Who has waited so long knows that it never comes."""
SHORTER = 120
"""The same inside a test that is stopped after 180."""


def until(
    look: Callable[[], Any],
    expected: Callable[[Any], object] = bool,
    seconds: float = PATIENCE,
    *,
    what: str = "",
    errors: tuple[type[Exception], ...] = (),
) -> Any:
    """Look until what is seen is wanted, and return it; these errors are as good as nothing seen.

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
    """The condition as the test has it: the source of the look, and of what is wanted of it."""
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
