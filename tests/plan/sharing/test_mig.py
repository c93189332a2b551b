"""The MIG solver against a brute force that shares no code with it, and the numbers known from outside."""

from itertools import product as combinations
from itertools import repeat

import pytest

from gpuyard_core.catalogue.gpus import GPUS, MIG_PRODUCTS
from gpuyard_core.catalogue.mig import MigProduct, MigProfile
from gpuyard_core.catalogue.mig_layouts import (
    count_layouts,
    multisets,
    nearest_layout,
    place_profiles,
    placement_error,
)

A100 = MIG_PRODUCTS["A100-40"]
A30 = MIG_PRODUCTS["A30"]
RTX = MIG_PRODUCTS["RTX6000"]
BY_FAMILY = {"F8": A100, "F4": A30, "F12": RTX}
DOUBLE = {
    n: next(p.name for p in m.profiles if (p.slices, p.units) == (1, 2))
    for n, m in MIG_PRODUCTS.items()
    if m.family == "F8"
}


def brute_force(product, profiles):
    """Every legal placed layout: each profile's starts in or out, then all rules at once."""
    spots = [(p, s) for p in profiles for s in p.starts]
    found = []
    states = [((), frozenset())]
    for profile, start in spots:
        units = frozenset(range(start, start + profile.units))
        states += [
            ((*chosen, (profile, start)), used | units)
            for chosen, used in states
            if not units & used
        ]
    for chosen, _ in states:
        names = [p.name for p, _ in chosen]
        if (
            chosen
            and sum(p.slices for p, _ in chosen) <= product.slices
            and all(names.count(p.name) <= p.max_count for p, _ in chosen)
            and sum(p.media_exclusive for p, _ in chosen) <= 1
        ):
            found.append(frozenset((p.name, s) for p, s in chosen))
    return found


def base(product, without=()):
    return [p for p in product.profiles if not p.variant and p.name not in without]


def as_counts(layouts):
    return {
        tuple(sorted((n, [m for m, _ in x].count(n)) for n in {m for m, _ in x})) for x in layouts
    }


def numbers(product, profiles):
    layouts = brute_force(product, profiles)
    sets = as_counts(layouts)
    legal = set(layouts)
    spots = [(p.name, s) for p in profiles for s in p.starts]

    def grows(multiset):
        return any(
            tuple(sorted({**dict(multiset), p.name: dict(multiset).get(p.name, 0) + 1}.items()))
            in sets
            for p in profiles
        )

    return (
        len(layouts),
        len(sets),
        sum(not grows(m) for m in sets),
        sum(not any(x | {spot} in legal for spot in spots if spot not in x) for x in layouts),
    )


def ours(product, **options):
    found = count_layouts(product, **options)
    return (found.placements, found.multisets, found.maximal_multisets, found.maximal_placements)


@pytest.mark.repeats("the others of this file")
@pytest.mark.parametrize("product", MIG_PRODUCTS.values(), ids=list(MIG_PRODUCTS))
def test_the_counts_are_those_of_a_brute_force(product):
    assert ours(product) == numbers(product, base(product))


@pytest.mark.repeats("the others of this file")
@pytest.mark.parametrize("product", [A100, A30], ids=["F8", "F4"])
def test_the_counts_with_media_variants_are_those_of_a_brute_force(product):
    assert ours(product, variants=True) == numbers(product, product.profiles)


@pytest.mark.repeats("the others of this file")
@pytest.mark.parametrize("name", DOUBLE)
def test_eight_unit_gpus_without_the_double_memory_slice_have_the_known_numbers(name):
    product = MIG_PRODUCTS[name]
    assert ours(product, without=frozenset({DOUBLE[name]})) == (297, 37, 12, 19)


@pytest.mark.repeats("the others of this file")
@pytest.mark.parametrize("name", DOUBLE)
def test_eight_unit_gpus_have_the_known_numbers(name):
    assert ours(MIG_PRODUCTS[name]) == (722, 77, 28, 78)


@pytest.mark.parametrize("product", [A30, RTX], ids=["F4", "F12"])
def test_four_slice_gpus_have_the_known_numbers(product):
    assert ours(product) == (25, 9, 4, 5)


