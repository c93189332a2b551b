"""Common part of all cloud clusters: their resources, the values that pools reference, and access."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import pulumi

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.provider import provider_of
from gpuyard.render.cloud.graph import CLUSTER, CloudGraph
from gpuyard.render.cloud.kubeconfig import ClusterAccess
from gpuyard.resources.clouds import CloudResources
from gpuyard.resources.clusters.connectivity import wait_until_reachable
from gpuyard.resources.clusters.prerequisites import check_prerequisites
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.errors import PlatformRejected
from gpuyard.resources.state import spec_without_defaults
from gpuyard.resources.validated_plan import read_args, validate_platform
from gpuyard.sdk_classes import resource_class
from gpuyard.spec.platform import Cloud
from gpuyard_core.findings import Fix, error
from gpuyard_core.names import SYSTEM_POOL

if TYPE_CHECKING:

    class ClusterResource(pulumi.CustomResource):
        """The SDK's resource of a cluster, as far as it is the same in all clouds."""

        name: pulumi.Output[str]
        """The cluster's name."""
        endpoint: pulumi.Output[str]
        """The endpoint of the API server: a URL in EKS, an IP address in GKE."""

        def __getattr__(self, name: str) -> pulumi.Output[Any]:
            """Any other output of the SDK's class; `eks.cluster` and `gke.cluster` have its types."""


class CloudCluster(Component):
    """A cloud cluster with its system nodes; pools are separate components."""

    def __init__(
        self,
        name: str,
        args: Mapping[str, object],
        opts: pulumi.ResourceOptions | None = None,
        *,
        entered: bool = False,
        graph: CloudGraph | None = None,
    ) -> None:
        """If `entered`, an existing cluster must respond first.

        `graph` replaces the platform's graph if the state of the last deployment changes it.
        """
        kind = type(self).__name__
        values = read_args(kind, args, required=("platform",))
        proof = validate_platform(values["platform"], opts)
        self._plan = plan = proof.plan
        if plan.provider.cluster_kind != kind:
            required = next(each for each in Cloud if provider_of(each).cluster_kind == kind)
            finding = error(
                "args.cloud",
                ("platform", "cloud"),
                f"{kind} creates clusters on {required} only",
                given=plan.cloud.value,
                allowed=required,
                fix=Fix(message=f"write cloud: {required}"),
            )
            raise PlatformRejected(name, [finding])
        cluster = plan.spec.cluster
        state: dict[str, Any] = {"platform": plan.name}
        if cluster is not None:
            state["cluster"] = spec_without_defaults(cluster)
        super().__init__(f"gpuyard:index:{kind}", name, state, opts)
        self._resource: pulumi.CustomResource | None = None
        self._cloud = CloudResources(name, own="cluster", late_inputs=proof.late_inputs)
        profile = pulumi.Config(plan.cloud.value).get("profile")
        self._entry = cast("ClusterAccess", plan.provider.access(plan, profile))
        graph = graph or cast("CloudGraph", plan.provider.graph(plan))
        self.graph = graph
        """The graph of the whole platform; pools of the same program register their parts of it."""
        self.resources = self._cloud
        """The registered resources, which pools of the same program reference."""
        foundation = self._build(plan, graph, self._entry if entered else None)
        self.identity: pulumi.Output[str] = self._cloud.resolve(self._entry.identity)
        """Identifies the cluster; changes if a cluster of the same name replaces it."""
        config = self._entry.kubeconfig(cluster_spec(plan.spec).existing or plan.name)
        self.kubeconfig: pulumi.Output[str] = self._cloud.resolve(config)
        self.cluster_name = self._cloud.resolve(UnresolvedOutput("cluster.name"))
        self.endpoint = self._cloud.resolve(self._entry.endpoint)
        self.foundation = pulumi.Output.all(**foundation)
        self.stores = pulumi.Output.all(**self.store_names)
        outputs: dict[str, Any] = {
            "clusterName": self.cluster_name,
            "endpoint": self.endpoint,
            "kubeconfig": self.kubeconfig,
            **self._own_outputs(),
            "foundation": foundation,
            "stores": self.store_names,
        }
        self.register_outputs(outputs)

    def _read_once(self, kind: str, id_: pulumi.Input[str]) -> pulumi.CustomResource:
        """The cluster's resource; an existing cluster is read on first use, and never changed."""
        if self._resource is None and cluster_spec(self._plan.spec).existing:
            # `gpuyard.changes` takes a name that begins with the platform's for a part of its graph.
            name, opts = f"existing:{self._called}", pulumi.ResourceOptions(parent=self)
            self._resource = resource_class(kind).get(name, id_, opts)
        return self._resource or self._cloud.resource(CLUSTER)

    @property
    def _outputs(self) -> "ClusterResource":
        """The cluster without the SDK's types, which type checkers of gpuyard do not load."""
        return cast("ClusterResource", cast("Any", self).cluster)

    def _own_outputs(self) -> dict[str, pulumi.Output[str]]:
        """Outputs that only this kind of cluster has."""
        return {}

    def _node_identity(self, created: str) -> pulumi.Output[str]:
        """The identity of all nodes: an existing one, or the one that gpuyard creates."""
        existing = cluster_spec(self._plan.spec).roles.nodes
        identity = self._cloud.resolve(existing or UnresolvedOutput(created))
        return pulumi.Output.from_input(identity)

    def _build(
        self, plan: PlatformPlan, graph: CloudGraph, entered: ClusterAccess | None
    ) -> dict[str, pulumi.Output[Any]]:
        """Register the resources of the whole cluster; returns the values that pools of other programs need.

        If `entered`, an existing cluster must respond first.
        """
        ours = [each for each in graph.resources if each.part in {"", SYSTEM_POOL}]
        check_prerequisites(self, plan, graph.prerequisites)
        self._cloud.run_queries(self, graph.calls)
        answered = wait_until_reachable(plan, entered, self._cloud) if entered is not None else None
        waits = pulumi.ResourceOptions.merge(self._waits_for, answered)
        resources = self._cloud.register(self, ours, waits)
        self.store_names: dict[str, pulumi.Output[str]] = {
            name: self._cloud.resolve(value) for name, value in graph.late_values.items()
        }
        """Cloud values for objects inside the cluster: storage locations, Karpenter's bootstrap values."""
        names = graph.external_values(pool.stable_name for pool in plan.pools)
        # No node is created before its cluster is complete: each value waits for all resources.
        ready = after_created(True, *resources)  # noqa: FBT003  any value
        return {
            name: pulumi.Output.all(self._cloud.resolve(UnresolvedOutput(name)), ready).apply(
                lambda got: got[0]
            )
            for name in names
        }
