"""Checks of the forecast that the campaign with a real Karpenter uses, without Karpenter."""

from collections import Counter

from gpuyard_core.names import GPU
from kit.cluster import karpenter
from kit.stacks import plan_of, platform, pool

OPTIONS = [
    {"reserved": "cr-0a1b2c3d4e5f60718", "nodes": 2},
    {"spot": True, "nodes": 1},
    "on-demand",
]


def foreseen(nodes, gpus=8, **changes):
    shape = {"name": "s", "pool": "p", "nodes": nodes, "gpus_per_node": gpus}
    words = {"nodes": "0..6", "scaling": "karpenter", "zones": ["us-east-1a"], **changes}
    plan = plan_of(platform([pool("p", **words)], cloud="aws", shapes=[shape]))
    return karpenter.foreseen(plan, plan.shapes[0])


def test_a_job_uses_as_many_capacity_options_as_it_needs():
    ways = {n: {w: c for (_, w), c in foreseen(n, capacity=OPTIONS).items()} for n in (1, 3, 5)}
    assert ways == {
        1: {"reserved": 1},
        3: {"reserved": 2, "spot": 1},
        5: {"reserved": 2, "spot": 1, "on-demand": 2},
    }


def test_of_several_machines_the_cheapest_is_foreseen():
    found = foreseen(2, machine=["g6.16xlarge", "g6.8xlarge"], gpus=1)
    assert found == {("g6.8xlarge", "on-demand"): 2}


def test_its_machines_are_sold_in_each_way_in_each_zone_and_reserved_costs_least():
    for each in karpenter.instance_types():
        sold = Counter()
        prices = {}
        for offering in each["offerings"]:
            said = {r["key"]: r["values"][0] for r in offering["Requirements"]}
            sold[said["topology.kubernetes.io/zone"]] += 1
            prices[said["karpenter.sh/capacity-type"]] = offering["Price"]
        assert sold == dict.fromkeys(karpenter.ZONES, 3), each["name"]
        assert 0 < prices["reserved"] < prices["spot"] < prices["on-demand"]
        assert int(each["resources"].get(GPU, 1)) > 0
