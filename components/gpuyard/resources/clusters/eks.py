"""An EKS cluster."""

from typing import Any, TypedDict

import pulumi

from gpuyard.plan.records.late import Late
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.kubeconfig import eks_reach
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.resources.clusters.cluster import CloudCluster
from gpuyard.resources.plan_cache import PlatformLike, read_args, validate_platform
from gpuyard.spec.platform import Cloud


class EksClusterArgs(TypedDict):
    """What an EksCluster is given."""

    platform: PlatformLike
    """The whole platform: its pools say in which zones the network has subnets."""


class EksCluster(CloudCluster):
    """An EKS cluster: network, keys, roles, add-ons, system nodes. With `cluster.existing` one that is there.

    Pools are GpuNodePools, each with the `foundation` of this one. What is made inside the cluster waits for all
    of this component: nobody may enter before an access entry is there, and nothing runs before nodes are.
    """

    cluster_name: pulumi.Output[str]
    """Its name in EKS."""
    endpoint: pulumi.Output[str]
    """Where its API answers; inside its network only, unless `cluster.endpoint.public` admits others."""
    certificate_authority: pulumi.Output[str]
    """The certificate of that address's authority, in base64."""
    kubeconfig: pulumi.Output[str]
    """The way in, by `aws eks get-token`: it holds no credential."""
    node_role: pulumi.Output[str]
    """The ARN of the role of all nodes."""
    foundation: pulumi.Output[dict[str, str]]
    """What the node groups of pools rest on, for GpuNodePools."""
    stores: pulumi.Output[dict[str, str]]
    """Where the platform's storage is, for Teams; what Karpenter's nodes start from, for Karpenter."""

    def __init__(
        self,
        name: str,
        args: EksClusterArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        entered: bool = False,
        graph: CloudGraph | None = None,
    ) -> None:
        """A cluster that is `entered` by the kubeconfig, where it exists already, must answer before.

        `graph` is the platform's where what is deployed changes it.
        """
        values = read_args("EksCluster", args, required=("platform",))
        plan = validate_platform(values["platform"]).plan
        super().__init__(name, plan, Cloud.AWS, opts)
        reach = eks_reach(plan, pulumi.Config("aws").get("profile"))
        foundation = self._build(plan, graph or aws_graph(plan), reach if entered else None)
        self.kubeconfig = self._open(plan, reach)
        self.cluster_name = self._cloud.resolve(Late("cluster.name"))
        self.endpoint = self._cloud.resolve(reach.endpoint)
        self.certificate_authority = self._cloud.resolve(reach.authority)
        self.node_role = self._cloud.resolve(Late("node-role.arn"))
        self.foundation = pulumi.Output.all(**foundation)
        self.stores = pulumi.Output.all(**self.store_names)
        outputs: dict[str, Any] = {
            "clusterName": self.cluster_name,
            "endpoint": self.endpoint,
            "certificateAuthority": self.certificate_authority,
            "kubeconfig": self.kubeconfig,
            "nodeRole": self.node_role,
            "foundation": foundation,
            "stores": self.store_names,
        }
        self.register_outputs(outputs)
