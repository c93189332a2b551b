"""A pool of GPU nodes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NotRequired

import pulumi

from gpuyard.changes.retained_content import CONTENT_BY_KIND, ResourceContent
from gpuyard.plan.capacity.scaling import unscaled_pool_findings
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.render.cloud.graph import CloudGraph, CloudResource
from gpuyard.render.nodes import fake_node_objects
from gpuyard.render.objects import Object
from gpuyard.resources.clouds import CloudResources
from gpuyard.resources.clusters.change_preview import keep_node_group_sizes
from gpuyard.resources.clusters.prerequisites import check_prerequisites
from gpuyard.resources.component import Component
from gpuyard.resources.errors import PlatformRejected
from gpuyard.resources.gpu_operator.node_labels import (
    labelled_pools,
    node_label_patches,
    stale_node_patches,
)
from gpuyard.resources.gpu_operator.waves import mig_reconfigure_hook
from gpuyard.resources.objects import register_object
from gpuyard.resources.part_args import Part, PartArgs, PoolLike, own_part, read_part
from gpuyard.resources.state import spec_without_defaults
from gpuyard_core.findings import Fix, error

if TYPE_CHECKING:
    from gpuyard.resources.clusters.cluster import CloudCluster

_PART = Part("GpuNodePool", own="pool", required=("pool",), optional=("foundation",))


class GpuNodePoolArgs(PartArgs):
    """Arguments of a GpuNodePool: a platform and the name of the pool, or the pool and its cluster."""

    pool: PoolLike
    """The pool, or the name of one of `pools`."""
    foundation: NotRequired[pulumi.Input[dict[str, str]]]
    """In a cloud: the output `foundation` of the EksCluster or GkeCluster that the nodes join. Default:
    in an existing cluster the pool has a role and a security group of its own.
    """


class GpuNodePool(Component):
    """The nodes of one pool.

    In a cloud they are node groups of EKS or node pools of GKE, one for each capacity option. On a
    simulated platform they are fake nodes that a controller keeps ready. On an existing cluster the
    nodes exist already: gpuyard labels those that the pool selects, and removes the labels with the
    pool.
    """

    nodes: pulumi.Output[list[str]]
    """Names of nodes that gpuyard creates or finds; a cloud names its nodes itself."""
    resources: pulumi.Output[dict[str, int]]
    """What each node advertises, by resource name."""

    def __init__(
        self,
        name: str,
        args: GpuNodePoolArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        cluster: "CloudCluster | None" = None,
    ) -> None:
        """With `cluster`, of the same program, nodes wait only for the cloud resources that they reference."""
        proof, values = read_part(_PART, name, args, opts)
        plan, late = proof.plan, proof.late_inputs
        reject_unsupported(plan)
        pool = own_part(name, "pool", values["pool"], plan.pools)
        graph = cluster.graph if cluster else plan.provider.graph(plan)
        part, alone = pool.stable_name, not {"platform", "foundation"} & values.keys()
        if cluster:
            cloud = cluster.resources.for_component(name, part)
        else:
            foundation = values.get("foundation")
            given = None if alone else _inputs(name, foundation, graph, pool, late)
            cloud = CloudResources(name, part, given, late_inputs=late)
        spec = next(one for one in plan.spec.pools if one.name == pool.name)
        state = {"platform": plan.name, "pool": spec_without_defaults(spec)}
        super().__init__("gpuyard:index:GpuNodePool", name, state, opts, plan)
        looks = self._kubectl
        own = node_label_patches(looks, plan, pool)
        objects = fake_node_objects(plan, pool) if plan.simulated else own
        nodes = looks is not None and (objects or graph is not None)
        hooks = None
        if looks is not None and nodes:
            hook = mig_reconfigure_hook(name, looks, plan, pool)
            hooks = pulumi.ResourceHookBinding(
                before_create=[hook] if own else None, before_update=[hook]
            )
        if graph is not None and alone:
            check_prerequisites(self, plan, graph.prerequisites)
        resources = self._register_nodes(objects, hooks)
        if looks is not None and pool.name in labelled_pools(plan):
            self._leave(stale_node_patches(looks, name))
        names = [obj["metadata"]["name"] for obj in objects]
        self.nodes = pulumi.Output.all(*(one.urn for one in resources)).apply(lambda _: names)
        if graph is not None:
            if cluster is None:
                before = () if alone else graph.calls
                graph = keep_node_group_sizes(name, part, graph)
                cloud.run_queries(self, graph.calls[len(before) :])
            ours = [*(graph.of_part() if alone else ()), *graph.of_part(part)]
            self._register_cloud(cloud, ours, hooks)
        self.resources = pulumi.Output.from_input({a.resource: a.per_node for a in pool.advertised})
        self.register_outputs({"nodes": self.nodes, "resources": self.resources})

    def _register_nodes(
        self, objects: list[Object], hooks: pulumi.ResourceHookBinding | None
    ) -> list[pulumi.CustomResource]:
        """The first node applies each change first; the others wait for it."""
        first_node = self._register(objects[:1], first=hooks)
        self._waits_for = self._after(first_node)
        return first_node + self._register(objects[1:], first=hooks)

    def _register_cloud(
        self,
        cloud: CloudResources,
        resources: list[CloudResource],
        hooks: pulumi.ResourceHookBinding | None,
    ) -> None:
        hooked = pulumi.ResourceOptions(hooks=hooks)
        for each in resources:
            opts = self._waits_for
            if CONTENT_BY_KIND.get(each.kind) is ResourceContent.NODES:
                opts = pulumi.ResourceOptions.merge(opts, hooked)
            cloud.register(self, [each], opts)

    def _leave(self, objects: list[Object]) -> None:
        """Keep nodes that no longer exist in the state, untouched."""
        untouched = pulumi.ResourceOptions(retain_on_delete=True, ignore_changes=["metadata"])
        for each in objects:
            opts = pulumi.ResourceOptions.merge(self._waits_for, untouched)
            register_object(self, each, opts, theirs=True)


def reject_unsupported(plan: PlatformPlan) -> None:
    """Reject a platform whose nodes this release cannot create, before anything is registered."""
    if result := unscaled_pool_findings(plan.spec):
        raise PlatformRejected(f"the platform {plan.name}", result)


def _inputs(
    name: str,
    foundation: Any,
    graph: CloudGraph | None,
    pool: PoolPlan,
    late: Mapping[str, pulumi.Output[Any]],
) -> dict[str, pulumi.Input[str]]:
    """The late values that the pool's part of the graph references."""
    named = graph.external_values([pool.stable_name]) if graph else []
    needed = [each for each in named if each not in late]
    if isinstance(foundation, pulumi.Output):
        known: pulumi.Output[dict[str, str]] = foundation
        return {key: known[key] for key in needed}
    given: dict[str, pulumi.Input[str]] = dict(foundation or {})
    if lacking := [key for key in needed if key not in given]:
        finding = error(
            "args.missing",
            ("foundation",),
            f"`foundation` lacks {', '.join(lacking)}: cloud nodes need it to join the cluster",
            allowed="the output `foundation` of the platform's EksCluster or GkeCluster",
            fix=Fix(message="pass it, or create a Platform, which contains its cluster and pools"),
        )
        raise PlatformRejected(name, [finding])
    return given
