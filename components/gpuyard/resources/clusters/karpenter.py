"""Karpenter component: its charts, and what it makes the nodes of its pools by."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

import pulumi

from gpuyard.catalogue.kubernetes.karpenter import NODE_CLASS_GROUP, POOL_GROUP
from gpuyard.errors import LateValueMissing
from gpuyard.findings import format_list
from gpuyard.names import KARPENTER_RELEASE
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import bind, late_names
from gpuyard.render.charts import Release, release_object
from gpuyard.render.platform import karpenter_nodes_of, karpenter_releases
from gpuyard.resources.component import Component
from gpuyard.resources.plan_cache import PlatformLike, read_args, validate_platform
from gpuyard.resources.releases import register_release
from gpuyard.spec.sections import Apply


class KarpenterArgs(TypedDict):
    """What a Karpenter is given."""

    platform: PlatformLike
    """The whole platform."""
    stores: NotRequired[dict[str, pulumi.Input[str]]]
    """The `stores` of the EksCluster: its queue, and what its nodes start from, by name."""


class Karpenter(Component):
    """Karpenter, in a cluster of ours on EKS: a node for what asks for one, by the ladder of its pool.

    First the definitions of what it reads, then the controller, then its NodePools. They go in the opposite
    order: a node class stays until its last node has gone, and the controller is there to end them.
    """

    def __init__(
        self,
        name: str,
        args: KarpenterArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        later: Collection[str] = (),
    ) -> None:
        """Of pools in `later`, by their first names, it is told when `then` is called."""
        values = read_args("Karpenter", args, required=("platform",), optional=("stores",))
        plan = validate_platform(values["platform"]).plan
        self._nodes, charts = karpenter_nodes_of(plan), karpenter_releases(plan)
        self._late = late = values.get("stores") or {}
        needed = late_names([self._nodes, [chart.values for chart in charts]])
        if missing := sorted(needed - late.keys()):
            raise LateValueMissing(
                f"{name}: what Karpenter's nodes start from, nobody says: give `stores` {format_list(missing)}"
            )
        super().__init__("gpuyard:index:Karpenter", name, {"platform": plan.name}, opts)
        for chart in charts:
            self._waits_for = self._after([self._chart(plan, chart, late)])
        for group in (NODE_CLASS_GROUP, POOL_GROUP):
            self._expect(group)
        for pool, objects in self._nodes.items():
            if pool not in later:
                self._register(objects, late)
        self.register_outputs({})

    def then(self, pools: Collection[str], after: Iterable[pulumi.Resource]) -> None:
        """Tell it of the pools that came later, once others have proved what their nodes are to be."""
        self._waits_for = self._after(after)
        for pool, objects in self._nodes.items():
            if pool in pools:
                self._register(objects, self._late)

    def _chart(
        self, plan: PlatformPlan, chart: Release, late: Mapping[str, pulumi.Input[str]]
    ) -> pulumi.CustomResource:
        """Installed; or, where objects become files, one of them, with the text that its values are then."""
        if plan.spec.apply is not Apply.RENDER:
            release = replace(chart, values=bind(dict(chart.values), late.__getitem__))
            return register_release(self, release, self._hooked(self._after([])))

        def written(got: Mapping[str, str]) -> Any:
            values = bind(dict(chart.values), got.__getitem__)
            named = KARPENTER_RELEASE.format(chart.name)
            return release_object(plan.name, named, replace(chart, values=values))

        # Names are known at once, whatever the values will be.
        shown: dict[str, Any] = written(dict.fromkeys(late, ""))
        data = pulumi.Output.all(**late).apply(lambda got: written(got)["data"])
        return self._register([{**shown, "data": data}])[0]
