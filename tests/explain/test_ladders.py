"""Pools that are bought in several ways: autoscalers bound each rung by itself, and so does the answer."""

import pytest

from gpuyard_advisor.explain import Verdict
from kit.cases.explain import job, said
from kit.every import every
from kit.stacks import plan_of, platform, pool, team

STEPS = [{"spot": True, "nodes": 1}, "on-demand"]
SCALED = {"karpenter": {"scaling": "karpenter"}, "groups": {}}
BOUND = "queues count GPUs, not nodes; where an option has no machines left, the job does not start"


def ladder(**words):
    words = {"machine": "g6.12xlarge", "nodes": "0..3", "capacity": STEPS, **words}
    return plan_of(
        platform([pool(**words)], [team(guarantee={"train": 4 * 3})], cloud="aws", name="steps")
    )


def whole_nodes(pods):
    """A pod is all of a node's CPUs, and one of its four GPUs."""
    amounts = {"cpu": "47", "nvidia.com/gpu": "1"}
    return job(pods=pods, body={}, requests=amounts)


@pytest.mark.parametrize("how", SCALED)
def test_more_nodes_come_than_the_pool_has_while_every_rung_has_machines(how):
    plan = ladder(**SCALED[how])
    found = said(plan, whole_nodes(4))
    assert (found.verdict, found.nodes_to_start) == (Verdict.STARTS, {"train": 4})
    assert found.conditions == ("after 4 nodes of train have started (0 of at most 4 run)",)
    assert found.cautions == (
        f"train has 4 nodes then, above its maximum of 3: each capacity option has its own limit, and {BOUND}",
    )
    within = said(plan, whole_nodes(3))
    assert within.conditions == ("after 3 nodes of train have started (0 of at most 3 run)",)
    assert within.cautions == ()


@every(
    ("words", "pods", "nodes"),
    [
        ({"scaling": "karpenter"}, 5, "4 nodes (of all its capacity options together)"),
        ({}, 5, "4 nodes (of all its capacity options together)"),
        ({"scaling": "karpenter", "capacity": ["on-demand"]}, 4, "3 nodes"),
        ({"nodes": 3}, 4, "3 nodes"),
    ],
)
def test_nobody_gives_more_than_all_rungs_together(words, pods, nodes):
    found = said(ladder(**words), whole_nodes(pods))
    assert found.verdict is Verdict.NEVER
    asks = f"{pods} pods with 47 CPUs and 1 nvidia.com/gpu"
    assert found.message == f"its queue assigns it to train, whose {nodes} do not fit {asks}"
