"""Every GPU machine of EC2, every way of buying, names of any length: what is rendered is taken."""

from functools import cache

import pytest

from gpuyard.plan import plan
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.karpenter.nodes import karpenter_objects
from gpuyard_core.catalogue.fabric import efa_interfaces_to_launch
from gpuyard_core.catalogue.kubernetes.karpenter import HIGHEST_WEIGHT
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_lint.kubernetes import resource
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.run import evaluate
from gpuyard_testing.crds import CrdFolder
from kit.clouds.aws import plan_on_aws
from kit.every import every
from kit.levels import upstream
from kit.stacks import platform, pool, spec_of

RESERVED = {"reserved": "cr-0123456789abcdef0", "nodes": 1}
BLOCK = {"block": "cr-0fedcba9876543210", "nodes": 1}
LADDERS = [["on-demand"], ["spot", "on-demand"], [RESERVED, "on-demand"], [BLOCK]]
EC2 = [each.name for each in MACHINES.values() if each.cloud == "aws" and each.gpus]


def raw_of(machine, ladder):
    made = pool(machine=machine, nodes="0..2", scaling="karpenter", capacity=ladder)
    return platform([made | {"zones": ["us-east-1a"]}], cloud="aws")


@cache
def known(machine, number):
    """The plan, where nothing refuses such a pool."""
    found, _ = plan(spec_of(raw_of(machine, LADDERS[number])))
    return found


def objects_of(found):
    """With an id for each late value that the definitions would take."""
    ids = {"cluster.vpcConfig.clusterSecurityGroupId": "sg-1", "nodes.id": "sg-2"}
    return [
        resolve_outputs(
            each, lambda name: ids.get(name, "subnet-1" if "private" in name else "made")
        )
        for each in karpenter_objects(found)
    ]


def specs(found, kind):
    return [each["spec"] for each in objects_of(found) if each["kind"] == kind]


@cache
def cases():
    """Machines and ladders of which a plan is made."""
    return [(name, n) for name in EC2 for n in range(len(LADDERS)) if known(name, n) is not None]


def test_most_machines_can_be_karpenters():
    assert len({name for name, _ in cases()}) > len(EC2) * 0.8


def test_definitions_and_rules_take_every_machine_in_every_way_of_buying():
    crds = CrdFolder(upstream("crds"))

    def judge(case):
        objects = objects_of(known(*case))
        for each in objects:
            assert crds.violations(each) == [], each["metadata"]["name"]
        assert list(evaluate([resource(each) for each in objects], RULES)) == []

    every(cases(), judge)


def test_every_adapter_of_a_machine_is_there_and_no_other():
    def judge(case):
        machine = MACHINES[case[0]]
        for spec in specs(known(*case), "EC2NodeClass"):
            kinds = [each["interfaceType"] for each in spec.get("networkInterfaces", ())]
            assert kinds.count("efa-only") == (machine.efa_interfaces if kinds else 0)
            assert bool(kinds) is bool(efa_interfaces_to_launch(machine))

    every(cases(), judge)


def test_a_machine_without_disks_of_its_own_has_a_fast_one():
    def judge(case):
        local = bool(MACHINES[case[0]].nvme_gb)
        for spec in specs(known(*case), "EC2NodeClass"):
            (disk,) = spec["blockDeviceMappings"]
            assert ("throughput" in disk["ebs"]) is not local
            assert (spec.get("instanceStorePolicy") == "RAID0") is local

    every(cases(), judge)
    assert len({bool(MACHINES[name].nvme_gb) for name, _ in cases()}) == 2


def test_what_is_set_aside_is_asked_for_by_its_id_alone():
    def judge(case):
        found = known(*case)
        held = [rung.reservation for rung in found.pools[0].ladder]
        asked = [
            [term["id"] for term in spec.get("capacityReservationSelectorTerms", ())]
            for spec in specs(found, "EC2NodeClass")
        ]
        assert asked == [[each] if each else [] for each in held]
        kinds = [
            next(
                r["values"] for r in s["template"]["spec"]["requirements"] if "capacity" in r["key"]
            )
            for s in specs(found, "NodePool")
        ]
        modes = [Capacity(rung.mode) for rung in found.pools[0].ladder]
        assert [kind == ["reserved"] for kind in kinds] == [bool(each) for each in held]
        assert [kind == ["spot"] for kind in kinds] == [m is Capacity.SPOT for m in modes]

    every(cases(), judge)


@pytest.mark.parametrize("length", [1, 30, 40])
def test_names_tell_rungs_of_all_pools_apart_and_fit_into_a_label(length):
    reserved = [{"reserved": f"cr-{n:017x}", "nodes": 1} for n in range(1, 9)]
    names = ["a" * length, "a" * (length - 1) + "b" if length > 1 else "b"]
    pools = [
        pool(name, nodes="0..12", scaling="karpenter", capacity=[*reserved, "spot", "on-demand"])
        | {"zones": ["us-east-1a"]}
        for name in names
    ]
    found = plan_on_aws(pools)
    made = [each for each in objects_of(found) if each["kind"] == "NodePool"]
    called = [each["metadata"]["name"] for each in made]
    assert len(set(called)) == len(called) == 20
    assert max(map(len, called)) <= 63
    weights = [each["spec"]["weight"] for each in made[:10]]
    assert weights == sorted(weights, reverse=True)
    assert 1 <= min(weights) <= max(weights) == HIGHEST_WEIGHT
    assert {each["metadata"]["name"] for each in objects_of(found) if "Class" in each["kind"]} == {
        *called
    }
    assert aws_graph(found).resources_of_kind("aws:eks/nodeGroup:NodeGroup")[0].name == "system"
