"""GPUs for a demand of slices: the least number, proved, and compared with a search that knows no solver."""

import random
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_advisor.advice.packing.slices import (
    full_layouts,
    pack_slices,
    single_profile_gpus,
    slice_for,
    whole_memory_gib,
)
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.mig_layouts import count_layouts, place_profiles
from kit.searches import examples
from kit.traces import openb_fractions

A100, A30, RTX = (MIG_PRODUCTS[name] for name in ("A100-40", "A30", "RTX6000"))
BASE = {
    product.gpu: [p.name for p in product.profiles if not p.variant]
    for product in MIG_PRODUCTS.values()
}


def test_gpus_of_one_profile_each_are_as_many_as_the_slices_need():
    assert single_profile_gpus(A100, {"1g.5gb": 8, "3g.20gb": 1}) == 3


def covers(packing):
    """The cuts are legal and have every slice of the demand that was not left out."""
    made = Counter()
    for cut in packing.partitions:
        assert place_profiles(packing.product, cut.layout) is not None
        made.update({name: count * cut.gpus for name, count in cut.layout.items()})
    wanted = Counter(packing.demand) - Counter(packing.unplaced)
    assert made - wanted == Counter(packing.spare)
    return not wanted - made


def least_by_search(product, demand):
    """The fewest GPUs by trying every way to place one slice after the other; for a handful of slices."""
    wanted = tuple(Counter(demand).elements())

    @cache
    def least(index, gpus):
        if index == len(wanted):
            return len(gpus)
        found = []
        for here, gpu in enumerate((*gpus, ())):
            grown = tuple(sorted((*gpu, wanted[index])))
            if place_profiles(product, Counter(grown)) is not None:
                rest = [g for n, g in enumerate(gpus) if n != here]
                found.append(least(index + 1, tuple(sorted([*rest, grown]))))
        return min(found)

    return least(0, ())


@pytest.mark.repeats("tests/plan/sharing/test_mig.py")
@pytest.mark.parametrize("product", MIG_PRODUCTS.values(), ids=lambda p: p.gpu)
def test_full_layouts_are_those_that_no_slice_can_be_added_to(product):
    layouts = full_layouts(product)
    assert len(layouts) == count_layouts(product).maximal_multisets
    assert all(place_profiles(product, layout) is not None for layout in layouts)
    assert list(layouts[0]) == BASE[product.gpu][-1:]


@pytest.mark.parametrize(
    ("product", "demand", "gpus"),
    [
        (A100, {"1g.5gb": 20, "3g.20gb": 4}, 5),
        (A100, {"1g.5gb": 7}, 1),
        (A100, {"1g.5gb": 8}, 2),
        (A100, {"3g.20gb": 3, "1g.5gb": 4}, 2),
        (A100, {"4g.20gb": 3, "3g.20gb": 3}, 3),
        (A100, {"1g.10gb": 4, "1g.5gb": 3}, 2),
        (A100, {"7g.40gb": 2, "1g.5gb": 0}, 2),
        (A30, {"1g.6gb": 3, "2g.12gb": 2}, 2),
        (RTX, {"1g.24gb": 5, "2g.48gb": 1}, 2),
        (A100, {}, 0),
    ],
)
def test_the_least_number_of_gpus_is_found_and_proved(product, demand, gpus):
    packing = pack_slices(product, demand)
    assert (packing.minimum_gpus, packing.bound, packing.gap, packing.gpus) == (gpus, gpus, 0, gpus)
    assert covers(packing)
    assert packing.unplaced == {}


@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_no_search_finds_fewer(data):
    product = data.draw(st.sampled_from([A100, A30, RTX]))
    names = st.sampled_from(BASE[product.gpu])
    demand = Counter(data.draw(st.lists(names, min_size=1, max_size=6)))
    packing = pack_slices(product, demand)
    assert covers(packing)
    assert packing.minimum_gpus == packing.bound == least_by_search(product, demand)


@settings(max_examples=examples(15), deadline=None)
@given(st.data())
def test_on_fewer_gpus_no_choice_of_layouts_holds_more_compute(data):
    names = st.sampled_from(BASE["A100-40"])
    demand = Counter(data.draw(st.lists(names, min_size=2, max_size=12)))
    available = data.draw(st.integers(0, 2))
    packing = pack_slices(A100, demand, available)
    assert covers(packing)
    assert packing.gpus <= max(available, packing.minimum_gpus if not packing.unplaced else 0)
    size = {p.name: p.slices for p in A100.profiles}
    best = 0
    for layouts in combinations_with_replacement(full_layouts(A100), min(available, 2)):
        made = sum((Counter(layout) for layout in layouts), Counter())
        best = max(best, sum(size[name] * count for name, count in (made & demand).items()))
    held = sum(size[n] * c for n, c in (demand - Counter(packing.unplaced)).items())
    assert held == best


