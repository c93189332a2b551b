"""Karpenter component: its charts, node classes and NodePools."""

from collections.abc import Collection, Iterable
from typing import NotRequired, TypedDict

import pulumi

from gpuyard.catalogue.kubernetes.karpenter import NODE_CLASS_GROUP, POOL_GROUP
from gpuyard.errors import OutputValueMissing
from gpuyard.findings import format_list
from gpuyard.plan.records.late import unresolved_output_names
from gpuyard.resources.component import Component
from gpuyard.resources.validated_plan import PlatformLike, read_args, validate_platform


class KarpenterArgs(TypedDict):
    """Arguments of a Karpenter."""

    platform: PlatformLike
    """The complete platform."""
    stores: NotRequired[dict[str, pulumi.Input[str]]]
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
        values = read_args("Karpenter", args, required=("platform",), optional=("stores",))
        plan = validate_platform(values["platform"], opts).plan
        self._nodes = plan.provider.karpenter_nodes(plan)
        charts = plan.provider.karpenter_releases(plan)
        self._late = late = values.get("stores") or {}
        needed = unresolved_output_names([self._nodes, [chart.values for chart in charts]])
        if missing := sorted(needed - late.keys()):
            raise OutputValueMissing(
                f"{name}: the bootstrap values of Karpenter's nodes are missing: set "
                f"{format_list(missing)} in `stores`"
            )
        super().__init__("gpuyard:index:Karpenter", name, {"platform": plan.name}, opts)
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
