"""ClusterAutoscaler component: the chart for EKS node groups, ComputeClasses for GKE node pools."""

from typing import TypedDict

import pulumi

from gpuyard.resources.component import Component
from gpuyard.resources.validated_plan import PlatformLike, read_args, validate_platform


class ClusterAutoscalerArgs(TypedDict):
    """Arguments of a ClusterAutoscaler."""

    platform: PlatformLike
    """The complete platform."""


class ClusterAutoscaler(Component):
    """Cluster Autoscaler on an EKS cluster that gpuyard creates: scales node groups with pending pods.

    It tries a pool's capacity options in order and removes a node that no pod needs. On GKE, which
    scales its node pools itself, the component creates a ComputeClass for each pool. On an existing
    EKS cluster it installs nothing: the cluster's own autoscaler is used.
    """

    def __init__(
        self,
        name: str,
        args: ClusterAutoscalerArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        values = read_args("ClusterAutoscaler", args, required=("platform",))
        plan = validate_platform(values["platform"]).plan
        super().__init__(
            "gpuyard:index:ClusterAutoscaler", name, {"platform": plan.name}, opts, plan
        )
        for group in plan.provider.late_api_groups:
            self._expect(group)
        objects = self._register(plan.provider.autoscaler_objects(plan))
        release = plan.provider.autoscaler_release(plan)
        if release is not None:
            self._register_chart(plan, release, objects)
        self.register_outputs({})
