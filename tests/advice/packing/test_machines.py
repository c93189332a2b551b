"""Machines for a demand of pods: the least money, proved, and compared with trying everything."""

from collections import Counter
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.plan.pools.machines import plan_allocatable
from gpuyard_advisor.advice.packing import machines as packing_machines
from gpuyard_advisor.advice.packing.machines import (
    MachinePacking,
    NoMachineFits,
    pack_machines,
    quick_machines,
)
from gpuyard_advisor.advice.packing.needs import (
    Demand,
    PricedMachine,
    candidate_machines,
    eighths,
    fits_demand,
    undominated,
)
from gpuyard_advisor.advice.packing.patterns import (
    empty_node,
    fill_node,
    improving_patterns,
    most_valuable_pattern,
)
from gpuyard_core.catalogue.gpus import GPUS
from gpuyard_core.catalogue.machines import Capacity, Machine, Price
from gpuyard_core.catalogue.mig_layouts import place_profiles
from gpuyard_core.catalogue.sources import Source
from kit.searches import examples
from kit.traces import openb_pods

MADE_UP = Source(
    "made up",
    date(2026, 11, 21),
    as_of=date(2026, 11, 21),
)


def machine(name, gpu, gpus, usd, **more):
    given = {
        "cloud": "aws", "vcpus": 8 * gpus, "memory_gib": 32 * gpus, "source": MADE_UP,
        "on_demand": None if usd is None else Price(usd, usd, MADE_UP),
        "sold": frozenset({Capacity.ON_DEMAND}),
    }  # fmt: skip
    return leaving(Machine(name=name, gpu=GPUS[gpu], gpus=gpus, **{**given, **more}))


def leaving(made):
    """A machine that leaves pods what it was said to have: its node's own agents have theirs beside it."""
    grown = made
    while plan_allocatable(grown).cpu < made.vcpus:
        grown = replace(grown, vcpus=grown.vcpus + 1)
    while plan_allocatable(grown).memory_gib < made.memory_gib:
        grown = replace(grown, memory_gib=grown.memory_gib + 1)
    return grown


def shop(*machines):
    return {m.name: m for m in machines}


SMALL = machine("small", "L4", 1, 1.0)
WIDE = machine("wide", "L4", 1, 1.5, vcpus=16, memory_gib=64)
PAIR = machine("pair", "L4", 2, 1.8)
QUARTER = machine("quarter", "L4", 1, 0.3, gpu_fraction=Fraction(1, 4), vcpus=2, memory_gib=8)
CUT = machine("cut", "A100-40", 1, 3.7)
CUTS = machine("cuts", "A100-40", 2, 7.0)
SHOP = shop(SMALL, WIDE, PAIR, QUARTER, CUT, CUTS)


def need(name="pod", pods=1, cpu=0, gib=0, **more):
    gpus = Fraction(more.pop("gpus", 1))
    return Demand(
        name=name, pods=pods, gpus=gpus, cpu_milli=cpu * 1000, memory_mib=gib * 1024, **more
    )


def cheapest(*needs, machines=SHOP):
    found = pack_machines(needs, "aws", machines=machines)
    assert isinstance(found, MachinePacking)
    assert held(found, needs)
    return found


def on_one(machine, pods):
    """All these pods on one node, GPU by GPU: nothing of the product's arithmetic."""
    left = plan_allocatable(machine)
    if sum(p.cpu_milli for p in pods) > left.cpu * 1000:
        return False
    if sum(p.memory_mib for p in pods) > left.memory_gib * 1024:
        return False
    if not all(fits_demand(machine, p) for p in pods):
        return False
    gpus = [p for p in pods if not p.slice and p.gpus >= 1]
    free = machine.gpus - sum(int(p.gpus) for p in gpus)
    rest = sorted((p for p in pods if p not in gpus), key=lambda p: (p.slice, -p.gpus))

    def seat(index, seats):
        if index == len(rest):
            return True
        for here, on in enumerate(seats):
            new = (*on, rest[index])
            slices, parts = [p.slice for p in new if p.slice], [p for p in new if not p.slice]
            if slices and (parts or not place_profiles(machine.gpu.mig, Counter(slices))):
                continue
            if sum(Fraction(eighths(p.gpus), 8) for p in parts) > machine.gpu_fraction:
                continue
            if seat(index + 1, [*seats[:here], new, *seats[here + 1 :]]):
                return True
        return False

    return free >= 0 and seat(0, [()] * free)


