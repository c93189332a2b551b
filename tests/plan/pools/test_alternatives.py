"""The machine that a fix names: of the cloud, sold as the pool buys, with as many GPUs, near in size."""

import pytest

from gpuyard.plan.pools.machines import (
    find_machine_with_gpus,
    nearest_machine_by_size,
    suggest_machine,
)
from gpuyard.spec.platform import Cloud
from gpuyard_core.catalogue.gpus import find_gpu
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from kit.every import every
from kit.fixes import applied, check_fix
from kit.stacks import findings, only, parts, platform, pool

ON_DEMAND = [Capacity.ON_DEMAND]


@every("cloud", list(Cloud))
@every("with_gpu", [True, False])
@every("name", ["m7i.xlarge", "p5.48xlarge", "e2-standard-4", "g6f.large"])
def test_a_machine_of_a_size_is_of_the_cloud_and_no_other_is_nearer(cloud, name, with_gpu):
    wanted = MACHINES[name]
    found = nearest_machine_by_size(wanted, cloud, ON_DEMAND, with_gpu=with_gpu)
    assert found.is_gpu_machine is with_gpu
    nearer = [
        m
        for m in MACHINES.values()
        if abs(m.vcpus - wanted.vcpus) < abs(found.vcpus - wanted.vcpus)
        and m.is_gpu_machine is with_gpu
        and (not with_gpu or (m.gpu_fraction == 1 and m.arch == wanted.arch))
        and (
            cloud.value not in {"aws", "gcp"}
            or (m.cloud == cloud.value and Capacity.ON_DEMAND in m.sold)
        )
    ]
    assert nearer == []
    if cloud.value in {"aws", "gcp"}:
        assert found.cloud == cloud.value
        assert Capacity.ON_DEMAND in found.sold


@pytest.mark.parametrize(
    ("gpu", "gpus", "cloud", "modes", "name"),
    [
        ("L4", 1, Cloud.AWS, ON_DEMAND, "g6.2xlarge"),
        ("L4", 3, Cloud.AWS, ON_DEMAND, "g6.12xlarge"),
        ("L4", 9, Cloud.AWS, ON_DEMAND, None),
        ("A100-40", 8, Cloud.GCP, ON_DEMAND, "a2-highgpu-8g"),
        ("A100-40", 8, Cloud.AWS, [Capacity.ON_DEMAND, Capacity.SPOT], "p4d.24xlarge"),
        ("A100-40", 8, Cloud.AWS, [Capacity.FLEX_START], None),
        ("V100-32", 8, Cloud.GCP, ON_DEMAND, None),
    ],
)
def test_as_many_gpus_or_the_next_more(gpu, gpus, cloud, modes, name):
    found = find_machine_with_gpus(find_gpu(gpu), gpus, 8, cloud, modes)
    assert (found.name if found else None) == name
    fix = suggest_machine(found, ("a",))
    assert (fix.value if fix else None) == name


SYSTEMS = [
    ("aws", "g6.xlarge", "1 × L4"),
    ("aws", "p5.48xlarge", "8 × H100"),
    ("gcp", "a2-highgpu-1g", "1 × A100-40"),
    ("none", "g6.12xlarge", "4 × L4"),
]


@pytest.mark.parametrize(("cloud", "machine", "gpus"), SYSTEMS)
def test_system_nodes_with_gpus_are_warned_of(cloud, machine, gpus):
    pools = [pool(machine="a2-highgpu-8g")] if cloud == "gcp" else None
    raw = platform(pools, cloud=cloud, system={"machine": machine, "nodes": 3})
    finding = only(raw)
    assert finding.severity.value == "warning"
    assert parts(finding) == (
        "system.gpu_machine",
        ("system", "machine"),
        f"system nodes run controllers and no jobs: {gpus} a node would be paid for and never used",
        machine,
        "a machine without GPUs",
    )
    assert not MACHINES[finding.fix.value].is_gpu_machine
    assert findings(applied(raw, finding.fix)) == []


@pytest.mark.parametrize(
    ("cloud", "machine", "near"),
    [("gcp", "m7i.xlarge", "e2-standard-4"), ("aws", "e2-standard-4", "m7i.xlarge")],
)
def test_a_system_machine_of_another_cloud_has_one_of_its_size(cloud, machine, near):
    pools = [pool(machine="a2-highgpu-8g")] if cloud == "gcp" else None
    raw = platform(pools, cloud=cloud, system={"machine": machine, "nodes": 3})
    finding = only(raw)
    assert finding.id == "pool.machine_cloud"
    found = MACHINES[finding.fix.value]
    assert (found.cloud, found.is_gpu_machine) == (cloud, False)
    assert found.vcpus == MACHINES[near].vcpus
    check_fix(raw, finding)


def test_a_machine_without_gpus_among_others_is_one_too_many():
    raw = platform([pool(machine=["p5.48xlarge", "m7i.xlarge"])], cloud="aws")
    finding = only(raw)
    assert (finding.fix.message, finding.fix.at) == ("remove it", ("pools", 0, "machine", 1))
    assert findings(applied(raw, finding.fix)) == []
