"""Duration of the random searches: for `make test`, or for a campaign."""

import os

TIMES = int(os.environ.get("GPUYARD_TIMES", "1"))
"""A campaign's factor: multiplies the examples that `make test` tries of each property."""


def examples(count: int) -> int:
    """The number of examples of a property, scaled in a campaign."""
    return count * TIMES


def numbers(text: str) -> range:
    """`500` is the first five hundred numbers, `500:800` those from 500 to 799."""
    first, colon, last = text.partition(":")
    return range(int(first), int(last)) if colon else range(int(first))
