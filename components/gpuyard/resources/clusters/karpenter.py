"""Karpenter component: its charts, node classes and NodePools."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NotRequired, TypedDict

import pulumi

from gpuyard.catalogue.kubernetes.karpenter import NODE_CLASS_GROUP, POOL_GROUP
from gpuyard.errors import OutputValueMissing
from gpuyard.findings import format_list
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import resolve_outputs, unresolved_output_names
from gpuyard.render.charts import Release, release_object
from gpuyard.resources.component import Component
from gpuyard.resources.validated_plan import PlatformLike, read_args, validate_platform
from gpuyard.spec.sections import Apply


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
        plan = validate_platform(values["platform"]).plan
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
            self._waits_for = self._after([self._chart(plan, chart, late)])
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

    def _chart(
        self, plan: PlatformPlan, chart: Release, late: Mapping[str, pulumi.Input[str]]
    ) -> pulumi.CustomResource:
        """Install the chart; with rendered manifests, register an object with its values as text."""
        if plan.spec.apply is not Apply.RENDER:
            release = replace(chart, values=resolve_outputs(dict(chart.values), late.__getitem__))
            return self._register_chart(plan, release, [])

        def written(got: Mapping[str, str]) -> Any:
            values = resolve_outputs(dict(chart.values), got.__getitem__)
            return release_object(plan.name, replace(chart, values=values))

        # Names are known immediately, values possibly later.
        shown: dict[str, Any] = written(dict.fromkeys(late, ""))
        data = pulumi.Output.all(**late).apply(lambda got: written(got)["data"])
        return self._register([{**shown, "data": data}])[0]
