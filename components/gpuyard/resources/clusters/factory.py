"""Creates the cluster components that a platform needs, if any."""

from collections.abc import Collection
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

import pulumi

from gpuyard.plan.capacity.scaling import installs_karpenter
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.resources.provider import ClusterProvider, provider_of
from gpuyard.resources.validated_plan import ValidatedPlan
from gpuyard.spec.sections import Apply

if TYPE_CHECKING:
    from gpuyard.resources.clusters.cluster import CloudCluster
    from gpuyard.resources.clusters.karpenter import Karpenter


# Imports are local, so that a platform loads only the modules of its own cloud.
def register_cluster(
    name: str,
    proof: ValidatedPlan,
    opts: pulumi.ResourceOptions,
    *,
    entered: bool,
    graph: CloudGraph | None,
) -> "CloudCluster | None":
    """The platform's cluster with its system nodes; None if a kubeconfig names the cluster.

    `entered` is false if the user passes a Kubernetes provider.
    """
    kind = proof.plan.provider.cluster_component
    if not kind:
        return None
    component: type[CloudCluster] = resolve_name(kind)
    return component(name, {"platform": proof}, opts, entered=entered, graph=graph)


def register_karpenter(
    name: str,
    plan: PlatformPlan,
    opts: pulumi.ResourceOptions,
    cluster: "CloudCluster | None",
    later: Collection[str],
) -> "list[Karpenter]":
    """Register Karpenter, if gpuyard installs it; pools in `later` are added in a second step."""
    if installs_karpenter(plan.spec) and cluster is not None:
        from gpuyard.resources.clusters.karpenter import Karpenter, KarpenterArgs

        arguments: KarpenterArgs = {"platform": plan, "stores": {**cluster.store_names}}
        return [Karpenter(name, arguments, opts, later=later)]
    return []


def kubernetes_provider(
    name: str, plan: PlatformPlan, cluster: "CloudCluster | None", opts: pulumi.ResourceOptions
) -> ClusterProvider:
    """The provider for objects inside a cloud cluster, a named cluster, or a manifest folder.

    Access needs the cluster's access entries, and pods need nodes. All objects wait for what the
    provider waits for, and are deleted before it.
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