def held(packing, needs):
    """Enough room for every pod, and no node with more than fits."""
    room = Counter()
    types = {n.name: set() for n in needs}
    by_name = {n.name: n for n in needs}
    for one in packing.purchased:
        pods = [by_name[name] for name, count in one.pods_per_node.items() for _ in range(count)]
        assert on_one(one.priced.machine, pods)
        for name, count in one.pods_per_node.items():
            room[name] += count * one.nodes
            types[name].add(one.priced.machine.name)
    assert all(len(types[n.name]) == 1 for n in needs if n.colocated)
    return all(room[n.name] >= n.pods for n in needs)


def least_by_search(needs, machines):
    """The least money by trying every way to place one pod after the other; for a handful of pods."""
    pods = [n for n in needs for _ in range(n.pods)]

    @cache
    def least(index, nodes):
        if index == len(pods):
            return 0.0
        pod, found = pods[index], []
        of_job = {name for name, on in nodes if pod in on} if pod.colocated else set()
        for here, (name, on) in enumerate(nodes):
            alone = pod.colocated and pod in on
            if not alone and (not of_job or name in of_job):
                grown = (*on, pod)
                if on_one(machines[name], grown):
                    rest = [*nodes[:here], *nodes[here + 1 :], (name, grown)]
                    found.append(least(index + 1, tuple(sorted(rest, key=str))))
        for name, each in machines.items():
            if (not of_job or name in of_job) and on_one(each, (pod,)):
                more = tuple(sorted([*nodes, (name, (pod,))], key=str))
                found.append(each.on_demand.high + least(index + 1, more))
        return min(found, default=float("inf"))

    return least(0, ())


@pytest.mark.parametrize(
    ("needs", "usd", "machines"),
    [
        ([need(pods=1)], 1.0, {"small": 1}),
        ([need(pods=2)], 1.8, {"pair": 1}),
        ([need(pods=3)], 2.8, {"pair": 1, "small": 1}),
        ([need(pods=1, cpu=9)], 1.5, {"wide": 1}),
        ([need(pods=2, gib=33)], 3.0, {"wide": 2}),
        ([need("big", 1, cpu=12), need("little", 1, cpu=4)], 1.8, {"pair": 1}),
        ([need(gpus=Fraction(1, 5))], 0.3, {"quarter": 1}),
        ([need(pods=4, gpus=Fraction(1, 4))], 1.0, {"small": 1}),
        ([need(pods=3, gpus=Fraction(1, 4), cpu=3)], 1.5, {"wide": 1}),
        ([need(pods=2, gpus=Fraction(2, 3))], 1.8, {"pair": 1}),
        ([need(slice="3g.20gb", pods=2)], 3.7, {"cut": 1}),
        ([need(slice="3g.20gb", pods=3)], 7.0, {"cuts": 1}),
        ([need(slice="1g.5gb", pods=7), need("b", gpu="A100-40")], 7.0, {"cuts": 1}),
        (
            [need("a", slice="4g.20gb", pods=2), need("b", slice="3g.20gb", pods=2)],
            7.0,
            {"cuts": 1},
        ),
        ([need(gpu_memory_gib=40)], 3.7, {"cut": 1}),
        ([need(pods=2, colocated=True)], 2.0, {"small": 2}),
        ([need(pods=2, machines=frozenset({"wide"}))], 3.0, {"wide": 2}),
        ([need(pods=0), need("b", 1)], 1.0, {"small": 1}),
    ],
)
def test_the_cheapest_machines_are_found_and_proved(needs, usd, machines):
    found = cheapest(*needs)
    assert found.usd == pytest.approx(usd)
    assert (found.is_optimal, found.gap) == (True, 0.0)
    assert found.machines == machines
    assert found.bound == pytest.approx(usd)


