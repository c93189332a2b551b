"""Karpenter component: its charts, node classes and NodePools."""

from collections.abc import Collection, Iterable
from typing import NotRequired

import pulumi

from gpuyard.resources.component import Component
from gpuyard.resources.part_args import LateValues, Part, PartArgs, read_part, read_stores, sections
from gpuyard_core.catalogue.kubernetes.karpenter import NODE_CLASS_GROUP, POOL_GROUP

_PART = Part("Karpenter", ("system",), required=("pools", "system"), optional=("stores",))


class KarpenterArgs(PartArgs):
    """Arguments of a Karpenter: a platform, or its pools and the system nodes of the cluster."""

    system: NotRequired[sections.System]
    """System nodes of the EksCluster, on which Karpenter runs."""
    stores: NotRequired[LateValues]
    """The output `stores` of the EksCluster: Karpenter's interruption queue and the bootstrap
    values of its nodes.
    """


class Karpenter(Component):
    """Karpenter on an EKS cluster that gpuyard creates: provisions nodes by each pool's capacity options.

    The CRDs are installed first, then the controller, then the NodePools. Deletion runs in the
    opposite order: a node class stays until its last node is gone, and the controller runs until
    then.
    """

    def __init__(
        self,
        name: str,
        args: KarpenterArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        later: Collection[str] = (),
    ) -> None:
        """NodePools of pools in `later` (first names) are registered by `then`."""
        proof, values = read_part(_PART, name, args, opts)
        plan = proof.plan
        self._nodes = plan.provider.karpenter_nodes(plan)
        charts = plan.provider.karpenter_releases(plan)
        rendered = [self._nodes, [chart.values for chart in charts]]
        what = f"{name}: the bootstrap values of Karpenter's nodes"
        self._late = late = read_stores(what, values, rendered, proof.late_inputs)
        super().__init__("gpuyard:index:Karpenter", name, {"platform": plan.name}, opts, plan)
        for chart in charts:
            self._waits_for = self._after([self._register_chart(plan, chart, [], late=late)])
        for group in (NODE_CLASS_GROUP, POOL_GROUP):
            self._expect(group)
        for pool, objects in self._nodes.items():
            if pool not in later:
                self._register(objects, late)
        self.register_outputs({})

    def register_second_wave(
        self, pools: Collection[str], after: Iterable[pulumi.Resource]
    ) -> None:
        """Register the NodePools of the second wave, after the first wave is verified."""
        self._waits_for = self._after(after)
        for pool, objects in self._nodes.items():
            if pool in pools:
                self._register(objects, self._late)
