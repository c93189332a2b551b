"""Three teams with nothing guaranteed and a backlog each: the model's forecast and Kueue's decisions."""

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

NODES = 6
GPUS = 8 * NODES
SIZES = (8, 3, 5, 3, 3, 3) * 4
"""A team's backlog. It never empties: its small jobs alone would fill all GPUs."""
SMALLEST, LARGEST = min(SIZES), max(SIZES)
WEIGHTS = {"alike": {"a": 1, "b": 1, "c": 1}, "apart": {"a": 1, "b": 2, "c": 3}}

HELD = (("a", 8), ("b", 8), ("b", 8), ("c", 8), *[("c", 3)] * 4, ("b", 3))
"""The first jobs and their GPUs. Of b's jobs, Kueue would evict the newest."""
LARGE = (("c", 5), ("c", 8), ("b", 8), ("a", 8))
"""The waiting jobs: none is small. c has less than its share, and b's last job would leave too little for c's."""


def teams(weights: Mapping[str, int]) -> dict[str, Any]:
    """The teams of a platform with these weights; each may have everything."""
    return {letter: {"borrow": GPUS, "weight": weight} for letter, weight in weights.items()}


def behind(used: Mapping[str, int], weights: Mapping[str, int]) -> Fraction:
    """The largest deficit of a team to another in GPUs, relative to their weights."""
    return max(
        Fraction(used[rich] * weights[poor], weights[rich]) - used[poor]
        for rich, poor in itertools.permutations(weights, 2)
    )