def test_a_job_whose_pods_stay_together_is_on_one_machine_type():
    """Apart, the last pod would have gone to the cheaper half of a node that another pod needs anyway."""
    lone, job = need("lone", 1, cpu=9), need("job", 3, cpu=4)
    assert cheapest(lone, job).usd < cheapest(lone, replace(job, colocated=True)).usd


def test_a_colocated_demand_has_capacity_on_one_machine_type_only():
    half, pair = (
        need("half", gpus=Fraction(1, 2), cpu=2),
        need("eighth", gpus=Fraction(1, 8), gib=4),
    )
    found = cheapest(half, replace(pair, pods=2, colocated=True))
    holding = [p.priced.machine.name for p in found.purchased if "eighth" in p.pods_per_node]
    assert (holding, found.usd) == (["quarter"], pytest.approx(1.6))


@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_no_search_finds_cheaper(data):
    kinds = [
        need("whole"), need("pair", gpus=2), need("hungry", cpu=12, gib=20),
        need("half", gpus=Fraction(1, 2), cpu=2), need("eighth", gpus=Fraction(1, 8), gib=4),
        need("slice", slice="2g.10gb", cpu=3), need("third", slice="3g.20gb"),
        need("large", gpu_memory_gib=30),
    ]  # fmt: skip
    chosen = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3, unique=True))
    needs = [
        replace(n, pods=data.draw(st.integers(1, 2)), colocated=data.draw(st.booleans()))
        for n in chosen
    ]
    found = cheapest(*needs)
    assert found.is_optimal
    assert found.usd == pytest.approx(least_by_search(tuple(needs), SHOP))
    quick = quick_machines(needs, "aws", machines=SHOP)
    assert isinstance(quick, MachinePacking)
    assert held(quick, needs)
    assert quick.usd >= found.usd - 1e-9


def test_how_a_demand_is_written_down_changes_nothing():
    needs = [need("a", 5, cpu=3), need("b", 4, gpus=Fraction(1, 2)), need("c", 3, gib=20)]
    found = [pack_machines(order, "aws", machines=SHOP) for order in (needs, needs[::-1], needs)]
    assert found[0] == found[1] == found[2]


def test_where_there_is_too_much_to_list_the_answer_says_how_far_it_may_be(monkeypatch):
    needs = [
        need(f"p{i}", 7 + 3 * i, cpu=1 + i, gib=29 - 3 * i, gpus=Fraction(1, 2)) for i in range(7)
    ]
    whole = pack_machines(needs, "aws", machines=SHOP)
    assert isinstance(whole, MachinePacking)
    monkeypatch.setattr(packing_machines, "_MAX_BRANCHES", 3)
    found = pack_machines(needs, "aws", machines=SHOP)
    assert isinstance(found, MachinePacking)
    assert found.bound <= whole.usd + 1e-9 <= found.usd + 2e-9
    assert held(found, needs)
    assert not found.is_optimal
    assert 0 < found.gap < 0.1
    monkeypatch.setattr(packing_machines, "solve", stopped_when_whole)
    quick = pack_machines(needs, "aws", machines=SHOP)
    assert isinstance(quick, MachinePacking)
    assert quick.usd == pytest.approx(usd_of(quick_machines(needs, "aws", machines=SHOP)))


def stopped_when_whole(program):
    from gpuyard_advisor.advice.packing.solver import solve

    return None if program.whole else solve(program)


def usd_of(packing):
    assert isinstance(packing, MachinePacking)
    return packing.usd


# ── what may be chosen ────────────────────────────────────────────────────────────────────────────
def test_an_unknown_price_is_never_chosen_and_always_said():
    unknown = machine("unknown", "L4", 1, None)
    spotty = machine("spotty", "L4", 1, 0.1, sold=frozenset({Capacity.SPOT, Capacity.RESERVED}))
    arm = machine("arm", "L4", 1, 0.1, arch="arm64")
    far = machine("far", "L4", 1, 0.1, cloud="gcp")
    found = cheapest(need(gpu="L4"), machines=shop(SMALL, unknown, spotty, arm, far))
    assert found.machines == {"small": 1}
    assert {one.machine.name: one.why for one in found.excluded} == {
        "unknown": "on-demand price unknown as of 2026-11-21",
        "spotty": "not sold on-demand, only reserved, spot",
    }


