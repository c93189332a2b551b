"""What clusters of all clouds have in common: their resources, what pools rest on, and the way in."""

from typing import Any

import pulumi

from gpuyard.names import SYSTEM_POOL
from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import Late
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard.render.cloud.kubeconfig import ClusterAccess
from gpuyard.resources.clouds import CloudResources
from gpuyard.resources.clusters.connectivity import wait_until_reachable
from gpuyard.resources.clusters.prerequisites import check_prerequisites
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.errors import PlatformRejected, other_cloud
from gpuyard.resources.state import state_of
from gpuyard.spec.platform import Cloud


class CloudCluster(Component):
    """A cluster of a cloud, with the nodes of its controllers; pools are components of their own."""

    def __init__(
        self,
        name: str,
        plan: PlatformPlan,
        cloud: Cloud,
        opts: pulumi.ResourceOptions | None,
    ) -> None:
        kind = type(self).__name__
        if plan.cloud is not cloud:
            raise PlatformRejected(name, [other_cloud(kind, plan.cloud.value, cloud.value)])
        cluster = plan.spec.cluster
        state: dict[str, Any] = {"platform": plan.name}
        if cluster is not None:
            state["cluster"] = state_of(cluster)
        super().__init__(f"gpuyard:index:{kind}", name, state, opts)
        self._cloud = CloudResources(name, own="cluster")

    @property
    def graph(self) -> CloudGraph:
        """All of the platform's: pools of the same program take their parts of it."""
        return self._graph

    @property
    def resources(self) -> CloudResources:
        """What pools of the same program rest on."""
        return self._cloud

    @property
    def store_names(self) -> dict[str, pulumi.Output[str]]:
        """What objects inside the cluster name of its cloud: storage, and what Karpenter's nodes are."""
        return self._stores

    def _build(
        self, plan: PlatformPlan, graph: CloudGraph, entered: ClusterAccess | None
    ) -> dict[str, pulumi.Output[Any]]:
        """Make what is there for the whole cluster; what pools of other programs rest on.

        A cluster that is `entered` must answer before.
        """
        self._graph = graph
        ours = [each for each in graph.resources if each.part in {"", SYSTEM_POOL}]
        check_prerequisites(self, plan, graph.prerequisites)
        self._cloud.ask(self, graph.calls)
        answered = wait_until_reachable(plan, entered, self._cloud) if entered is not None else None
        waits = pulumi.ResourceOptions.merge(self._waits_for, answered)
        resources = self._cloud.register(self, ours, waits)
        self._stores = {
            name: self._cloud.resolve(value) for name, value in graph.late_values.items()
        }
        names = graph.external_values(pool.stable_name for pool in plan.pools)
        # No node comes before its cluster is ready for it: each value waits for all of it.
        ready = after_created(True, *resources)  # noqa: FBT003  any value
        return {
            name: pulumi.Output.all(self._cloud.resolve(Late(name)), ready).apply(
                lambda got: got[0]
            )
            for name in names
        }

    def _open(self, plan: PlatformPlan, reach: ClusterAccess) -> pulumi.Output[str]:
        """The kubeconfig; and what tells the cluster from one that is made anew in its place."""
        self._identity: pulumi.Output[str] = self._cloud.resolve(reach.identity)
        config = reach.kubeconfig(cluster_spec(plan.spec).existing or plan.name)
        text: pulumi.Output[str] = self._cloud.resolve(config)
        return text

    @property
    def identity(self) -> pulumi.Output[str]:
        """Another text for another cluster, also for one that is made anew under the same name."""
        return self._identity
