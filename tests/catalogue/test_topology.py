"""Where machines stand in their cloud's network, against another copy of the list and against each other."""

import pytest

from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.sources import find_source
from gpuyard_core.catalogue.topology import (
    EC2_LAYER,
    GCE_HOST,
    network_labels,
    with_clique,
)
from gpuyard_core.names import CLIQUE_LABEL
from kit.every import every

# EC2 User Guide in Chinese, ec2-instance-topology-prerequisites: every GPU type of EC2 that it names.
SECOND_COPY = {
    **dict.fromkeys(
        [
            *(f"g6e.{n}xlarge" for n in ("", 2, 4, 8, 12, 16, 24, 48)),
            *(f"g7e.{n}xlarge" for n in (2, 4, 8, 12, 24, 48)),
            *("p3dn.24xlarge", "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5e.48xlarge"),
            *("p5en.48xlarge", "p6e-gb200.36xlarge"),
        ],
        3,
    ),
    "p6-b200.48xlarge": 4,
    "p6-b300.48xlarge": 4,
}
EC2 = [m for m in MACHINES.values() if m.cloud == "aws" and m.is_gpu_machine]
RACKS = [m for m in MACHINES.values() if m.is_rack]


@every("machine", EC2)
def test_a_machine_of_ec2_has_a_label_for_each_network_node_that_ec2_tells(machine):
    layers = SECOND_COPY.get(machine.name, 0)
    assert network_labels(machine) == tuple(f"{EC2_LAYER}{n}" for n in range(1, layers + 1))


def test_every_type_that_is_named_is_one_of_the_catalogue():
    assert set(SECOND_COPY) <= set(MACHINES)


@pytest.mark.parametrize("name", ["p5.4xlarge", "g6.48xlarge", "a2-highgpu-8g", "a3-highgpu-4g"])
def test_machines_whose_place_nobody_tells_have_no_labels(name):
    assert network_labels(MACHINES[name]) == ()


@every("machine", RACKS)
def test_a_domain_of_several_nodes_never_stands_below_a_single_host(machine):
    levels = with_clique(network_labels(machine), machine)
    assert CLIQUE_LABEL in levels
    assert GCE_HOST not in levels[: levels.index(CLIQUE_LABEL)]


def test_what_is_no_rack_has_no_clique():
    machine = MACHINES["a3-megagpu-8g"]
    assert with_clique(network_labels(machine), machine) == network_labels(machine)
    assert all(find_source(f"topology.{name}").verified for name in ("ec2", "gce", "nested"))
