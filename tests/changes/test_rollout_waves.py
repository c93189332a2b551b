"""Which pool goes first where several change, and when there is no first."""

from dataclasses import replace

import pytest
from testbed.plugins.cloud.shapes import Place

from gpuyard.changes.deployed_state import deployed_state
from gpuyard.changes.destroy_blockers import plan_rollout_waves
from gpuyard.changes.planned_changes import plan_changes
from gpuyard.changes.platforms import (
    driver_of,
    driver_rollout_pools,
    pools_with_driver_rollout,
    reported_platform,
)
from kit.clouds.deployments import Deployment, exported
from kit.every import every
from kit.generated.changed import planned
from kit.stacks import cut_pool, plan_of, platform, pool, shape, shared_pool, team

A, B, C = (pool(name, machine="p4d.24xlarge", nodes=2) for name in "abc")
MORE = {**A, "nodes": 1}
IDLE = {**A, "nodes": "0..4", "scaling": "autoscaler"}
ALL = ("a", "b", "c")


@every(
    "pools, teams, drained, shared, found",
    [
        ([A, B, C], [], ALL, (), (("a",), ("b", "c"))),
        ([B, A, C], [], ALL, (), (("b",), ("a", "c"))),
        ([A, B, C], [team("x", guarantee={"a": 8})], ALL, (), (("b",), ("a", "c"))),
        ([A, B], [team("x", guarantee={"a": 8, "b": 4})], "ab", (), (("b",), ("a",))),
        ([A, B, C], [team("x", guarantee={"a": 8})], "a", "bc", (("a",), ("b", "c"))),
        ([A, B, C], [], (), "cb", (("b",), ("c",))),
        ([IDLE, B], [], "ab", (), (("b",), ("a",))),
        ([B, MORE], [], "ab", (), (("a",), ("b",))),
        ([A, B, C], [], "a", "a", ()),
        ([A, B, C], [], (), (), ()),
        ([IDLE, {**IDLE, "name": "b"}], [], "ab", (), ()),
    ],
)
def test_who_is_missed_least_goes_first(pools, teams, drained, shared, found):
    plan = planned(platform(pools, teams, cloud="aws"), "aws")
    assert plan_rollout_waves(plan, drained, shared) == found


def test_who_leaves_its_nodes_as_they_are_tells_nothing():
    """Karpenter does, however many run from the beginning; where all pools are its own nobody goes first."""
    mine = [{**A, "scaling": "karpenter", "nodes": "0..4"}, B, C]
    plan = planned(platform(mine, cloud="aws"), "aws")
    assert plan_rollout_waves(plan, ALL, ()) == (("b",), ("a", "c"))
    assert plan_rollout_waves(plan, ["a"], ()) == ()
    warm = replace(
        plan, pools=tuple(replace(each, start_nodes=1) for each in plan.pools[:1]) + plan.pools[1:]
    )
    assert plan_rollout_waves(warm, "ab", ()) == (("b",), ("a",))
    two = [{**each, "scaling": "karpenter", "nodes": "0..4"} for each in (A, B)]
    assert plan_rollout_waves(planned(platform(two, cloud="aws"), "aws"), "ab", ()) == ()


def test_slices_count_as_their_share_of_a_node():
    """Two of sixteen slices are less than one GPU of eight."""
    pools = [pool("whole", machine="p4d.24xlarge", nodes=1), cut_pool()]
    teams = [team("x", guarantee={"whole": 4, "serve/1g.5gb": 2})]
    plan = plan_of(platform(pools, teams, cloud="simulated"))
    assert plan_rollout_waves(plan, ["whole", "serve"], ()) == (("serve",), ("whole",))


def on_aws(minor, **more):
    pools = [pool(name, nodes="1..4", scaling="autoscaler", **more) for name in ("one", "two")]
    return planned(platform(pools, cloud="aws", kubernetes=minor), "aws")


def told(before, after, state):
    return plan_changes(
        after, after.provider.graph(after), deployed_state(state(before))
    ).rollout_waves


def test_in_a_cloud_those_whose_nodes_are_replaced_take_turns():
    """A new minor; another machine, which replaces the group; and bounds, which drain nobody."""

    def state(plan):
        return Deployment(plan.provider.graph(plan), Place(cloud="aws", region="us-east-1")).export(
            plan
        )

    two = (("one",), ("two",))
    before = on_aws("1.34")
    assert told(before, on_aws("1.35"), state) == two
    assert told(before, on_aws("1.34", machine="p5en.48xlarge"), state) == two
    assert told(before, before, state) == ()


OLD, NEW = "580.178.04", "595.91.07"


def of_driver(driver, pools, **more):
    return plan_of(platform(pools, software={"driver": driver}, **more))


@pytest.mark.parametrize("cloud", ["none", "simulated"])
def test_pools_get_a_driver_of_the_operator_in_turns(cloud):
    """One pool alone has nobody who waits for it; it is told all the same."""
    two = [pool(), shared_pool()]
    old, new = (of_driver(driver, two, cloud=cloud) for driver in (OLD, NEW))
    said = plan_changes(new, None, deployed_state(exported(old)))
    assert said.rollout_waves == (("dev",), ("train",))
    assert said.driver_rollouts == {"dev": OLD, "train": OLD}
    assert len(said.disruptions) == 2
    assert plan_changes(old, None, deployed_state(exported(old))).driver_rollouts == {}
    old, new = (of_driver(driver, two[:1], cloud=cloud) for driver in (OLD, NEW))
    said = plan_changes(new, None, deployed_state(exported(old)))
    assert (said.rollout_waves, said.driver_rollouts) == ((), {"train": OLD})


def test_a_driver_and_a_layout_are_in_one_order():
    old = of_driver(OLD, [pool(), cut_pool()], cloud="simulated")
    cut = cut_pool(sharing={"mig": {"1g.5gb": 7}})
    new = of_driver(NEW, [pool(), cut], cloud="simulated")
    assert plan_changes(new, None, deployed_state(exported(old))).rollout_waves == (
        ("serve",),
        ("train",),
    )


def test_where_objects_become_files_another_tells_the_operator():
    plan = of_driver(NEW, [pool()], apply="render")
    assert driver_of(plan, plan.pools[0]) == NEW
    assert driver_rollout_pools(plan) == []


def test_where_gpus_are_claimed_no_policy_exchanges_drivers():
    claims = platform([pool(sharing="dra")], shapes=[shape("s", gpus_per_node=8)])
    plan = plan_of(claims)
    assert driver_of(plan, plan.pools[0])
    assert (
        driver_rollout_pools(plan),
        pools_with_driver_rollout(reported_platform(None), plan),
    ) == ([], {})
    simulated = plan_of({**claims, "cloud": "simulated"})
    assert driver_of(simulated, simulated.pools[0]) == ""
