"""Network cards, EFA interfaces, GPUDirect networks and pod limits, row by row."""

import pytest

from gpuyard_core.catalogue.fabric import (
    GPUDIRECT,
    Interface,
    direct_fabric,
    efa_interfaces_to_launch,
    pod_limit,
)
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.sources import find_source
from kit.every import every

EC2 = [pytest.param(m, id=n) for n, m in MACHINES.items() if m.cloud == "aws"]
ELSEWHERE = [m for m in MACHINES.values() if m.cloud != "aws"]
DIRECT = [pytest.param(name, row, id=name) for name, row in GPUDIRECT.items()]


@every("machine", EC2)
def test_every_efa_of_a_machine_has_one_interface_on_a_card_of_its_own(machine):
    found = efa_interfaces_to_launch(machine)
    efa = [i for i in found if i.kind != "interface"]
    assert len(efa) == machine.efa_interfaces
    assert len({i.card for i in found}) == len(found)
    assert [i.card for i in found] == sorted(i.card for i in found)
    if found and not machine.is_rack:
        assert len(found) == machine.network_cards


@every("machine", EC2)
def test_one_interface_has_an_address_and_it_is_the_primary_one(machine):
    found = efa_interfaces_to_launch(machine)
    assert [i.card for i in found if i.kind != "efa-only"] == ([0] if found else [])
    first_only = machine.is_rack
    assert all(i.device == (0 if i.card == 0 or first_only else 1) for i in found)


def test_on_p6e_the_odd_cards_take_one_efa_each_and_are_told_so():
    """A wrong index is refused by EC2 when the first node starts."""
    machine = MACHINES["p6e-gb200.36xlarge"]
    found = efa_interfaces_to_launch(machine)
    assert found[0] == Interface(0, 0, "interface")
    assert found[1:] == tuple(Interface(card, 0, "efa-only") for card in range(1, 16, 2))
    assert (machine.efa_interfaces, machine.network_gbps) == (8, 8 * 200)
    assert not find_source("fabric.p6e-efa").verified


def test_a_first_card_that_takes_no_efa_gets_a_plain_interface():
    b300 = efa_interfaces_to_launch(MACHINES["p6-b300.48xlarge"])
    assert b300[0] == Interface(0, 0, "interface")
    assert b300[1:] == tuple(Interface(card, 1, "efa-only") for card in range(1, 17))
    b200 = efa_interfaces_to_launch(MACHINES["p6-b200.48xlarge"])
    assert b200[0] == Interface(0, 0, "efa")
    assert len(b200) == 8
    assert efa_interfaces_to_launch(MACHINES["p5.4xlarge"]) == (Interface(0, 0, "efa"),)
    assert efa_interfaces_to_launch(MACHINES["g6.xlarge"]) == ()


# Karpenter's instance-types.md of 2026-07-11, `pods`.
@pytest.mark.parametrize(
    ("name", "pods"),
    [
        ("p6-b300.48xlarge", 198),
        ("p6-b200.48xlarge", 198),
        ("p5en.48xlarge", 198),
        ("p5e.48xlarge", 100),
        ("p5.48xlarge", 100),
        ("p5.4xlarge", 118),
        ("p4d.24xlarge", 737),
        ("p3dn.24xlarge", 737),
        ("g7e.48xlarge", 632),
        ("g7.24xlarge", 1514),
        ("g6f.large", 20),
        ("g5.48xlarge", 345),
        ("g4dn.xlarge", 29),
        ("m7i.xlarge", 58),
        ("p6e-gb200.36xlarge", None),
        ("a3-highgpu-8g", None),
    ],
)
def test_so_many_pods_get_an_address(name, pods):
    assert pod_limit(MACHINES[name]) == pods


@every("machine", EC2)
def test_a_node_has_addresses_for_a_pod_on_each_gpu_and_for_agents(machine):
    limit = pod_limit(machine)
    assert machine.network_cards >= 1
    if limit is None:
        assert not machine.source.verified
    else:
        assert limit >= machine.gpus + 15


def test_other_clouds_let_nobody_choose_cards():
    assert {m.network_cards for m in ELSEWHERE} == {None}
    assert {pod_limit(m) for m in ELSEWHERE} == {None}
    assert {efa_interfaces_to_launch(m) for m in ELSEWHERE} == {()}


@pytest.mark.parametrize(("name", "row"), DIRECT)
def test_direct_networks_are_of_machines_that_gke_sells(name, row):
    machine = MACHINES[name]
    assert machine.cloud == "gcp"
    assert (direct_fabric(machine).name, direct_fabric(machine).source) == (row.name, row.source)
    networks = row.device_networks or machine.gpus
    assert machine.gpus % networks == 0 or networks % machine.gpus == 0
    assert (row.device_mode is None) == machine.is_rack  # DRANET hands them out
    assert (row.mtu is None) == (row.name == "GPUDirect-RDMA")


@pytest.mark.parametrize(
    ("name", "stack", "devices", "hosts"),
    [
        ("a3-highgpu-8g", "GPUDirect-TCPX", 4, 0),
        ("a3-megagpu-8g", "GPUDirect-TCPXO", 8, 0),
        ("a3-ultragpu-8g", "GPUDirect-RDMA", 8, 1),
        ("a4-highgpu-8g", "GPUDirect-RDMA", 8, 1),
        ("a4x-highgpu-4g", "GPUDirect-RDMA", None, 0),
        ("a4x-maxgpu-4g-metal", "GPUDirect-RDMA", 8, 1),
        ("a3-edgegpu-8g", "GPUDirect-TCPX", 4, 0),
        ("a3-edgegpu-8g-nolssd", "GPUDirect-TCPX", 4, 0),
        ("a3-ultragpu-8g-nolssd", "GPUDirect-RDMA", 8, 1),
    ],
)
def test_how_many_networks_a_machine_needs(name, stack, devices, hosts):
    row = GPUDIRECT[name]
    assert (row.name, row.device_networks, row.host_networks) == (stack, devices, hosts)


def test_sources_are_dated():
    assert find_source("fabric.ec2-cards").checked_on == find_source("fabric.ec2-pods").checked_on
