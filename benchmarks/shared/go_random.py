"""Go's math/rand, so that a benchmark draws the numbers that a published Go program drew."""

from pathlib import Path

_LENGTH, _TAP, _INT32 = 607, 334, (1 << 31) - 1
_MASK = (1 << 64) - 1


def _seeds() -> list[int]:
    lines = Path(__file__).with_name("go_math_rand.csv").read_text(encoding="utf-8").splitlines()
    return [int(line) for line in lines[1:]]


def _step(value: int) -> int:
    high, low = divmod(value, 44488)
    value = 48271 * low - 3399 * high
    return value + _INT32 if value < 0 else value


class GoRandom:
    """The generator after `rand.Seed(seed)`."""

    def __init__(self, seed: int) -> None:
        """Fill the state as Go does."""
        value = seed % _INT32 or 89482311
        for _ in range(20):
            value = _step(value)
        self._state: list[int] = []
        for cooked in _seeds():
            bits = 0
            for shift in (40, 20, 0):
                value = _step(value)
                bits ^= value << shift
            self._state.append((bits ^ cooked) & _MASK)
        self._tap, self._feed = 0, _TAP

    def int63(self) -> int:
        """`rand.Int63()`."""
        self._tap = (self._tap - 1) % _LENGTH
        self._feed = (self._feed - 1) % _LENGTH
        drawn = (self._state[self._feed] + self._state[self._tap]) & _MASK
        self._state[self._feed] = drawn
        return drawn & (_MASK >> 1)

    def intn(self, below: int) -> int:
        """`rand.Intn(below)`, for less than 2**31."""
        drawn = self.int63() >> 32
        if below & (below - 1) == 0:
            return drawn & (below - 1)
        while drawn > _INT32 - (_INT32 + 1) % below:
            drawn = self.int63() >> 32
        return drawn % below

    def shuffle(self, values: list[object]) -> None:
        """`rand.Shuffle`."""
        for i in range(len(values) - 1, 0, -1):
            j = self._multiplied(i + 1)
            values[i], values[j] = values[j], values[i]

    def perm(self, count: int) -> list[int]:
        """`rand.Perm(count)`."""
        order = [0] * count
        for i in range(count):
            j = self.intn(i + 1)
            order[i] = order[j]
            order[j] = i
        return order

    def _multiplied(self, below: int) -> int:
        low_bits = (1 << 32) - 1
        product = (self.int63() >> 31) * below
        if product & low_bits < below:
            while product & low_bits < (1 << 32) % below:
                product = (self.int63() >> 31) * below
        return product >> 32
