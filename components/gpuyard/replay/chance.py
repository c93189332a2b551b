"""Random numbers of a replay: a seed gives the same ones on every machine and Python."""

import math

_MASK = (1 << 64) - 1


class Chance:
    """SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014)."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        """Start at a seed."""
        self._state = seed & _MASK

    def uniform(self) -> float:
        """A number from 0 to below 1."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((mixed ^ (mixed >> 31)) >> 11) / (1 << 53)

    def exponential(self, rate: float) -> float:
        """The time until an event that happens at this rate."""
        return -math.log(1 - self.uniform()) / rate