def test_enough_gpus_leave_nothing_out():
    demand = {"1g.5gb": 8}
    assert pack_slices(A100, demand, 2) == pack_slices(A100, demand, 9) == pack_slices(A100, demand)


def test_how_a_demand_is_written_down_changes_nothing():
    rng = random.Random(5)  # noqa: S311  the same every time is the point
    demand = {name: rng.randrange(1, 40) for name in BASE["A100-40"]}
    backwards = dict(reversed(demand.items()))
    assert pack_slices(A100, demand) == pack_slices(A100, backwards)
    assert [pack_slices(A100, demand) for _ in range(3)] == [pack_slices(A100, demand)] * 3


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ({"9g.5gb": 1}, "A100-40 has no profile 9g.5gb; allowed: 1g.5gb, 1g.10gb, 2g.10gb, "),
        ({"1g.5gb+me": 1}, r"A100-40 has no profile 1g.5gb\+me; allowed: "),
        ({"1g.5gb": -1}, "negative number of slices: 1g.5gb"),
    ],
)
def test_a_demand_that_cannot_be_is_refused(demand, message):
    with pytest.raises(ValueError, match=message):
        pack_slices(A100, demand)


@pytest.mark.parametrize(
    ("gpu", "need", "profile"),
    [
        ("A100-40", {}, "1g.5gb"),
        ("A100-40", {"memory_gib": 5}, "1g.5gb"),
        ("A100-40", {"memory_gib": 6}, "1g.10gb"),
        ("A100-40", {"memory_gib": 11}, "3g.20gb"),
        ("A100-40", {"memory_gib": 20, "compute": Fraction(4, 7)}, "4g.20gb"),
        ("A100-40", {"memory_gib": 21}, "7g.40gb"),
        ("A100-40", {"memory_gib": 41}, None),
        ("A100-40", {"compute": Fraction(1, 7)}, "1g.5gb"),
        ("A100-40", {"compute": Fraction(15, 100)}, "2g.10gb"),
        ("A100-40", {"compute": Fraction(5, 7)}, "7g.40gb"),
        ("A100-40", {"compute": Fraction(1, 7), "memory_gib": 10}, "1g.10gb"),
        ("A30", {"compute": Fraction(1, 3)}, "2g.12gb"),
        ("RTX6000", {"memory_gib": 25}, "2g.48gb"),
    ],
)
def test_a_request_is_given_the_smallest_slice_that_has_it(gpu, need, profile):
    found = slice_for(MIG_PRODUCTS[gpu], **{name: Fraction(value) for name, value in need.items()})
    assert (found and found.name) == profile


def test_the_memory_of_a_gpu_is_that_of_its_widest_slice():
    assert {name: whole_memory_gib(p) for name, p in MIG_PRODUCTS.items()} == {
        "A100-40": 40, "A100-80": 80, "H100": 80, "H100-94": 94, "H100-96": 96, "H200": 141,
        "GH200-144": 144, "B200": 180, "GB200": 186, "B300": 269, "GB300": 278, "A30": 24,
        "RTX4500": 32, "RTX5000-48": 48, "RTX6000": 96,
    }  # fmt: skip


# ── the public trace ──────────────────────────────────────────────────────────────────────────────
def openb_slices():
    demand = Counter()
    for part, pods in openb_fractions().items():
        profile = slice_for(A100, compute=part)
        assert profile is not None
        demand[profile.name] += pods
    return demand


def test_the_fractional_pods_of_the_public_trace_need_2377_gpus_and_no_fewer():
    demand = openb_slices()
    assert demand == {
        "1g.5gb": 32, "2g.10gb": 280, "3g.20gb": 389, "4g.20gb": 971, "7g.40gb": 1406,
    }  # fmt: skip
    packing = pack_slices(A100, demand)
    assert (packing.minimum_gpus, packing.bound) == (2377, 2377)
    assert covers(packing)
    # a bound that needs no solver: a GPU holds one slice of 4g or 7g, and there are as many
    assert demand["4g.20gb"] + demand["7g.40gb"] == 2377
    assert single_profile_gpus(A100, demand) == 2671


def seconds(demand):
    """Of the processor: a machine with other work to do is no slower by it."""
    started = process_time()
    packing = pack_slices(A100, demand)
    assert packing.gap == 0
    return process_time() - started


@pytest.mark.parametrize("seed", range(3))
def test_thirty_thousand_requests_are_packed_in_a_tenth_of_a_second(seed):
    rng = random.Random(seed)  # noqa: S311
    weights = [rng.random() for _ in BASE["A100-40"]]
    demand = Counter(rng.choices(BASE["A100-40"], weights, k=30_000))
    pack_slices(A100, {"1g.5gb": 1})  # the solver is loaded once
    took = min(seconds(demand) for _ in range(5))
    print(f"30,000 requests, seed {seed}: {took * 1000:.0f} ms")  # noqa: T201
    assert took <= 0.1, f"{took:.3f} s at best of five"
