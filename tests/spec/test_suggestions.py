"""Suggestions: all names are compared if they are few, only neighbours if they are many."""

import random

import pytest

from gpuyard_core.suggestions import _MANY, format_options, nearest_name, suggested_names
from kit.every import every

MANY = [f"pool-{i}" for i in range(1000)]


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("garantee", ["guarantee", "borrow"], "guarantee"),
        ("SERVE", ["serve"], "serve"),
        ("serve", ["Serve"], "Serve"),
        ("h100nvl", ["h100", "h1"], "h100"),
        ("h1xyzw", ["h1"], None),
        ("xyz", ["serve"], None),
        ("", ["serve"], None),
        ("serve", [], None),
        ("a" * 10_000, ["a" * 100], "a" * 100),
    ],
)
def test_among_few_every_word_is_compared(word, known, meant):
    assert nearest_name(word, iter(known)) == meant


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("a100", ("A100-40", "A100-80")),
        ("A100-4", ("A100-40",)),
        ("A10", ("A10",)),
        ("", ()),
        ("xyz", ()),
    ],
)
def test_a_family_is_meant_by_its_name(word, meant):
    assert suggested_names(word, ["A10", "A100-40", "A100-80", "L4"]) == meant


def test_words_to_choose_from_are_a_list_with_an_or():
    assert format_options(["a"]) == "a"
    assert format_options(["a", "b", "c"]) == "a, b or c"


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("pol-777", "pool-777"),
        ("pool777", "pool-777"),
        ("ppool-777", "pool-777"),
        ("POOL-777", "pool-777"),
        ("opol-777", "pool-777"),
        ("train", None),
        ("", None),
        ("pool-777-b200", "pool-777"),
    ],
)
def test_among_many_a_slip_leaves_the_beginning_or_the_end(word, meant):
    assert nearest_name(word, MANY) == meant


@pytest.mark.repeats("the others of this file")
@every("seed", range(20))
def test_a_single_slip_finds_a_word_that_is_as_near_as_any_other(seed):
    rng = random.Random(seed)  # noqa: S311  no secret is made of it
    letters = "abcdefgh-0123456789"
    known = sorted({"".join(rng.choices(letters, k=rng.randint(8, 14))) for _ in range(3 * _MANY)})
    for meant in rng.sample(known, 30):
        at = rng.randrange(len(meant))
        gone, doubled = meant[:at] + meant[at + 1 :], meant[:at] + meant[at] + meant[at:]
        other = meant[:at] + rng.choice(letters) + meant[at + 1 :]
        for word in (gone, doubled, other):
            assert nearest_name(word, known) == meant
