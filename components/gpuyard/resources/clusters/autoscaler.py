"""ClusterAutoscaler component: the chart for EKS node groups, ComputeClasses for GKE node pools."""

from typing import TypedDict

import pulumi

from gpuyard.names import AUTOSCALER_RELEASE
from gpuyard.render.charts import release_object
from gpuyard.render.platform import autoscaler_objects, autoscaler_release
from gpuyard.resources.component import Component
from gpuyard.resources.releases import register_release
from gpuyard.resources.validated_plan import PlatformLike, read_args, validate_platform
from gpuyard.spec.sections import Apply


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
        super().__init__("gpuyard:index:ClusterAutoscaler", name, {"platform": plan.name}, opts)
        for group in plan.provider.late_api_groups:
            self._expect(group)
        objects = self._register(autoscaler_objects(plan))
        release = autoscaler_release(plan)
        if release is not None and plan.spec.apply is Apply.RENDER:
            self._register([release_object(plan.name, AUTOSCALER_RELEASE, release)])
        elif release is not None:
            register_release(self, release, self._hooked(self._after(objects)))
        self.register_outputs({})
