"""Matrices whose products are known in advance, bit by bit, in any order of summation.

Each is a column times a row of small multiples of one half. So every element is exact in bf16, every partial
sum of a product is exact in float32, and each row of a result is one of eight. Comparing bytes finds any
wrong result.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

VALUES = (1.0, -1.5, 0.5, 2.0, -1.0, 1.5, -2.0, -0.5)
"""Products over a side of 8192 stay below 2^17 in steps of 2^-4: 21 of float32's 24 bits."""
FLOAT = 4
HALF = 2
_SEED, _TIMES, _PLUS = 12345, 1103515245, 12345
"""The generator of ISO C's example for rand()."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A column times a row."""

    column: tuple[float, ...]
    row: tuple[float, ...]

    def raw(self, numbers: str) -> bytes:
        """The matrix, row-major, as bf16 or fp16."""
        rows = {each: _packed([each * other for other in self.row], numbers) for each in VALUES}
        return b"".join(rows[each] for each in self.column)


def vector(length: int, number: int) -> tuple[float, ...]:
    """Values in a fixed order whose period matches no GPU tile."""
    result, state = [], _SEED + number
    for _ in range(length):
        state = (state * _TIMES + _PLUS) % (1 << 31)
        result.append(VALUES[state >> 16 & 7])
    return tuple(result)


def matrices(side: int) -> tuple[Matrix, Matrix, Matrix]:
    """Inputs, weights and gradients of one step."""
    result = [Matrix(vector(side, 2 * n), vector(side, 2 * n + 1)) for n in range(3)]
    return result[0], result[1], result[2]


@dataclass(frozen=True, slots=True)
class Product:
    """The expected product: a number times a column times a row."""

    scale: float
    column: tuple[float, ...]
    row: tuple[float, ...]

    def count_wrong_elements(self, raw: bytes | memoryview) -> int:
        """The number of wrong elements, row-major as float32."""
        rows = {
            each: struct.pack(
                f"<{len(self.row)}f", *(self.scale * each * other for other in self.row)
            )
            for each in VALUES
        }
        width = len(self.row) * FLOAT
        result = 0
        for number, value in enumerate(self.column):
            got = bytes(raw[number * width : (number + 1) * width])
            if got != rows[value]:
                result += _differing(got, rows[value])
        return result


def forward(inputs: Matrix, weights: Matrix) -> Product:
    """Inputs times weights."""
    return Product(_dot(inputs.row, weights.column), inputs.column, weights.row)


def input_gradient(gradients: Matrix, weights: Matrix) -> Product:
    """Gradients times transposed weights."""
    return Product(_dot(gradients.row, weights.row), gradients.column, weights.column)


def weight_gradient(inputs: Matrix, gradients: Matrix) -> Product:
    """Transposed inputs times gradients."""
    return Product(_dot(inputs.column, gradients.column), inputs.row, gradients.row)


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _packed(values: Sequence[float], numbers: str) -> bytes:
    if numbers == "fp16":
        return struct.pack(f"<{len(values)}e", *values)
    raw = struct.pack(f"<{len(values)}f", *values)
    # bf16 is the upper half of a float32.
    return b"".join(raw[at + HALF : at + FLOAT] for at in range(0, len(raw), FLOAT))


def _differing(one: bytes, other: bytes) -> int:
    places = range(0, len(other), FLOAT)
    return sum(one[at : at + FLOAT] != other[at : at + FLOAT] for at in places)
