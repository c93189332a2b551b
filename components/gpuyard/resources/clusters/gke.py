"""A GKE cluster."""

from typing import Any, TypedDict

import pulumi

from gpuyard.plan.records.late import Late
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.gcp.kubeconfig import gke_reach
from gpuyard.resources.clusters.cluster import CloudCluster
from gpuyard.resources.plan_cache import PlatformLike, read_args, validate_platform
from gpuyard.spec.platform import Cloud


class GkeClusterArgs(TypedDict):
    """What a GkeCluster is given."""

    platform: PlatformLike
    """The whole platform: its pools say which further networks the cluster has."""


class GkeCluster(CloudCluster):
    """A GKE cluster: networks, key, identities, system nodes. With `cluster.existing` one that is there.

    Pools are GpuNodePools, each with the `foundation` of this one. What is made inside the cluster waits for all
    of this component: nothing runs before nodes are.
    """

    cluster_name: pulumi.Output[str]
    """Its name in GKE."""
    endpoint: pulumi.Output[str]
    """Where its API answers: by its DNS name with `cluster.endpoint.dns`, else by address."""
    kubeconfig: pulumi.Output[str]
    """The way in, by `gke-gcloud-auth-plugin`: it holds no credential."""
    node_service_account: pulumi.Output[str]
    """The address of the service account of all nodes."""
    foundation: pulumi.Output[dict[str, str]]
    """What the node pools of pools rest on, for GpuNodePools."""
    stores: pulumi.Output[dict[str, str]]
    """Where the platform's storage is, for Teams."""

    def __init__(
        self,
        name: str,
        args: GkeClusterArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        entered: bool = False,
    ) -> None:
        """A cluster that is `entered` by the kubeconfig, where it exists already, must answer before."""
        values = read_args("GkeCluster", args, required=("platform",))
        plan = validate_platform(values["platform"]).plan
        super().__init__(name, plan, Cloud.GCP, opts)
        reach = gke_reach(plan)
        foundation = self._build(plan, gcp_graph(plan), reach if entered else None)
        self.kubeconfig = self._open(plan, reach)
        self.cluster_name = self._cloud.resolve(Late("cluster.name"))
        self.endpoint = self._cloud.resolve(reach.endpoint)
        self.node_service_account = self._cloud.resolve(Late("nodes.email"))
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
