"""Storage component: file systems and buckets for an existing cluster, and their volumes for teams."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.records.storage import NO_STORAGE
from gpuyard.render.cloud.graph import late_value_names
from gpuyard.render.storage import storage_objects
from gpuyard.resources.clouds import CloudResources
from gpuyard.resources.clusters.prerequisites import check_prerequisites
from gpuyard.resources.component import Component
from gpuyard.resources.part_args import Part, PartArgs, read_part, sections
from gpuyard.resources.state import spec_without_defaults

_CLUSTER_GROUP = "cluster.vpcConfig.clusterSecurityGroupId"
"""The security group that EKS attaches to every node of a managed node group."""

_PART = Part("Storage", ("storage",), required=("pools", "storage"))


class StorageArgs(PartArgs):
    """Arguments of a Storage: the storage of a platform, its pools, and the teams that mount it."""

    storage: sections.Storage
    """Datasets and checkpoints."""


class Storage(Component):
    """File systems and buckets for datasets and checkpoints, and their volumes in the namespaces of teams.

    For an existing cluster; a Platform contains its storage. Nodes reach a file system through the
    security group of the EKS cluster. The namespaces of the teams must exist: add the components
    that create them to `depends_on`.
    """

    stores: pulumi.Output[dict[str, str]]
    """Locations of the storage, by the names that volumes use: the argument `stores` of Team."""

    def __init__(
        self,
        name: str,
        args: StorageArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        proof, _ = read_part(_PART, name, args, opts)
        plan = proof.plan
        stored = spec_without_defaults(plan.spec.storage) if plan.spec.storage else {}
        super().__init__(
            "gpuyard:index:Storage", name, {"platform": plan.name, "storage": stored}, opts, plan
        )
        late = self._register_stores(name, plan, proof.late_inputs)
        for team in plan.teams:
            self._register(storage_objects(plan, team), late)
        self.stores = pulumi.Output.all(**late)
        self.register_outputs({"stores": late})

    def _register_stores(
        self, name: str, plan: PlatformPlan, late: Mapping[str, pulumi.Output[Any]]
    ) -> Mapping[str, pulumi.Output[Any]]:
        """Register the cloud resources that only storage needs; returns the locations of the stores."""
        graph = plan.provider.graph(plan)
        if graph is None:
            return {}
        without = plan.provider.graph(replace(plan, storage=NO_STORAGE))
        others = {each.name for each in without.resources} if without else set[str]()
        ours = [each for each in graph.resources if each.name not in others]
        check_prerequisites(self, plan, graph.prerequisites)
        nodes: dict[str, pulumi.Input[Any]] = {}
        cloud = CloudResources(name, inputs=nodes, late_inputs=late)
        cloud.run_queries(self, graph.calls)
        needed = {each for resource in ours for each in late_value_names(resource.inputs)}
        for each in sorted(needed):
            if each.partition(".")[0] in others:  # the security group of nodes
                nodes[each] = cloud.resolve(UnresolvedOutput(_CLUSTER_GROUP))
        cloud.register(self, ours, self._waits_for)
        return {key: cloud.resolve(value) for key, value in graph.late_values.items()}