def test_the_dearest_zone_is_what_a_machine_costs():
    ranged = replace(SMALL, on_demand=Price(0.5, 1.25, MADE_UP))
    assert cheapest(need(), machines=shop(ranged)).usd == 1.25


@pytest.mark.parametrize("choose", [pack_machines, quick_machines])
def test_what_nothing_on_offer_holds_is_named(choose):
    unknown = machine("unknown", "H100", 8, None)
    needs = [need("fits"), need("large", gpus=8)]
    found = choose(needs, "aws", machines=shop(SMALL, unknown))
    assert isinstance(found, NoMachineFits)
    assert [n.name for n in found.needs] == ["large"]
    assert [one.machine.name for one in found.excluded] == ["unknown"]


@pytest.mark.parametrize(
    ("gpus", "parts"),
    [("1/100", 1), ("1/8", 1), ("0.13", 2), ("1/4", 2), ("1/3", 4), ("1/2", 4), ("0.51", 8),
     ("1", 8), ("3/2", 16), ("8", 64)],
)  # fmt: skip
def test_gpus_are_counted_in_eighths(gpus, parts):
    assert eighths(Fraction(gpus)) == parts


CPU_ONLY = replace(SMALL, name="cpu", gpu=None, gpus=0)


@pytest.mark.parametrize(
    ("machine", "pod", "fits"),
    [
        (SMALL, need(), True),
        (CPU_ONLY, need(), False),
        (SMALL, need(arch="arm64"), False),
        (SMALL, need(gpu="A100-40"), False),
        (SMALL, need(gpu_memory_gib=25), False),
        (SMALL, need(gpus=2), False),
        (SMALL, need(slice="1g.5gb"), False),
        (CUT, need(slice="1g.5gb"), True),
        (CUT, need(slice="1g.5gb+me"), False),
        (CUT, need(slice="1g.10gb"), True),
        (CUT, need(slice="1g.18gb"), False),
        (replace(CUT, gpu_fraction=Fraction(1, 2)), need(slice="1g.5gb"), False),
        (QUARTER, need(gpus=Fraction(1, 4)), True),
        (QUARTER, need(gpus=Fraction(1, 2)), False),
        (SMALL, need(machines=frozenset({"pair"})), False),
        (SMALL, need(cpu=8, gib=32), True),
        (SMALL, need(cpu=SMALL.vcpus), False),
        (SMALL, need(gib=SMALL.memory_gib), False),
    ],
)
def test_a_machine_holds_a_pod_or_not(machine, pod, fits):
    assert fits_demand(machine, pod) is fits


def test_a_machine_that_another_replaces_is_not_looked_at():
    needs = (need(), need("slice", slice="1g.5gb"))
    same = machine("a-twin", "L4", 1, 1.0)
    dear = machine("dear", "L4", 1, 1.2)
    other = machine("other", "A100-80", 1, 9.9)
    priced, _ = candidate_machines(
        needs, "aws", Capacity.ON_DEMAND, shop(SMALL, same, dear, CUT, other)
    )
    kept = [p.machine.name for p in undominated(needs[:1], priced)]
    assert kept == ["a-twin"]
    both = [p.machine.name for p in undominated(needs, priced)]
    assert "dear" not in both
    assert "cut" in both


# ── what fits on one node ─────────────────────────────────────────────────────────────────────────
def node(machine, *needs):
    return empty_node(PricedMachine(machine, 1.0), needs)


def test_only_what_is_full_and_worth_something_is_a_pattern():
    two = node(machine("two", "L4", 2, 1.0), need("a", 4), need("b", 4, gpus=2))
    assert most_valuable_pattern(two, [0.0, 0.0]) == (0, 0)
    assert most_valuable_pattern(two, [1.0, 1.5]) == (2, 0)
    assert sorted(improving_patterns(two, [1.0, 1.5], -1.0, lambda: True)) == [(0, 1), (2, 0)]


