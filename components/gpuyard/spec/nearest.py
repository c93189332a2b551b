"""The word that was meant by one that nobody knows."""

import difflib
from collections.abc import Iterable

_ALIKE = 0.75
"""From here on two words are one with a slip in it: `garantee`, `clowd`. At 0.6 `colour` would be `cloud`."""

_BEGINNING = 3
"""So long at least is a known word that another begins with: `h100` of `h100nvl`."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one, None when none is near."""
    by_lower = {option.lower(): option for option in known}
    low = word.lower()[:100]
    if found := difflib.get_close_matches(low, list(by_lower), n=1, cutoff=_ALIKE):
        return by_lower[found[0]]
    begun = [option for option in by_lower if len(option) >= _BEGINNING and low.startswith(option)]
    return by_lower[max(begun, key=len)] if begun else None
