"""An EKS cluster."""

from typing import TYPE_CHECKING, TypedDict, cast

import pulumi

from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.resources.clusters.cluster import CloudCluster
from gpuyard.resources.validated_plan import PlatformLike

if TYPE_CHECKING:
    from pulumi_aws import eks


class EksClusterArgs(TypedDict):
    """Arguments of an EksCluster."""

    platform: PlatformLike
    """The complete platform: the zones of its pools determine the subnets of the network."""


class EksCluster(CloudCluster):
    """An EKS cluster, new or existing: network, keys, roles, add-ons, system nodes.

    Pools are GpuNodePool components with the `foundation` of this one. Objects inside the cluster
    wait for the complete component: access needs the access entries, and pods need nodes.
    """

    cluster_name: pulumi.Output[str]
    """The cluster's name in EKS."""
    endpoint: pulumi.Output[str]
    """URL of the API server; reachable only from the network, unless `cluster.endpoint.public`
    admits other ranges.
    """
    certificate_authority: pulumi.Output[str]
    """The CA certificate of the API server, base64-encoded."""
    kubeconfig: pulumi.Output[str]
    """Kubeconfig that authenticates with `aws eks get-token`; it contains no credential."""
    node_role: pulumi.Output[str]
    """ARN of the IAM role of all nodes."""
    foundation: pulumi.Output[dict[str, str]]
    """Values that node groups need to join the cluster: the argument `foundation` of GpuNodePool."""
    stores: pulumi.Output[dict[str, str]]
    """Storage locations for Team, and the queue and bootstrap values of nodes for Karpenter: their
    argument `stores`.
    """

    def __init__(
        self,
        name: str,
        args: EksClusterArgs,
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
        self.certificate_authority = self._cloud.resolve(self._entry.authority)
        self.node_role = self._node_identity("node-role.arn")
        return {
            "certificateAuthority": self.certificate_authority,
            "nodeRole": self.node_role,
        }

    @property
    def cluster(self) -> "eks.Cluster":
        """The cluster; an existing one is read."""
        return cast("eks.Cluster", self._read_once("aws:eks/cluster:Cluster", self.cluster_name))

    @property
    def arn(self) -> pulumi.Output[str]:
        """ARN of the cluster."""
        return self._outputs.arn

    @property
    def oidc(self) -> pulumi.Output[str]:
        """URL of the OIDC issuer of the cluster's service accounts.

        gpuyard registers no IAM OIDC provider: its workloads use EKS Pod Identity.
        """
        return self._outputs.identities.apply(lambda found: found[0].oidcs[0].issuer)

    @property
    def network(self) -> pulumi.Output[str]:
        """Id of the VPC."""
        return self._outputs.vpc_config.apply(lambda config: config.vpc_id or "")

    @property
    def subnets(self) -> pulumi.Output[list[str]]:
        """Ids of the subnets of the control plane."""
        return self._outputs.vpc_config.apply(lambda config: list(config.subnet_ids))

    @property
    def security_group(self) -> pulumi.Output[str]:
        """Id of the security group that EKS creates for the control plane and the nodes."""
        return self._outputs.vpc_config.apply(lambda config: config.cluster_security_group_id or "")
