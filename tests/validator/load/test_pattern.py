"""Products that are known beforehand: exact, and different wherever one element is."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_validator.load.pattern import (
    VALUES,
    Matrix,
    forward,
    input_gradient,
    matrices,
    vector,
    weight_gradient,
)
from kit.searches import examples

SIDE = 24


def whole(matrix):
    return [[a * b for b in matrix.row] for a in matrix.column]


def times(left, right):
    return [
        [sum(a * b for a, b in zip(row, col, strict=True)) for col in zip(*right, strict=True)]
        for row in left
    ]


def turned(matrix):
    return [list(row) for row in zip(*matrix, strict=True)]


def floats(rows):
    return b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)


def test_the_three_products_of_a_step_are_what_arithmetic_says():
    x, w, g = matrices(SIDE)
    assert forward(x, w).count_wrong_elements(floats(times(whole(x), whole(w)))) == 0
    assert input_gradient(g, w).count_wrong_elements(floats(times(whole(g), turned(whole(w))))) == 0
    assert (
        weight_gradient(x, g).count_wrong_elements(floats(times(turned(whole(x)), whole(g)))) == 0
    )


def test_none_of_them_is_nothing():
    """A product of zeros would be right on a GPU that does nothing."""
    for side in (16, 24, 32, 8192):
        x, w, g = matrices(side)
        for product in (forward(x, w), input_gradient(g, w), weight_gradient(x, g)):
            assert product.scale, side


def test_every_sum_is_exact_in_float32():
    """Whatever the order: steps of a sixteenth, below 2^17 in sum, are 21 bits of 24."""
    most = max(map(abs, VALUES)) ** 4 * 8192
    assert most / (min(map(abs, VALUES)) ** 4) <= 2**24 * 2
    for side in (8192,):
        for each in matrices(side):
            assert set(each.column) | set(each.row) == set(VALUES), "all of them are used"


@settings(max_examples=examples(60))
@given(st.integers(0, SIDE * SIDE - 1), st.integers(0, 31))
def test_one_bit_of_one_element_is_noticed(place, bit):
    x, w, _ = matrices(SIDE)
    raw = bytearray(floats(times(whole(x), whole(w))))
    raw[place * 4 + bit // 8] ^= 1 << bit % 8
    assert forward(x, w).count_wrong_elements(bytes(raw)) == 1


def test_numbers_are_packed_as_the_device_reads_them():
    made = Matrix((1.0, -1.5), (2.0, 0.5))
    assert struct.unpack("<4e", made.raw("fp16")) == (2.0, 0.5, -3.0, -0.75)
    halves = struct.unpack("<4H", made.raw("bf16"))
    assert [struct.unpack("<f", struct.pack("<I", h << 16))[0] for h in halves] == [
        2.0,
        0.5,
        -3.0,
        -0.75,
    ]


def test_a_vector_does_not_repeat_with_a_tile():
    long = vector(4096, 1)
    assert vector(4096, 1) == long != vector(4096, 2)
    for step in (8, 16, 32, 64, 128, 256):
        assert long[:step] != long[step : 2 * step]
