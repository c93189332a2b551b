"""A GKE cluster."""

from typing import TypedDict

import pulumi

from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.render.gcp.identity import node_account
from gpuyard.resources.clusters.cluster import CloudCluster
from gpuyard.resources.validated_plan import PlatformLike


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
        graph: CloudGraph | None = None,
    ) -> None:
        """If `entered`, an existing cluster must respond first.

        `graph` replaces the platform's graph if the state of the last deployment changes it.
        """
        super().__init__(name, args, opts, entered=entered, graph=graph)

    def _own_outputs(self) -> dict[str, pulumi.Output[str]]:
        self.node_service_account = self._cloud.resolve(node_account(self._plan))
        return {"nodeServiceAccount": self.node_service_account}
