"""Every machine row, against rules that hold for all of them."""

import itertools
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from gpuyard_core.catalogue.machines import MACHINES, Capacity, find_machine, machines_of
from kit.every import every

TODAY = datetime.now(UTC).date()
ROWS = [pytest.param(machine, id=name) for name, machine in MACHINES.items()]


@every("machine", ROWS)
def test_a_machine_is_whole(machine):
    assert machine.vcpus > 0
    assert machine.memory_gib > 0
    assert machine.arch in {"amd64", "arm64"}
    assert machine.network_gbps is None or machine.network_gbps > 0
    assert machine.efa_interfaces >= 0
    assert machine.nvme_gb >= 0
    assert machine.numa_nodes is None or machine.numa_nodes >= 1
    assert machine.sold
    assert machine.source.checked_on <= TODAY


@every("machine", [m for m in MACHINES.values() if m.on_demand or m.spot], ids=lambda m: m.name)
def test_a_price_is_above_zero_and_dated_for_a_region(machine):
    assert machine.region
    for price in filter(None, (machine.on_demand, machine.spot)):
        assert 0 < price.low <= price.high
        assert price.source.checked_on <= TODAY


@every("machine", [m for m in MACHINES.values() if m.spot], ids=lambda m: m.name)
def test_what_has_a_price_as_spot_is_sold_as_spot_and_for_less(machine):
    assert Capacity.SPOT in machine.sold
    assert machine.on_demand is None or machine.spot.high <= machine.on_demand.low


@every("machine", ROWS)
def test_a_machine_has_whole_gpus_or_one_part_or_none(machine):
    if machine.gpu is None:
        assert machine.gpus == 0
        assert not machine.is_gpu_machine
        assert machine.gpu_fraction == 1
        return
    assert machine.is_gpu_machine
    assert 1 <= machine.gpus <= 16
    assert machine.gpu_fraction == 1 or (machine.gpus == 1 and 0 < machine.gpu_fraction < 1)


@every("machine", ROWS)
def test_the_cloud_is_told_by_the_name(machine):
    assert machine.cloud == ("aws" if "." in machine.name else "gcp")
    assert machine.name == machine.name.lower()
    assert (machine.accelerator is not None) == (machine.cloud == "gcp" and machine.is_gpu_machine)


@pytest.mark.parametrize(
    ("name", "sold"),
    [
        ("p5.48xlarge", "block on-demand reserved spot"),
        ("p3dn.24xlarge", "on-demand reserved spot"),
        ("g6.12xlarge", "on-demand reserved spot"),
        ("p6e-gb200.36xlarge", "block"),
        ("m7i.xlarge", "on-demand reserved spot"),
        ("a2-highgpu-8g", "flex-start on-demand reserved spot"),
        ("a3-highgpu-1g", "flex-start reserved spot"),
        ("a3-edgegpu-8g", "flex-start on-demand reserved spot"),
        ("a3-edgegpu-8g-nolssd", "on-demand reserved spot"),
        ("a3-ultragpu-8g", "block flex-start reserved spot"),
        ("a4-highgpu-8g", "block flex-start reserved spot"),
        ("n1-standard-8+1xt4", "flex-start on-demand reserved spot"),
        ("a4x-highgpu-4g", "reserved"),
        ("e2-standard-4", "on-demand reserved spot"),
    ],
)
def test_how_a_machine_can_be_bought(name, sold):
    assert " ".join(sorted(MACHINES[name].sold)) == sold


# gpuhunt providers/gcp.py, accelerator_limits: CPUs and GB of memory for 1, 2, 4 and 8 GPUs.
ADDED = {
    "t4": {1: (48, 312), 2: (48, 312), 4: (96, 624)},
    "p4": {1: (24, 156), 2: (48, 312), 4: (96, 624)},
    "p100": {1: (16, 104), 2: (32, 208), 4: (96, 624)},
    "v100": {1: (12, 78), 2: (24, 156), 4: (48, 312), 8: (96, 624)},
}


