"""A GKE cluster."""

from typing import Any, TypedDict

import pulumi

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.gcp.kubeconfig import gke_reach
from gpuyard.resources.clusters.cluster import CloudCluster
from gpuyard.resources.plan_cache import PlatformLike, read_args, validate_platform
from gpuyard.spec.platform import Cloud


class GkeClusterArgs(TypedDict):
    """Arguments of a GkeCluster."""

    platform: PlatformLike
    """The complete platform: its pools determine the additional networks of the cluster."""


class GkeCluster(CloudCluster):
    """A GKE cluster, new or existing: networks, key, identities, system nodes.

    Pools are GpuNodePool components with the `foundation` of this one. Objects inside the cluster
    wait for the complete component: pods need nodes.
    """

    cluster_name: pulumi.Output[str]
    """The cluster's name in GKE."""
    endpoint: pulumi.Output[str]
    """Endpoint of the API server: its DNS name with `cluster.endpoint.dns`, otherwise its IP
    address.
    """
    kubeconfig: pulumi.Output[str]
    """Kubeconfig that authenticates with `gke-gcloud-auth-plugin`; it contains no credential."""
    node_service_account: pulumi.Output[str]
    """Email address of the service account of all nodes."""
    foundation: pulumi.Output[dict[str, str]]
    """Values that node pools need to join the cluster: the argument `foundation` of GpuNodePool."""
    stores: pulumi.Output[dict[str, str]]
    """Storage locations of the platform: the argument `stores` of Team."""

    def __init__(
        self,
        name: str,
        args: GkeClusterArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        entered: bool = False,
    ) -> None:
        """If `entered`, an existing cluster must respond first."""
        values = read_args("GkeCluster", args, required=("platform",))
        plan = validate_platform(values["platform"]).plan
        super().__init__(name, plan, Cloud.GCP, opts)
        reach = gke_reach(plan)
        foundation = self._build(plan, gcp_graph(plan), reach if entered else None)
        self.kubeconfig = self._open(plan, reach)
        self.cluster_name = self._cloud.resolve(UnresolvedOutput("cluster.name"))
        self.endpoint = self._cloud.resolve(reach.endpoint)
        self.node_service_account = self._cloud.resolve(UnresolvedOutput("nodes.email"))
        self.foundation = pulumi.Output.all(**foundation)
        self.stores = pulumi.Output.all(**self.store_names)
        outputs: dict[str, Any] = {
            "clusterName": self.cluster_name,
            "endpoint": self.endpoint,
            "kubeconfig": self.kubeconfig,
            "nodeServiceAccount": self.node_service_account,
            "foundation": foundation,
            "stores": self.store_names,
        }
        self.register_outputs(outputs)