def test_slices_take_whole_gpus_from_other_pods():
    both = node(CUTS, need("a", 9, slice="3g.20gb"), need("b", 9, gpu="A100-40"))
    assert both.most == (4, 2)
    assert [both.fits(p) for p in [(2, 1), (3, 1), (4, 0), (0, 2), (1, 2), (0, 3)]] == [
        True, False, True, True, False, False,
    ]  # fmt: skip
    same = node(CUT, need("a", 9, slice="3g.20gb"), need("b", 9, slice="3g.20gb"))
    assert same.fits((1, 1))
    assert not same.fits((2, 1))


def test_a_node_is_filled_in_order_and_never_beyond_what_is_left():
    one = node(PAIR, need("a", 9, gpus=Fraction(1, 2)), need("b", 9))
    assert fill_node(one, [0, 1], [9, 9]) == (4, 0)
    assert fill_node(one, [1, 0], [9, 1]) == (2, 1)
    assert fill_node(one, [0, 1], [1, 9]) == (1, 1)


@settings(max_examples=examples(25), deadline=None)
@given(st.data())
def test_listing_patterns_finds_what_trying_all_finds(data):
    kinds = (
        need("a", 3, gpu="A100-40", cpu=2), need("b", 2, slice="3g.20gb", cpu=1),
        need("c", 4, slice="1g.5gb", gib=3), need("d", 3, gpus=Fraction(1, 2), cpu=5, gib=9),
    )  # fmt: skip
    one = node(data.draw(st.sampled_from([CUT, CUTS])), *kinds)
    worth = [data.draw(st.floats(0, 2)) for _ in kinds]
    least = data.draw(st.floats(0, 4))
    ranges = [range(most + 1) for most in one.most]
    every = [
        (a, b, c, d)
        for a in ranges[0] for b in ranges[1] for c in ranges[2] for d in ranges[3]
        if one.fits((a, b, c, d))
    ]  # fmt: skip
    value = {p: sum(w * n for w, n in zip(worth, p, strict=True)) for p in every}
    full = {
        p
        for p in every
        if not any(
            p[i] < one.most[i] and (*p[:i], p[i] + 1, *p[i + 1 :]) in value for i in range(4)
        )
    }
    found = list(improving_patterns(one, worth, least, lambda: True))
    assert {p for p in full if value[p] > least + 1e-9} <= set(found) <= full
    assert len(found) == len(set(found))
    best = most_valuable_pattern(one, worth)
    assert one.fits(best)
    reached = sum(w * n for w, n in zip(worth, best, strict=True))
    assert reached == pytest.approx(max(value.values()), abs=1e-5)
    assert list(improving_patterns(one, worth, least, lambda: False)) == []


# ── quick choices, and the public trace ───────────────────────────────────────────────────────────
def test_the_quick_choice_by_score_takes_the_machine_that_ranks_first():
    found = quick_machines([need(pods=3)], "aws", by_score=True, machines=SHOP)
    assert isinstance(found, MachinePacking)
    assert found.machines == {"pair": 2}  # 26.7 GiB of GPU memory for a dollar; small has 24
    assert (found.bound, found.is_optimal, found.gap) == (0.0, False, 1.0)
    assert held(found, [need(pods=3)])


def openb_needs():
    """The trace's pods with CPU and memory up to 4 threads and 24 GiB, or twice, four times… as much."""
    kinds = Counter()
    for gpus, cpu, memory in openb_pods():
        step = next(2**n for n in range(9) if cpu <= 4000 * 2**n and memory <= 24576 * 2**n)
        kinds[Fraction(eighths(gpus), 8), step] += 1
    return [
        need(f"{gpus} × {step}", pods, 4 * step, 24 * step, gpus=gpus, gpu_memory_gib=16)
        for (gpus, step), pods in kinds.items()
    ]


@pytest.mark.repeats("the others of this file")
@pytest.mark.timeout(600)
def test_on_the_public_trace_exact_is_no_dearer_than_quick_and_quick_than_the_score():
    needs = openb_needs()
    assert sum(n.pods for n in needs) == 7064
    exact = pack_machines(needs, "aws")
    quick, score = (quick_machines(needs, "aws", by_score=by) for by in (False, True))
    assert isinstance(exact, MachinePacking)
    assert exact.bound <= exact.usd <= usd_of(quick) <= usd_of(score)
    assert exact.gap <= 0.001
    assert held(exact, needs)
    assert exact.usd < 0.6 * usd_of(score)
