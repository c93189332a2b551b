"""ClusterAutoscaler component: the chart for node groups of EKS, and classes for node pools of GKE."""

from typing import TypedDict

import pulumi

from gpuyard.catalogue.gke.classes import CLASS_GROUP
from gpuyard.names import AUTOSCALER_RELEASE
from gpuyard.render.charts import release_object
from gpuyard.render.platform import autoscaler_objects, autoscaler_release
from gpuyard.resources.component import Component
from gpuyard.resources.plan_cache import PlatformLike, read_args, validate_platform
from gpuyard.resources.releases import register_release
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import Apply


class ClusterAutoscalerArgs(TypedDict):
    """What a ClusterAutoscaler is given."""

    platform: PlatformLike
    """The whole platform."""


class ClusterAutoscaler(Component):
    """Cluster Autoscaler, in a cluster of ours on EKS: node groups grow and shrink with what asks for them.

    The best way of buying is tried first, and a node goes when nothing on it asks for anything. GKE scales
    its node pools itself: there it is a ComputeClass for each pool. A cluster of EKS that was there before
    may have an autoscaler, and is left to it.
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
        if plan.cloud is Cloud.GCP:
            self._expect(CLASS_GROUP)  # a while after the cluster is there
        objects = self._register(autoscaler_objects(plan))
        release = autoscaler_release(plan)
        if release is not None and plan.spec.apply is Apply.RENDER:
            self._register([release_object(plan.name, AUTOSCALER_RELEASE, release)])
        elif release is not None:
            register_release(self, release, self._hooked(self._after(objects)))
        self.register_outputs({})
