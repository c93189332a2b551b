"""What is left of a node, against nodes that somebody measured: not those that the rows were fitted to."""

import pytest

from gpuyard_core.catalogue.machines import MACHINES, Machine, find_machine
from gpuyard_core.catalogue.reserves import (
    efa_gib,
    kernel_gib,
    kubelet_cpu,
    kubelet_gib,
)
from gpuyard_core.catalogue.sources import find_source
from kit.every import every

GIB = 2**30
N1_HIGHMEM_4 = Machine(
    name="n1-highmem-4", cloud="gcp", vcpus=4, memory_gib=26, source=find_source("reserves.kernel")
)

# 2i2c-org/infrastructure at 1097ae3, node-capacity-info.json: bytes of capacity, bytes and CPUs allocatable.
MEASURED = [
    ("r5.xlarge", 33164840960, 32123604992, 3.92),
    ("r5.4xlarge", 133523050496, 130451771392, 15.89),
    ("n2-highmem-4", 33669926912, 29783904256, 3.92),
    ("n2-highmem-32", 270473359360, 257783492608, 31.85),
    ("n1-highmem-4", 27328200704, 23829102592, 3.92),
]


@every(("name", "capacity", "allocatable", "cpu"), MEASURED)
def test_a_measured_node_has_what_is_said_of_it_and_never_less(name, capacity, allocatable, cpu):
    machine = find_machine(name) or N1_HIGHMEM_4
    assert capacity / GIB * 0.99 < kernel_gib(machine) <= capacity / GIB
    kept = (capacity - allocatable) / GIB
    assert kept - 0.02 < kubelet_gib(machine) < kept + 0.1
    assert kernel_gib(machine) - kubelet_gib(machine) <= allocatable / GIB
    assert machine.vcpus - kubelet_cpu(machine) == pytest.approx(cpu, abs=0.011)


def test_no_kernel_has_what_is_sold():
    for machine in MACHINES.values():
        assert machine.memory_gib * 0.9 < kernel_gib(machine) < machine.memory_gib


def test_where_no_cloud_says_how_many_pods_a_node_may_have_small_ones_have_fewer():
    def own(vcpus):
        return Machine(
            name="x",
            cloud="none",
            vcpus=vcpus,
            memory_gib=64,
            source=find_source("reserves.kernel"),
        )

    assert kubelet_gib(own(29)) == pytest.approx((255 + 11 * 110 + 100) / 1024)
    assert kubelet_gib(own(30)) == pytest.approx((255 + 11 * 250 + 100) / 1024)


def test_the_efa_driver_takes_its_huge_pages_where_there_is_an_adapter():
    assert efa_gib(MACHINES["p5.48xlarge"]) == pytest.approx(10.016, abs=0.001)
    assert efa_gib(MACHINES["g6.xlarge"]) == 0
    assert not find_source("reserves.kernel").verified
    assert find_source("reserves.kubelet").verified
    assert find_source("reserves.efa").verified
