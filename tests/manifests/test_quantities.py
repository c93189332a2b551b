"""Quantities are read as Kubernetes reads them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard_core.manifests.quantities import format_amount, format_quantity, quantity, whole_units
from kit.every import every


@every(
    ("text", "number"),
    [
        (8, 8), ("8", 8), ("8.", 8), (".5", Fraction(1, 2)), (0.5, Fraction(1, 2)), ("500m", Fraction(1, 2)),
        ("1500u", Fraction(15, 10000)), ("7n", Fraction(7, 10**9)), ("2k", 2000), ("1M", 10**6), ("1G", 10**9),
        ("1T", 10**12), ("1P", 10**15), ("1E", 10**18), ("1Ki", 1024), ("1.5Gi", 3 * 2**29), ("1Ei", 2**60),
        ("2e3", 2000), ("2E3", 2000), ("1e-3", Fraction(1, 1000)), ("+3", 3), ("-3", -3),
    ],
)  # fmt: skip
def test_a_quantity_is_a_number(text, number):
    assert quantity(text) == number


@pytest.mark.parametrize(
    "text", ["", "eight", "8 ", " 8", "8GB", "8gi", "1e3k", "--1", "1_000", ".", "٨", None, True, [8], float("nan"), float("inf"), "9" * 40],  # noqa: E501
)  # fmt: skip
def test_anything_else_is_none(text):
    assert quantity(text) is None


@pytest.mark.parametrize(
    ("resource", "text", "units"),
    [("cpu", "1.5", 1500), ("cpu", "1u", 1), ("memory", "1500m", 2), ("nvidia.com/gpu", "8", 8)],
)
def test_units_are_rounded_up(resource, text, units):
    assert whole_units(resource, quantity(text)) == units


@pytest.mark.parametrize(
    ("resource", "amount", "shown", "in_manifest"),
    [
        ("cpu", 1500, "1.5 CPUs", "1500m"),
        ("cpu", 4000, "4 CPUs", "4"),
        ("cpu", 1_234_567_000, "1234567 CPUs", "1234567"),
        ("memory", 64 * 2**30, "64 GiB", "64Gi"),
        ("memory", 13_300 * 2**30, "13300 GiB", "13300Gi"),
        ("nvidia.com/gpu", 1024, "1,024 nvidia.com/gpu", 1024),
    ],
)
def test_amounts_are_shown_and_written(resource, amount, shown, in_manifest):
    assert format_amount(resource, amount) == shown
    assert format_quantity(resource, amount) == in_manifest


@given(st.text(max_size=12) | st.integers() | st.floats())
def test_reading_never_fails(value):
    found = quantity(value)
    assert found is None or isinstance(found, Fraction)
