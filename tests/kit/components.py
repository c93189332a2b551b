"""One small platform, and each component made from it: what the tests of the components share."""

import functools
from collections.abc import Callable
from typing import Any

import pulumi

from gpuyard.resources import (
    ClusterAutoscaler,
    GpuNodePool,
    GpuOperator,
    IdleReclaim,
    Platform,
    Queueing,
    Team,
    Validation,
)
from gpuyard_testing import Graph, StackRunner
from kit.stacks import cut_pool, platform, pool, shared_pool, team

LAB = platform(
    cloud="simulated",
    pools=[
        pool(zones=["a", "b"], labels={"rack": "r1"}, capacity=["spot"]),
        cut_pool(),
        shared_pool(),
    ],
    teams=[
        team("vision", guarantee={"train": 8, "serve/3g.20gb": 4}, groups=["seers"], idle={}),
        team("speech", guarantee={"dev/shared": 4}, borrow={"train": 8}, weight=2),
    ],
    budget={"max_usd_per_hour": 5000},
    observability={"prometheus": "existing"},
    validation={"image": "registry.example.org/ml/base:1"},
)
WHOLE: dict[str, Callable[..., pulumi.ComponentResource]] = {
    "ClusterAutoscaler": ClusterAutoscaler,
    "GpuOperator": GpuOperator,
    "IdleReclaim": IdleReclaim,
    "Platform": Platform,
    "Queueing": Queueing,
    "Validation": Validation,
}
"""Components whose only input is a platform."""
COMPONENTS = ("GpuNodePool", "Team", *(kind for kind in WHOLE if kind != "ClusterAutoscaler"))
"""Components of a platform on your own nodes."""


def component(
    kind: str, platform: Any = LAB, opts: pulumi.ResourceOptions | None = None
) -> pulumi.ComponentResource:
    """The component of that class, called lab: for the pool train or the team vision if it needs one."""
    if kind == "GpuNodePool":
        return GpuNodePool("lab", {"platform": platform, "pool": "train"}, opts)
    if kind == "Team":
        return Team("lab", {"platform": platform, "team": "vision"}, opts)
    return WHOLE[kind]("lab", {"platform": platform}, opts)


@functools.cache
def graph_of(kind: str) -> Graph:
    """The resources that the component of that class registers: built once and not changed by tests."""
    return StackRunner().run(lambda: component(kind))


def token(kind: str) -> str:
    """The type token of a component."""
    return f"gpuyard:index:{kind}"


def waits_for(graph: Graph, name: str) -> set[str]:
    """Dependencies of the resource of that name, without the names of the parents."""
    by_urn = {one.urn: one for one in graph}
    return {by_urn[urn].name.partition(":")[2] for urn in graph.one(name=name).dependencies}
