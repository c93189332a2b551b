"""Which cluster a platform asks for: one of its cloud, with what its pools rest on; or none that is made."""

from collections.abc import Collection
from typing import TYPE_CHECKING, TypeAlias, cast

import pulumi

from gpuyard.plan.capacity.autoscaler import installs_autoscaler
from gpuyard.plan.capacity.karpenter import installs_karpenter
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.resources.provider import ClusterProvider, provider_of
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import Apply

if TYPE_CHECKING:
    from gpuyard.resources.clusters.eks import EksCluster
    from gpuyard.resources.clusters.gke import GkeCluster
    from gpuyard.resources.clusters.karpenter import Karpenter

    CloudCluster: TypeAlias = EksCluster | GkeCluster


# A platform of one cloud loads nothing of the other: imports are where they are needed.
def cluster_for(
    name: str,
    plan: PlatformPlan,
    opts: pulumi.ResourceOptions,
    *,
    entered: bool,
    graph: CloudGraph | None,
) -> "CloudCluster | None":
    """The cluster of the platform, and its system's nodes; None where a kubeconfig says where it is.

    Not `entered` where a provider of the user's own is the way in.
    """
    if plan.cloud is Cloud.AWS:
        from gpuyard.resources.clusters.eks import EksCluster

        return EksCluster(name, {"platform": plan}, opts, entered=entered, graph=graph)
    if plan.cloud is Cloud.GCP:
        from gpuyard.resources.clusters.gke import GkeCluster

        return GkeCluster(name, {"platform": plan}, opts, entered=entered)
    return None


def autoscaler_for(name: str, plan: PlatformPlan, opts: pulumi.ResourceOptions) -> None:
    """What scales node groups of EKS, where the platform brings it; and what GKE's own goes by."""
    if installs_autoscaler(plan.spec) or any(pool.compute_class for pool in plan.pools):
        from gpuyard.resources.clusters.autoscaler import ClusterAutoscaler

        ClusterAutoscaler(name, {"platform": plan}, opts)


def karpenter_for(
    name: str,
    plan: PlatformPlan,
    opts: pulumi.ResourceOptions,
    cluster: "CloudCluster | None",
    later: Collection[str],
) -> "Karpenter | None":
    """What makes nodes of EKS, where the platform brings it; of pools in `later` it is told later."""
    if installs_karpenter(plan.spec) and cluster is not None:
        from gpuyard.resources.clusters.karpenter import Karpenter, KarpenterArgs

        arguments: KarpenterArgs = {"platform": plan, "stores": {**cluster.store_names}}
        return Karpenter(name, arguments, opts, later=later)
    return None


def kubernetes_provider(
    name: str, plan: PlatformPlan, cluster: "CloudCluster | None", opts: pulumi.ResourceOptions
) -> ClusterProvider:
    """The provider of what is inside a cluster of a cloud, of a named cluster, or of a folder of manifests.

    Nobody may enter before the cluster's access entries are there, and nothing runs before its nodes. What
    the provider waits for, all its objects wait for, and they go before it.
    """
    rendered = plan.spec.apply is Apply.RENDER
    named = provider_of(plan, f"{name}-{'rendered' if rendered else 'kubernetes'}", opts=opts)
    if named is not None:
        return named
    cluster = cast("CloudCluster", cluster)
    waits = pulumi.ResourceOptions(depends_on=[cluster])
    return ClusterProvider(
        f"{name}-kubernetes",
        cluster.identity,
        cluster.kubeconfig,
        pulumi.ResourceOptions.merge(opts, waits),
        credential=False,
    )
