"""Suggestions for unknown names."""

import difflib
from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import lru_cache

_ALIKE = 0.75
"""Minimum similarity of a suggestion, for `garantee` or `clowd`; at 0.6 `colour` would match `cloud`."""

_BEGINNING = 3
"""Minimum length of a known name that is a prefix of the unknown one: `h100` of `h100nvl`."""

_MANY = 200
"""Up to this many known names are all compared; of more, only those with a similar prefix or
suffix.
"""

_NEIGHBOURS = 8


def nearest_name(word: str, known: Iterable[str]) -> str | None:
    """The most similar known name; None if none is similar enough."""
    options = tuple(known)
    low = word.lower()[:100]
    by_lower = _few(options) if len(options) <= _MANY else _neighbours(low, options)
    if result := difflib.get_close_matches(low, list(by_lower), n=1, cutoff=_ALIKE):
        return by_lower[result[0]]
    begun = [option for option in by_lower if len(option) >= _BEGINNING and low.startswith(option)]
    return by_lower[max(begun, key=len)] if begun else None


def suggested_names(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Suggestions for a name: its whole family (A100-40 and A100-80 for A100), otherwise the most similar."""
    options = tuple(known)
    low = word.lower()
    if family := tuple(each for each in options if low and each.lower().startswith(f"{low}-")):
        return family
    suggestion = nearest_name(word, options)
    return (suggestion,) if suggestion else ()


def format_options(words: Sequence[str]) -> str:
    """The options as an English list with `or`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _few(options: tuple[str, ...]) -> dict[str, str]:
    return {option.lower(): option for option in options}


@lru_cache(maxsize=4)
def _in_order(options: tuple[str, ...]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The names with their lower-case forms, sorted by prefix and by suffix."""
    low = [(option.lower(), option) for option in options]
    return sorted(low), sorted((word[::-1], option) for word, option in low)


def _neighbours(low: str, options: tuple[str, ...]) -> dict[str, str]:
    """The names next to a name in sorted order: a typing error leaves its beginning or its end intact.

    A thousand unknown names among a thousand known ones would need a million comparisons.
    """
    results: dict[str, str] = {}
    for words, key in zip(_in_order(options), (low, low[::-1]), strict=True):
        at = bisect(words, (key, ""))
        nearby = words[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
        results |= {option.lower(): option for _, option in nearby}
    return results
