"""A pool of GPU nodes."""

from dataclasses import replace
from typing import TypedDict

import pulumi

from gpuyard.findings import Severity
from gpuyard.plan.deferred import nodes_not_made
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.nodes import node_objects
from gpuyard.resources.component import Component
from gpuyard.resources.errors import PlatformRefused, unknown_name
from gpuyard.resources.proofs import PlatformLike, prove, read_args
from gpuyard.resources.state import state_of
from gpuyard.spec.platform import Cloud


class GpuNodePoolArgs(TypedDict):
    """What a GpuNodePool is given."""

    platform: PlatformLike
    """The whole platform: a pool is proved with everything that shares it."""
    pool: str
    """The name of the pool in it."""


class GpuNodePool(Component):
    """The nodes of one pool.

    On a simulated platform they are fake nodes that a controller keeps alive. On a cluster of your own they
    are there already, and carry the pool's labels: nothing is made.
    """

    nodes: pulumi.Output[list[str]]
    """Names of the nodes that are made and run from the beginning."""
    resources: pulumi.Output[dict[str, int]]
    """What each node advertises, by resource name."""

    def __init__(
        self,
        name: str,
        args: GpuNodePoolArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        given = read_args("GpuNodePool", args, required=("platform", "pool"))
        plan = prove(given["platform"]).plan
        refuse_other_clouds(plan)
        if given["pool"] not in (names := [pool.name for pool in plan.pools]):
            raise PlatformRefused(name, [unknown_name("pool", given["pool"], names)])
        pool = plan.pool(given["pool"])
        spec = next(one for one in plan.spec.pools if one.name == pool.name)
        state = {"platform": plan.name, "pool": state_of(spec)}
        super().__init__("gpuyard:index:GpuNodePool", name, state, opts)
        objects = node_objects(plan, pool) if plan.simulated else []
        made = self._register(objects)
        names = [obj["metadata"]["name"] for obj in objects]
        self.nodes = pulumi.Output.all(*(one.urn for one in made)).apply(lambda _: names)
        self.resources = pulumi.Output.from_input({a.resource: a.per_node for a in pool.advertised})
        self.register_outputs({"nodes": self.nodes, "resources": self.resources})


def refuse_other_clouds(plan: PlatformPlan) -> None:
    """Say so before anything is registered when this release can't make the platform's nodes."""
    if plan.cloud in {Cloud.SIMULATED, Cloud.NONE}:
        return
    found = [replace(finding, severity=Severity.REFUSE) for finding in nodes_not_made(plan.spec)]
    raise PlatformRefused(f"the platform {plan.name}", found)
