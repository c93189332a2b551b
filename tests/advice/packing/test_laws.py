"""Laws that every packing keeps, on the real catalogue: more never costs less, together never more."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.plan.pools.machines import plan_allocatable
from gpuyard_advisor.advice.packing.machines import (
    MachinePacking,
    NoMachineFits,
    pack_machines,
    quick_machines,
)
from gpuyard_advisor.advice.packing.needs import Demand
from gpuyard_advisor.advice.packing.slices import full_layouts, pack_slices, single_profile_gpus
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from kit.searches import examples

HALF_A_CENT = 0.005
KINDS = (
    Demand(name="whole", pods=1, cpu_milli=8000, memory_mib=32768),
    Demand(name="half", pods=1, gpus=Fraction(1, 2), cpu_milli=3000, memory_mib=9000),
    Demand(name="eighth", pods=1, gpus=Fraction(1, 8), cpu_milli=500, memory_mib=2048),
    Demand(name="two", pods=1, gpus=Fraction(2), cpu_milli=20000, memory_mib=70000),
    Demand(name="slice", pods=1, slice="2g.10gb", cpu_milli=4000, memory_mib=20000),
    Demand(name="large", pods=1, gpu_memory_gib=80, cpu_milli=10000),
)
demands = st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True)


def usd(needs, cloud, capacity=Capacity.ON_DEMAND):
    found = pack_machines(needs, cloud, capacity)
    assert isinstance(found, MachinePacking)
    assert found.is_optimal
    room = {}
    for one in found.purchased:
        assert one.priced.machine.cloud == cloud
        assert one.priced.machine.arch == "amd64"
        assert capacity in one.priced.machine.sold
        for name, count in one.pods_per_node.items():
            room[name] = room.get(name, 0) + count * one.nodes
    assert all(room[n.name] >= n.pods for n in needs)
    return found.usd


def drawn(data):
    return [replace(n, pods=data.draw(st.integers(1, 9))) for n in data.draw(demands)]


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
@settings(max_examples=examples(6), deadline=None)
@given(data=st.data())
def test_twice_the_pods_cost_no_less_and_at_most_twice(cloud, data):
    needs = drawn(data)
    once, twice = usd(needs, cloud), usd([replace(n, pods=2 * n.pods) for n in needs], cloud)
    assert once - HALF_A_CENT <= twice <= 2 * once + HALF_A_CENT


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
@settings(max_examples=examples(6), deadline=None)
@given(data=st.data())
def test_together_never_costs_more_than_apart(cloud, data):
    needs = drawn(data)
    assert usd(needs, cloud) <= sum(usd([n], cloud) for n in needs) + HALF_A_CENT


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
@settings(max_examples=examples(6), deadline=None)
@given(data=st.data())
def test_no_quick_choice_is_cheaper_than_the_proved_one(cloud, data):
    needs = drawn(data)
    best = usd(needs, cloud)
    for by_score in (False, True):
        quick = quick_machines(needs, cloud, by_score=by_score)
        assert isinstance(quick, MachinePacking)
        assert quick.usd >= best - HALF_A_CENT


@pytest.mark.repeats("tests/advice/packing/test_machines.py")
@pytest.mark.parametrize("pods", [1, 3])
@pytest.mark.parametrize("name", [m.name for m in MACHINES.values() if m.is_gpu_machine])
def test_a_demand_of_one_machine_type_costs_as_many_as_it_takes(name, pods):
    machine = MACHINES[name]
    left = plan_allocatable(machine)
    need = Demand(
        name="all of it",
        pods=pods,
        gpus=machine.gpus * machine.gpu_fraction,
        cpu_milli=left.cpu * 1000,
        memory_mib=left.memory_gib * 1024,
        machines=frozenset({name}),
        arch=machine.arch,
    )
    found = pack_machines([need], machine.cloud)
    if Capacity.ON_DEMAND in machine.sold and machine.on_demand:
        assert isinstance(found, MachinePacking)
        assert found.machines == {name: pods}
        assert found.usd == pytest.approx(pods * machine.on_demand.high)
        assert found.excluded == ()
    else:
        assert isinstance(found, NoMachineFits)
        assert [one.machine.name for one in found.excluded] == [name]


@pytest.mark.parametrize("product", MIG_PRODUCTS.values(), ids=lambda p: p.gpu)
def test_as_many_of_a_full_layout_take_as_many_gpus(product):
    for layout in full_layouts(product):
        demand = {name: 5 * count for name, count in layout.items()}
        packing = pack_slices(product, demand)
        assert packing.bound == packing.minimum_gpus <= 5
        assert packing.minimum_gpus <= single_profile_gpus(product, demand)


@pytest.mark.repeats("tests/advice/packing/test_slices.py")
@pytest.mark.parametrize("product", MIG_PRODUCTS.values(), ids=lambda p: p.gpu)
def test_a_demand_of_one_profile_takes_as_many_gpus_as_its_greatest_number_says(product):
    plain = [profile for profile in product.profiles if not profile.variant]
    assert plain
    for profile in plain:
        for count in (1, profile.max_count, profile.max_count + 1, 10 * profile.max_count + 1):
            found = pack_slices(product, {profile.name: count}).minimum_gpus
            assert found == -(-count // profile.max_count)
