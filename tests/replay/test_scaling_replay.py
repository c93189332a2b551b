"""Scaling policies in a replay: autoscalers decide only when a decision can change, with the same result."""

import random

import pytest

from gpuyard.plan import plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.read import platform_spec
from gpuyard.spec.sections import KeepWarmWindow
from gpuyard_advisor.replay import Replay, SubmittedJob, replay
from gpuyard_advisor.replay.options import ReplayOptions
from gpuyard_advisor.replay.scaling import SCALING_POLICIES, NodeAutoscalerPolicy, WarmNodes

WINDOW = KeepWarmWindow(cron="0 8 * * *", hours=2, nodes=2)
POLICIES = {
    **SCALING_POLICIES,
    "stack": NodeAutoscalerPolicy,
    "stack, warm": lambda: NodeAutoscalerPolicy({"train": WarmNodes((WINDOW,))}),
}


def platform() -> PlatformPlan:
    raw = {
        "name": "lab",
        "cloud": "aws",
        "kubernetes": "1.36",
        "system": {"machine": "m7i.xlarge", "nodes": 2},
        "pools": [
            {
                "name": "train",
                "machine": "g6e.12xlarge",
                "nodes": "0..6",
                "capacity": ["on-demand"],
            }
        ],
        "teams": [{"name": "all", "guarantee": {"train": 24}}],
    }
    return plan_or_raise(platform_spec(raw))


def some_jobs(count: int = 150) -> list[SubmittedJob]:
    source = random.Random(5)  # noqa: S311  a seed
    jobs, now = [], 0.0
    for number in range(count):
        now += source.expovariate(1 / 700)
        jobs.append(
            SubmittedJob(
                name=f"job-{number}",
                team="all",
                submitted_at_seconds=now,
                run_seconds=source.lognormvariate(7.5, 1),
                requests={"nvidia.com/gpu": source.choice((1, 2, 4))},
                pods=source.choice((1, 1, 1, 3)),
            )
        )
    return jobs


def replayed(policy) -> Replay:
    options = ReplayOptions(nodes=True, boot_seconds=200, scaling=policy)
    return replay(platform(), some_jobs(), options=options)


class Impatient:
    """A policy that is called at each of its intervals."""

    def __init__(self, policy) -> None:
        self.policy, self.interval_seconds = policy, policy.interval_seconds
        self.desired_nodes = policy.desired_nodes

    def constant_until(self, observation) -> float:
        return observation.seconds


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_that_is_called_when_its_decision_can_change_decides_as_one_called_always(name):
    always, seldom = replayed(Impatient(POLICIES[name]())), replayed(POLICIES[name]())
    assert seldom.courses == always.courses
    pools = [found.outcome.pools[0] for found in (seldom, always)]
    assert len({(p.nodes_started, p.nodes_removed, p.flaps, p.max_nodes) for p in pools}) == 1
    if (
        not seldom.outcome.waits.never
    ):  # a replay with jobs that never start ends at some later event
        assert pools[0].node_hours == pytest.approx(pools[1].node_hours)


def test_policies_trade_waits_for_node_hours():
    stack, queue, every, warm, eager = (
        replayed(POLICIES[name]()).outcome
        for name in ("stack", "queue", "any", "any, always warm", "any, not stabilised")
    )
    assert stack.waits.never == every.waits.never == 0
    # nodes that start before jobs wait, and warm ones, shorten waits and cost node-hours
    assert stack.waits.mean > every.waits.mean > warm.waits.mean
    assert stack.node_hours < every.node_hours < warm.node_hours
    assert eager.flaps > every.flaps
    # a short queue never reaches the threshold, and its last jobs never start
    assert queue.waits.never > 0
