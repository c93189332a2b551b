"""What must hold for every row together with its neighbours: GPUs, machines, prices, slices."""

import itertools
from fractions import Fraction

import pytest

from gpuyard_core.catalogue.gpus import GPUS, MIG_PRODUCTS, find_gpu
from gpuyard_core.catalogue.machines import MACHINES, Capacity, find_machine
from gpuyard_simulate.agents.hardware import fits
from kit.every import every

GPU_MACHINES = [pytest.param(m, id=n) for n, m in MACHINES.items() if m.is_gpu_machine]
CPU_MACHINES = [pytest.param(m, id=n) for n, m in MACHINES.items() if not m.is_gpu_machine]
ALL = [pytest.param(m, id=n) for n, m in MACHINES.items()]
PRODUCTS = [pytest.param(p, id=n) for n, p in MIG_PRODUCTS.items()]


@every("machine", GPU_MACHINES)
def test_the_gpu_of_a_machine_is_a_row_of_the_catalogue(machine):
    assert GPUS[machine.gpu.name] is machine.gpu
    assert find_gpu(machine.gpu.product) is machine.gpu


ON_NUMA_NODES = [
    pytest.param(m, id=n)
    for n, m in MACHINES.items()
    if m.numa_nodes is not None and m.gpus > 1 and m.gpus >= m.numa_nodes
]


@every("machine", ON_NUMA_NODES)
def test_several_gpus_stand_on_numa_nodes_evenly_where_these_are_known(machine):
    assert machine.gpus % machine.numa_nodes == 0


@every("machine", GPU_MACHINES)
def test_a_machine_has_processors_for_its_gpus(machine):
    assert machine.vcpus % 2 == 0
    assert machine.vcpus >= 2 * machine.gpus
    assert machine.memory_gib >= machine.vcpus


@every("machine", CPU_MACHINES)
def test_a_machine_without_gpus_has_a_price_for_it_carries_the_system(machine):
    assert (machine.on_demand is None) is machine.name.startswith("r9g.")  # too new for the list
    assert machine.accelerator is None
    assert {Capacity.ON_DEMAND, Capacity.SPOT, Capacity.RESERVED} == machine.sold


@every("machine", ALL)
def test_what_is_sold_by_one_cloud_only_is_sold_there(machine):
    if machine.cloud == "aws":
        assert Capacity.FLEX_START not in machine.sold
    else:
        calendar = machine.gpu is not None and machine.gpu.name in {"H200", "B200"}
        assert (
            Capacity.BLOCK in machine.sold
        ) is calendar  # of Google, blocks of days are its calendar mode
        assert machine.efa_interfaces == 0
        if (
            machine.is_gpu_machine
        ):  # a price that nobody has published does not mean that it is not sold
            assert (Capacity.SPOT in machine.sold) is not machine.is_rack
    if not machine.is_gpu_machine:
        assert not machine.sold & {Capacity.BLOCK, Capacity.FLEX_START}


PRICES = [
    pytest.param(machine, price, id=f"{name} {how}")
    for name, machine in MACHINES.items()
    for how, price in (("on demand", machine.on_demand), ("spot", machine.spot))
    if price is not None
]


@every(("machine", "price"), PRICES)
def test_a_price_is_of_a_size_that_machines_cost(machine, price):
    assert price.high <= 3 * price.low
    assert price.high < 20 * max(machine.gpus, 1) + machine.vcpus * 0.1


@every("machine", ALL)
def test_a_machine_is_named_for_one_key_in_any_case(machine):
    assert MACHINES[machine.name] is machine
    assert find_machine(machine.name.title()) is machine
    assert find_machine(f"{machine.name} ") is None


def test_parts_of_a_gpu_come_in_sizes_that_fill_one():
    for machine in MACHINES.values():
        assert Fraction(1) / machine.gpu_fraction == int(Fraction(1) / machine.gpu_fraction)


def test_a_smaller_part_of_the_same_gpu_costs_less():
    parts = [m for m in MACHINES.values() if m.gpu_fraction != 1 and m.on_demand]
    pairs = [
        (a, b)
        for a, b in itertools.permutations(parts, 2)
        if a.cloud == b.cloud and a.gpu is b.gpu and a.gpu_fraction < b.gpu_fraction
    ]
    assert pairs
    for a, b in pairs:
        assert a.on_demand.low < b.on_demand.low, (a.name, b.name)


def test_newer_data_centre_gpus_have_no_less_memory_and_no_slower_links():
    order = [GPUS[name] for name in ("A100-40", "A100-80", "H100", "H200", "B200")]
    links = [gpu.nvlink_gbps for gpu in order]
    memory = [gpu.memory_gib for gpu in order]
    assert links == sorted(links)
    assert memory == sorted(memory)


@pytest.mark.parametrize("product", PRODUCTS)
def test_profiles_stand_in_order_of_size(product):
    sizes = [(p.slices, p.units) for p in product.profiles]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_run_of_memory_starts_at_a_multiple_of_its_length(product):
    for profile in product.profiles:
        assert {start % profile.units for start in profile.starts} == {0}


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_variant_is_placed_like_a_base_profile_of_its_size(product):
    bases = {(p.slices, p.units) for p in product.profiles if not p.variant}
    assert {(p.slices, p.units) for p in product.profiles if p.variant} <= bases


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_driver_could_cut_the_maximum_and_no_more(product):
    for profile in product.profiles:
        assert fits(product, {profile.name: profile.max_count})
        assert not fits(product, {profile.name: profile.max_count + 1})


@pytest.mark.parametrize("product", PRODUCTS)
def test_nothing_stands_beside_the_whole_gpu(product):
    whole = product.profiles[-1]
    assert (whole.slices, whole.units, whole.max_count) == (product.slices, product.units, 1)
    for other in product.profiles[:-1]:
        if other.units + whole.units > product.units:
            assert not fits(product, {whole.name: 1, other.name: 1})


@pytest.mark.parametrize("product", PRODUCTS)
def test_products_of_one_family_have_one_geometry(product):
    def geometry(one):
        return [(p.slices, p.units, p.starts, p.max_count) for p in one.profiles]

    kin = [one for one in MIG_PRODUCTS.values() if one.family == product.family]
    assert all(geometry(one) == geometry(product) for one in kin)
    assert all((one.units, one.slices) == (product.units, product.slices) for one in kin)
