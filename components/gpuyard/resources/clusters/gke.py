"""A GKE cluster."""

from typing import TYPE_CHECKING, TypedDict, cast

import pulumi

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.resources.clusters.cluster import CloudCluster
from gpuyard.resources.errors import OutputUnavailable
from gpuyard.resources.validated_plan import PlatformLike

if TYPE_CHECKING:
    from pulumi_gcp import container

_API = "https://container.googleapis.com/v1/"
"""Prefix of the OIDC issuer and of links to clusters."""


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
        self.node_service_account = self._node_identity("nodes.email")
        return {"nodeServiceAccount": self.node_service_account}

    @property
    def cluster(self) -> "container.Cluster":
        """The cluster; an existing one is read."""
        id_ = self._cloud.resolve(UnresolvedOutput("cluster.selfLink")).apply(_id_of)
        return cast("container.Cluster", self._read_once("gcp:container/cluster:Cluster", id_))

    @property
    def oidc(self) -> pulumi.Output[str]:
        """URL of the OIDC issuer of the cluster's service accounts."""
        return pulumi.Output.concat(_API, self.cluster.id)

    @property
    def workload_pool(self) -> pulumi.Output[str]:
        """Workload identity pool of the cluster's service accounts; empty without Workload Identity."""
        return self._outputs.workload_identity_config.apply(
            lambda config: (config.workload_pool if config else None) or ""
        )

    @property
    def node_role(self) -> pulumi.Output[str]:
        """Email address of the service account of all nodes, as `node_service_account`."""
        return self.node_service_account

    @property
    def network(self) -> pulumi.Output[str]:
        """The VPC network, as Google Cloud writes it in the cluster."""
        return self._outputs.network.apply(lambda name: name or "")

    @property
    def subnets(self) -> pulumi.Output[list[str]]:
        """The subnetwork of the cluster's nodes."""
        return self._outputs.subnetwork.apply(lambda name: [name])

    @property
    def security_group(self) -> pulumi.Output[str]:
        """GKE has none.

        Raises:
            OutputUnavailable: always.
        """
        raise OutputUnavailable(
            f"{self._called}.security_group: GKE has no security groups; fix: use firewall rules "
            "of the `network`"
        )


def _id_of(link: str) -> str:
    """`projects/…/locations/…/clusters/…`; links to zonal clusters have `zones`."""
    return link.removeprefix(_API).replace("/zones/", "/locations/")
