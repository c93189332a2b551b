"""How long the random searches look: as long as `make test` can wait, or as a campaign wants."""

import os

TIMES = int(os.environ.get("GPUYARD_TIMES", "1"))
"""A campaign's factor: so many times the examples that `make test` tries of each property."""


def examples(count: int) -> int:
    """So many examples of a property; more of them in a campaign."""
    return count * TIMES


def numbers(text: str) -> range:
    """`500` is the first five hundred numbers, `500:800` those from 500 to 799."""
    first, colon, last = text.partition(":")
    return range(int(first), int(last)) if colon else range(int(first))
