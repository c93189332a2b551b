"""Three teams with nothing guaranteed and a backlog each: what the model foresees and what Kueue does."""

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

NODES = 6
GPUS = 8 * NODES
SIZES = (8, 3, 5, 3, 3, 3) * 4
"""A team's backlog. It stands: its small jobs alone would fill all the GPUs there are."""
SMALLEST, LARGEST = min(SIZES), max(SIZES)
WEIGHTS = {"alike": {"a": 1, "b": 1, "c": 1}, "apart": {"a": 1, "b": 2, "c": 3}}

HELD = (("a", 8), ("b", 8), ("b", 8), ("c", 8), *[("c", 3)] * 4, ("b", 3))
"""Who came first, and with how many GPUs. Of b's jobs, Kueue would evict the last to come."""
LARGE = (("c", 5), ("c", 8), ("b", 8), ("a", 8))
"""Who waits: no small jobs. c has less than its share, and b's last job would leave too little for c's."""


def teams(weights: Mapping[str, int]) -> dict[str, Any]:
    """The teams of a platform with these weights; each may have everything."""
    return {letter: {"borrow": GPUS, "weight": weight} for letter, weight in weights.items()}


def behind(used: Mapping[str, int], weights: Mapping[str, int]) -> Fraction:
    """How many GPUs less than another a team has at most, both measured by their weights."""
    return max(
        Fraction(used[rich] * weights[poor], weights[rich]) - used[poor]
        for rich, poor in itertools.permutations(weights, 2)
    )