@pytest.mark.parametrize("product", BY_FAMILY.values(), ids=list(BY_FAMILY))
def test_every_combination_of_counts_is_judged_as_by_brute_force(product):
    profiles = base(product)
    legal = as_counts(brute_force(product, profiles))
    for counts in combinations(*(range(p.max_count + 2) for p in profiles)):
        wanted = {p.name: n for p, n in zip(profiles, counts, strict=True) if n}
        fits = not wanted or tuple(sorted(wanted.items())) in legal
        assert (place_profiles(product, wanted) is not None) == fits, wanted
        assert (placement_error(product, wanted) == "") == fits, wanted


@pytest.mark.parametrize("product", MIG_PRODUCTS.values(), ids=list(MIG_PRODUCTS))
def test_every_layout_is_placed_where_its_slices_may_sit_without_overlap(product):
    for counts in multisets(product):
        placed = place_profiles(product, counts)
        units = [u for s in placed for u in range(s.start, s.start + s.units)]
        assert len(set(units)) == len(units)
        assert [s.start for s in placed] == sorted(s.start for s in placed)
        assert {s.profile: 0 for s in placed}.keys() == counts.keys()
        for piece in placed:
            profile = product.profile(piece.profile)
            assert piece.start in profile.starts
            assert piece.units == profile.units
        assert all(sum(s.profile == n for s in placed) == c for n, c in counts.items())