def test_gpus_are_added_to_machines_of_gcp_that_have_none_themselves():
    added = {n: m for n, m in MACHINES.items() if m.type_name != n}
    assert {m.type_name.rpartition("-")[0] for m in added.values()} == {"n1-standard"}
    for name, machine in added.items():
        kind = name.rpartition("x")[2]
        vcpus, gib = ADDED[kind][machine.gpus]
        assert name == f"{machine.type_name}+{machine.gpus}x{kind}"
        assert machine.gpu.name.partition("-")[0] == kind.upper()
        assert machine.accelerator == f"nvidia-tesla-{kind}"
        assert machine.vcpus <= vcpus
        assert machine.memory_gib <= gib
        assert machine.vcpus == int(machine.type_name.rpartition("-")[2])
        assert machine.memory_gib == machine.vcpus * 15 // 4
        assert not machine.source.verified
    assert not find_machine("n1-standard-8").is_gpu_machine
    assert MACHINES["p5.48xlarge"].type_name == "p5.48xlarge"


def test_a_machine_with_added_gpus_costs_the_machine_and_each_gpu():
    small, large = MACHINES["n1-standard-8+1xt4"], MACHINES["n1-standard-96+8xv100"]
    assert (small.on_demand.low, small.spot.low) == (0.73, 0.3255)  # 0.38 + 0.35, 0.134 + 0.1915
    assert (large.on_demand.low, large.spot.low) == (24.4, 11.4784)  # 24 x 0.19 + 8 x 2.48


def test_the_parts_of_a_gpu_are_read_as_fractions():
    parts = {m.name: m.gpu_fraction for m in MACHINES.values() if m.gpu_fraction != 1}
    assert parts["g6f.large"] == Fraction(1, 8)
    assert parts["g4-standard-24"] == Fraction(1, 2)
    assert len(parts) == 8


def test_facts_that_were_not_seen_are_marked():
    assert not MACHINES["p6e-gb200.36xlarge"].source.verified
    assert not MACHINES["a4-highgpu-8g"].source.verified
    assert MACHINES["p5.48xlarge"].source.verified


def test_an_unknown_price_is_none_and_never_zero():
    assert MACHINES["p5e.48xlarge"].on_demand is None
    assert MACHINES["p5e.48xlarge"].spot is None


def test_a_price_that_differs_by_zone_is_a_range():
    spot = MACHINES["p5.48xlarge"].spot
    assert (spot.low, spot.high) == (16.95, 18.73)


def test_a_machine_is_found_whatever_the_case():
    assert find_machine("P5.48xlarge") is MACHINES["p5.48xlarge"]
    assert find_machine("p5.49xlarge") is None


def test_names_are_listed_by_cloud():
    aws, gcp = machines_of("aws"), machines_of("gcp")
    assert set(aws).isdisjoint(gcp)
    assert {**aws, **gcp} == MACHINES
    assert machines_of("none") == {}


@pytest.mark.parametrize("family", ["p5.", "g6.", "a3-highgpu", "g2-standard"])
def test_more_gpus_of_one_family_cost_more(family):
    rows = [m for m in MACHINES.values() if m.name.startswith(family) and m.on_demand]
    by_count: dict[int, list[float]] = {}
    for m in rows:
        by_count.setdefault(m.gpus, []).append(m.on_demand.low)
    counts = sorted(by_count)
    assert all(min(by_count[a]) < min(by_count[b]) for a, b in itertools.pairwise(counts))


def test_only_nodes_whose_nvlink_leaves_them_are_parts_of_a_rack():
    racks = {machine.gpu.name for machine in MACHINES.values() if machine.is_rack}
    assert racks == {"GB200", "GB300"}
    assert not any(m.is_rack for m in MACHINES.values() if m.gpu is None)
