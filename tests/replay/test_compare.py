"""How far two orders are apart."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.orders import compare_orders


def test_the_same_order_and_the_reverse():
    same = compare_orders("abcd", "abcd", far=0)
    assert (same.job_count, same.wrong_pairs, same.moved, same.max_distance) == (4, 0, 0, 0)
    back = compare_orders("abcd", "dcba", far=1)
    assert (back.wrong_pairs, back.moved, back.max_distance, back.moved_threshold) == (1, 0.5, 3, 1)


def test_nothing_to_compare_agrees():
    assert compare_orders("", "", far=0).moved == 0
    assert compare_orders("a", "a", far=0).wrong_pairs == 0


@pytest.mark.parametrize(("foreseen", "seen"), [("ab", "ac"), ("ab", "abc"), ("aab", "ab")])
def test_orders_of_different_jobs_are_refused(foreseen: str, seen: str):
    with pytest.raises(ValueError, match="not of the same jobs"):
        compare_orders(foreseen, seen, far=0)


@given(st.permutations(range(9)))
def test_pairs_are_counted_one_by_one(order: list[int]):
    names = [str(n) for n in order]
    found = compare_orders([str(n) for n in range(9)], names, far=2)
    wrong = sum(a > b for a, b in itertools.combinations(order, 2))
    assert found.wrong_pairs == pytest.approx(wrong / 36)
    assert found.moved == sum(abs(place - n) > 2 for place, n in enumerate(order)) / 9
