"""The word that was meant by one that nobody knows."""

import difflib
from bisect import bisect
from collections.abc import Iterable, Sequence
from functools import lru_cache

_ALIKE = 0.75
"""From here on two words are one with a slip in it: `garantee`, `clowd`. At 0.6 `colour` would be `cloud`."""

_BEGINNING = 3
"""So long at least is a known word that another begins with: `h100` of `h100nvl`."""

_MANY = 200
"""Known words that are compared one by one; of more, only neighbours by their beginnings or their ends."""

_NEIGHBOURS = 8


def nearest_name(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one, None when none is near."""
    options = tuple(known)
    low = word.lower()[:100]
    by_lower = _few(options) if len(options) <= _MANY else _neighbours(low, options)
    if result := difflib.get_close_matches(low, list(by_lower), n=1, cutoff=_ALIKE):
        return by_lower[result[0]]
    begun = [option for option in by_lower if len(option) >= _BEGINNING and low.startswith(option)]
    return by_lower[max(begun, key=len)] if begun else None


def suggested_names(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """What a word may mean: all of a family by its name, A100-40 and A100-80 by A100; else the nearest."""
    options = tuple(known)
    low = word.lower()
    if family := tuple(each for each in options if low and each.lower().startswith(f"{low}-")):
        return family
    suggestion = nearest_name(word, options)
    return (suggestion,) if suggestion else ()


def format_options(words: Sequence[str]) -> str:
    """Words to choose from, in a sentence."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _few(options: tuple[str, ...]) -> dict[str, str]:
    return {option.lower(): option for option in options}


@lru_cache(maxsize=4)
def _in_order(options: tuple[str, ...]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The words in lower case beside themselves, sorted from their beginnings and from their ends."""
    low = [(option.lower(), option) for option in options]
    return sorted(low), sorted((word[::-1], option) for word, option in low)


def _neighbours(low: str, options: tuple[str, ...]) -> dict[str, str]:
    """Those beside which the word would stand: a slip leaves its beginning or its end as it was.

    A thousand pools and a thousand teams with slips in them would be a million comparisons.
    """
    results: dict[str, str] = {}
    for words, key in zip(_in_order(options), (low, low[::-1]), strict=True):
        at = bisect(words, (key, ""))
        neighbours = words[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
        results |= {option.lower(): option for _, option in neighbours}
    return results