@pytest.mark.parametrize(
    ("counts", "fits"),
    [
        ({"1g.10gb": 4, "1g.5gb": 3}, False),
        ({"3g.20gb": 1, "4g.20gb": 1}, True),
        ({"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, True),
        ({"2g.10gb": 3, "1g.5gb": 1}, True),
        ({"3g.20gb": 1, "1g.5gb": 4}, True),
        ({"3g.20gb": 2, "1g.5gb": 1}, False),
        ({"4g.20gb": 1, "1g.10gb": 2}, True),
        ({"1g.10gb": 3, "1g.5gb": 2}, True),
        ({"7g.40gb": 1}, True),
        ({"1g.5gb": 7}, True),
        ({"1g.5gb": 6, "1g.5gb+me": 1}, True),
        ({"1g.5gb": 7, "1g.5gb+me": 1}, False),
        ({}, True),
    ],
)
def test_layouts_whose_answer_is_known(counts, fits):
    assert (place_profiles(A100, counts) is not None) == fits


def test_a_wide_slice_leaves_the_left_half_to_the_widest():
    assert [(s.profile, s.start) for s in place_profiles(A100, {"3g.20gb": 1, "4g.20gb": 1})] == [
        ("4g.20gb", 0),
        ("3g.20gb", 4),
    ]


@pytest.mark.parametrize(
    ("product", "counts", "reason"),
    [
        (A100, {"2g.11gb": 1, "x": 2}, "A100-40 has no MIG profile 2g.11gb, x"),
        (A100, {"3g.20gb": 3}, "at most 2 × 3g.20gb fit on one A100-40"),
        (A100, {"1g.5gb": 4, "2g.10gb": 1, "3g.20gb": 1}, "9 compute slices of 7"),
        (
            A100,
            {"1g.10gb": 4, "1g.5gb": 3},
            "11 memory units of 8 (the compute slices, 7 of 7, would fit)",
        ),
        (
            RTX,
            {"1g.24gb+me": 1, "1g.24gb+me.all": 1},
            "two slices each need all media engines",
        ),
        (A100, {"1g.5gb": 1}, ""),
    ],
)
def test_the_reason_names_the_rule_that_is_broken_and_its_numbers(product, counts, reason):
    assert placement_error(product, counts) == reason


def test_the_reason_names_the_places_when_the_numbers_alone_would_fit():
    profiles = (MigProfile("1g.1gb", 1, 1, (0,), 2), MigProfile("2g.2gb", 2, 2, (0, 1), 1))
    odd = MigProduct("odd", "F3", 3, 3, profiles, A100.source)
    assert place_profiles(odd, {"2g.2gb": 1, "1g.1gb": 1}) is not None
    media = MigProfile("1g.1gb+me", 1, 1, (0,), 1, media_exclusive=True, variant=True)
    both = MigProduct("odd", "F3", 3, 3, (profiles[0], media), A100.source)
    assert placement_error(both, {"1g.1gb": 1, "1g.1gb+me": 1}) == (
        "the slices fit in number, but have no valid placement: 1g.1gb only at 0; 1g.1gb+me only at 0"
    )
    assert placement_error(odd, {"1g.1gb": 2}) == (
        "the slices fit in number, but have no valid placement: 1g.1gb only at 0"
    )
    three = MigProduct(
        "odd", "F3", 3, 3, (profiles[0], MigProfile("2g.2gb", 2, 2, (0,), 1)), A100.source
    )
    assert placement_error(three, {"2g.2gb": 1, "1g.1gb": 1}) == (
        "the slices fit in number, but have no valid placement: 2g.2gb only at 0; 1g.1gb only at 0"
    )


def test_a_maximum_below_what_fits_is_kept():
    few = MigProfile("1g.1gb", 1, 1, (0, 1, 2), 2)
    odd = MigProduct("odd", "F3", 3, 3, (few,), A100.source)
    assert ours(odd) == numbers(odd, odd.profiles) == (6, 2, 1, 3)


@pytest.mark.parametrize(
    ("gpu", "counts"),
    [
        ("A100-40", {"1g.5gb": 4, "2g.10gb": 1, "3g.20gb": 1}),
        ("A100-80", {"1g.10gb": 3, "2g.20gb": 1, "3g.40gb": 1}),
        ("B200", {"2g.40gb": 2, "1g.23gb": 1}),
    ],
)
def test_layouts_that_were_published_and_never_fit_are_refused(gpu, counts):
    product = MIG_PRODUCTS[gpu]
    assert place_profiles(product, counts) is None
    assert placement_error(product, counts)
    assert place_profiles(product, nearest_layout(product, counts)) is not None


def changed(a, b):
    return sum(abs(a.get(n, 0) - b.get(n, 0)) for n in {*a, *b})


@pytest.mark.parametrize("product", BY_FAMILY.values(), ids=list(BY_FAMILY))
def test_the_nearest_layout_is_legal_and_none_is_nearer(product):
    profiles = base(product)
    legal = [dict(m) for m in as_counts(brute_force(product, profiles))]
    asked = [
        {p.name: n for p, n in zip(profiles, counts, strict=True) if n}
        for counts in combinations(*repeat(range(4), len(profiles)))
    ]
    impossible = [a for a in asked if a and a not in legal][:: 37 if product is A100 else 3]
    assert len(impossible) > 5
    for wanted in impossible:
        near = nearest_layout(product, wanted)
        assert near in legal
        assert changed(near, wanted) == min(changed(option, wanted) for option in legal)


def test_among_equally_near_layouts_the_one_that_uses_most_memory_is_chosen():
    assert nearest_layout(A100, {"3g.20gb": 3}) == {"3g.20gb": 2}
    assert nearest_layout(A100, {"4g.20gb": 2}) == {"4g.20gb": 1}
    assert nearest_layout(A100, {"9g.99gb": 1}) == {"7g.40gb": 1}
    for written in ("mig-1g.5gb", "nvidia.com/mig-1g.5gb", "1G.5GB", "1g.10gb.x", "mig-1g.10gbx"):
        assert nearest_layout(A100, {written: 7}) == {"1g.5gb": 7}
    assert nearest_layout(A100, {"1g.5gb": 5, "3g.20gb": 1}) == {"1g.5gb": 4, "3g.20gb": 1}
    assert nearest_layout(A100, {"1g.5gb": 6, "2g.10gb": 1}) == {"1g.5gb": 5, "2g.10gb": 1}
    # equally near: more memory used
    assert nearest_layout(A30, {"9g.99gb": 1}) == {"4g.24gb": 1}


def test_a_variant_is_offered_only_to_whoever_asked_for_one():
    assert nearest_layout(A100, {"1g.5gb+me": 2}) == {"1g.5gb+me": 1}
    assert not any("+" in n for m in multisets(A100) for n in m)


H100 = GPUS["H100"].mig


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ({"1g.5gb": 7}, {"1g.10gb": 7}),
        ({"1g.5gb": 8}, {"1g.10gb": 7}),
        ({"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),
        ({"1g.5gb": 3, "1g.10gb": 4}, {"1g.10gb": 7}),
        ({"7g.40gb": 1}, {"7g.80gb": 1}),
    ],
)
def test_slices_of_another_gpu_keep_their_number_before_their_size(wanted, meant):
    assert nearest_layout(H100, wanted) == meant


def test_the_nearest_layout_does_not_depend_on_the_order_of_the_words():
    wanted = {"1g.5gb": 4, "2g.10gb": 1, "3g.20gb": 1}
    backwards = dict(reversed(wanted.items()))
    assert list(nearest_layout(A100, wanted).items()) == list(
        nearest_layout(A100, backwards).items()
    )


def test_equal_products_are_solved_once():
    assert multisets(A100) is multisets(A100)
