"""The whole platform as one component. Start here to see what a stack is made of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NotRequired, TypeAlias, TypedDict, TypeVar, cast

import pulumi

from gpuyard.changes.platforms import (
    driver_of,
    driver_rollout_pools,
    guarantee_report,
    pool_report,
    report_objects,
)
from gpuyard.plan.capacity.scaling import installs_karpenter
from gpuyard.plan.observability.stage import installs_monitoring
from gpuyard.plan.records import PlatformPlan, PoolPlan, TeamPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.renames import spec_digest
from gpuyard.plan.sharing.dra import installs_dra_driver
from gpuyard.plan.workloads.addons import installed_addons
from gpuyard.render.addons import Addon
from gpuyard.render.gpu_operator.objects import driver_record
from gpuyard.render.platform import ADDONS
from gpuyard.render.validation.work import deferred_jobs, work_objects
from gpuyard.resources.clusters.change_preview import preview_changes
from gpuyard.resources.component import Component
from gpuyard.resources.diagnosis.removed_teams import warn_removed_teams
from gpuyard.resources.errors import OutputUnavailable, UnknownPart
from gpuyard.resources.gpu_operator.component import GpuOperator
from gpuyard.resources.gpu_operator.driver_rollout import DriverRollout, rollout_record_hooks
from gpuyard.resources.gpu_operator.node_labels import labelled_pools
from gpuyard.resources.idle import IdleReclaim
from gpuyard.resources.pools import GpuNodePool, GpuNodePoolArgs, reject_unsupported
from gpuyard.resources.provider import ClusterProvider, provider_of
from gpuyard.resources.queueing import Queueing
from gpuyard.resources.state import camel_case, spec_without_defaults
from gpuyard.resources.teams import Team, TeamArgs
from gpuyard.resources.validated_plan import (
    PlatformLike,
    calendar_findings_today,
    read_args,
    validate_platform,
)
from gpuyard.resources.validation.component import PoolVerdict, Validation, with_job_measurements
from gpuyard.resources.validation.deferral import (
    QueuedJobWatch,
    verdict_fields,
    with_attempt_annotation,
)
from gpuyard.resources.validation.job_results import all_nodes_validated_hook
from gpuyard.spec.late_inputs import INPUT
from gpuyard.spec.sections import Apply
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.findings import Diagnostic, Severity, sort_findings
from gpuyard_core.names import MONITORING_GROUP, system_namespace

if TYPE_CHECKING:
    from gpuyard.resources.clusters.cluster import CloudCluster, ClusterResource
    from gpuyard.resources.clusters.eks import EksCluster
    from gpuyard.resources.clusters.gke import GkeCluster
    from gpuyard.resources.clusters.karpenter import Karpenter, KarpenterArgs

_Resources: TypeAlias = Sequence[pulumi.Resource]
_Part = TypeVar("_Part")


class Parts(dict[str, _Part]):
    """Components by name; an unknown name is an error with the nearest one."""

    def __init__(self, platform: str, kind: str) -> None:
        super().__init__()
        self._place = platform, kind

    def __missing__(self, name: str) -> _Part:
        raise UnknownPart(*self._place, name, [*self])


class PlatformArgs(TypedDict):
    """Arguments of a Platform."""

    platform: PlatformLike
    """The spec: the content of `gpuyard:platform` in a stack file."""
    cluster_name: NotRequired[pulumi.Input[str]]
    """The cluster's name if only its deployment knows it; the default is the platform's name."""


# In these two, names are single words: the component host does not rename the fields of values in a
# mapping, so Python's names and those of the other languages must be the same.
class PoolSummary(TypedDict):
    """Summary of a pool."""

    machine: str
    """The machine type of its nodes."""
    nodes: str
    """Its range of nodes, such as 0..16."""
    sharing: str
    """none, mig, time-slicing, mps or mig+time-slicing."""
    resources: dict[str, int]
    """What each node advertises, by resource name."""
    driver: str
    """The driver that the GPU Operator installs; empty if the node image contains it."""


class TeamSummary(TypedDict):
    """Summary of a team."""

    namespaces: list[str]
    """Its namespaces, the home namespace first."""
    queue: str
    """The LocalQueue of its jobs."""
    guarantee: dict[str, int]
    """Its guarantee, by pool and resource name."""


class BillSummary(TypedDict):
    """The platform's hourly cost, at prices of the stack file if set, otherwise at list prices."""

    minimum_usd_per_hour: float | None
    """Minimum cost: every pool at its minimum. None if a price is unknown, as in the other two."""
    expected_usd_per_hour: float | None
    """Expected cost: the stack file's target in use all week; `gpuyard cost` lists the assumptions."""
    maximum_usd_per_hour: float | None
    """Maximum cost: every pool at its maximum."""
    unknown: list[str]
    """Pools and commitments without a known price."""
    simulated: bool
    """True if nothing is billed: the amounts are the price of the same machines in their cloud."""


class Platform(Component):
    """A GPU platform: its nodes, how their GPUs are shared, its queues and its teams.

    gpuyard validates the spec first; a rejected platform registers nothing. The component has as
    children one GpuOperator, one ClusterAutoscaler if node groups of EKS or node pools of GKE
    scale, one Karpenter if it provisions pools of EKS, one GpuNodePool for each pool, one Queueing,
    one Team for each team, one IdleReclaim if a team enables it, and one Validation if hardware is
    validated; their names derive from the component's name and from the first name of the pool or
    team, so that a rename in the spec (`previous_names`) replaces nothing. A MultiKueue manager has
    no GpuOperator and no GpuNodePool.
    """

    pool_summaries: pulumi.Output[dict[str, PoolSummary]]
    """The pools, by name."""
    team_summaries: pulumi.Output[dict[str, TeamSummary]]
    """The teams, by name."""
    bill: pulumi.Output[BillSummary]
    """The hourly cost."""
    validation: pulumi.Output[dict[str, PoolVerdict]]
    """Verdict of the hardware validation by pool; empty if validation is off."""
    digest: pulumi.Output[str]
    """Digest of the spec: specs with equal meaning have equal digests."""
    notes: pulumi.Output[list[str]]
    """Warnings and infos of the validation, most severe first."""

    def __init__(
        self,
        name: str,
        args: PlatformArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        values = read_args("Platform", args, required=("platform",), optional=("cluster_name",))
        given = values["platform"]  # a plan that another program may have made is validated again
        proof = validate_platform(given.spec if isinstance(given, PlatformPlan) else given, opts)
        plan, late, state = proof.plan, {}, {"platform": spec_without_defaults(proof.plan.spec)}
        reject_unsupported(plan)
        if values.get("cluster_name") is not None:
            state["clusterName"] = values["cluster_name"]
            late["cluster.name"] = values["cluster_name"]
            plan = replace(plan, cluster_name=UnresolvedOutput("cluster.name"))
        elif (existing := proof.late_inputs.get(f"{INPUT}.cluster.existing")) is not None:
            late["cluster.name"] = existing
        elif isinstance(plan.cluster_name, UnresolvedOutput):
            plan = replace(plan, cluster_name=plan.name)
        changes = preview_changes(name, plan)
        super().__init__("gpuyard:index:Platform", name, state, opts)
        for finding in (*proof.findings, *changes.findings, *calendar_findings_today(plan)):
            if finding.severity is Severity.WARNING:
                pulumi.log.warn(str(finding), self)
        enters, cluster = not self._has_provider, None
        if kind := plan.provider.cluster_component:  # only the modules of this cloud are loaded
            component: type[CloudCluster] = resolve_name(kind)
            args_of_cluster, child = {"platform": replace(proof, plan=plan)}, self._child()
            cluster = component(
                f"{name}-cluster", args_of_cluster, child, entered=enters, graph=changes.resized
            )
        self._plan, self._cluster, self._changes = plan, cluster, changes
        if enters and (cluster is not None or self._lacks_provider(plan)):
            self._enter(self._kubernetes_provider())
        if self._kubectl is not None:
            warn_removed_teams(self._kubectl, plan)
        stores = cluster.store_names if cluster is not None else {}
        self._outputs: dict[str, Any] = {**late, **stores, **proof.late_inputs}
        self._register_addons()
        self._report(proof.findings)

    def _kubernetes_provider(self) -> ClusterProvider:
        """The provider for objects inside a cloud cluster, a named cluster, or a manifest folder.

        Access needs the cluster's access entries, and pods need nodes. All objects wait for what the
        provider waits for, and are deleted before it.
        """
        plan, below = self._plan, pulumi.ResourceOptions(parent=self)
        kind = "rendered" if plan.spec.apply is Apply.RENDER else "kubernetes"
        if (named := provider_of(plan, f"{self._called}-{kind}", opts=below)) is not None:
            return named
        cluster = cast("CloudCluster", self._cluster)
        return ClusterProvider(
            f"{self._called}-kubernetes",
            cluster.identity,
            cluster.kubeconfig,
            pulumi.ResourceOptions(parent=self, depends_on=[cluster]),
            credential=False,
        )

    @property
    def pools(self) -> Mapping[str, GpuNodePool]:
        """The components of the pools, by name; none on a MultiKueue manager."""
        return self._pools

    @property
    def teams(self) -> Mapping[str, Team]:
        """The components of the teams, by name."""
        return self._teams

    @property
    def provider(self) -> pulumi.ProviderResource:
        """The Kubernetes provider of the platform's cluster, for your own objects in it.

        Raises:
            OutputUnavailable: the stack's configuration names the cluster.
        """
        if self._inside is not None:
            return self._inside
        given = self.get_provider("kubernetes:core/v1:Namespace")
        if given is None:
            raise OutputUnavailable(
                f"{self._called}.provider: the platform uses the default provider, which "
                "`kubernetes:` in the stack's configuration sets; fix: register objects without "
                "`provider`"
            )
        return given

    @property
    def eks(self) -> "EksCluster":
        """The cluster's component on `cloud: aws`."""
        return cast("EksCluster", self._cloud_cluster("eks", "aws"))

    @property
    def gke(self) -> "GkeCluster":
        """The cluster's component on `cloud: gcp`."""
        return cast("GkeCluster", self._cloud_cluster("gke", "gcp"))

    @property
    def cluster(self) -> "ClusterResource":
        """The `aws.eks.Cluster` or `gcp.container.Cluster`; an existing one is read.

        Its type has what both clouds have: `eks.cluster` and `gke.cluster` have the SDK's types.
        """
        return cast("ClusterResource", self._own_cluster("cluster").cluster)

    @property
    def kubeconfig(self) -> pulumi.Output[str]:
        """Kubeconfig of the cloud's cluster, as a secret."""
        return pulumi.Output.secret(self._own_cluster("kubeconfig").kubeconfig)

    @property
    def oidc(self) -> pulumi.Output[str]:
        """URL of the OIDC issuer of the cluster's service accounts."""
        return self._own_cluster("oidc").oidc

    @property
    def node_role(self) -> pulumi.Output[str]:
        """Identity of all nodes: ARN of the IAM role on EKS, email of the service account on GKE."""
        return self._own_cluster("node_role").node_role

    @property
    def network(self) -> pulumi.Output[str]:
        """Id of the VPC on EKS, the VPC network on GKE."""
        return self._own_cluster("network").network

    @property
    def security_group(self) -> pulumi.Output[str]:
        """Id of the security group of the control plane and the nodes on EKS; GKE has none."""
        return self._own_cluster("security_group").security_group

    def _own_cluster(self, output: str) -> "EksCluster | GkeCluster":
        return cast("EksCluster | GkeCluster", self._cloud_cluster(output, "aws or gcp"))

    def _cloud_cluster(self, output: str, clouds: str) -> "CloudCluster":
        """The component of the cluster; OutputUnavailable outside `clouds`."""
        cloud = self._plan.cloud.value
        if self._cluster is not None and cloud in clouds.split():
            return self._cluster
        other = {"eks": "gke", "gke": "eks"}.get(output) if self._cluster else None
        raise OutputUnavailable(
            f"{self._called}.{output}: gpuyard knows no such output on `cloud: {cloud}`, only on "
            f"{clouds}; fix: use `{other or 'provider'}`, the "
            f"{'component of its cluster' if other else 'Kubernetes provider of its cluster'}"
        )

    def _register_addons(self) -> None:
        """Register each add-on after those that it names, the report last."""
        self.validation = pulumi.Output.from_input({})
        self._nodes, self._verdicts = list[GpuNodePool](), list[pulumi.CustomResource]()
        self._karpenter = list["Karpenter"]()
        self._pools = Parts[GpuNodePool](self._called, "pool")
        self._teams = Parts[Team](self._called, "team")
        self._drivers, self._dra_drivers = [list[pulumi.CustomResource]() for _ in range(2)]
        for group in self._plan.provider.late_api_groups:
            self._expect(group)
        if installs_monitoring(self._plan.spec):
            self._expect(MONITORING_GROUP)
        for name in installed_addons(self._plan.spec):
            for group in addon_facts()[name].groups:
                self._expect(group)
        components: dict[str, Callable[[_Resources], _Resources]] = {
            "autoscaler": self._register_autoscaler,
            "kueue": self._register_queueing,
            "teams": self._register_teams,
            "idle": self._register_idle_reclaim,
            "validation": self._register_validation,
            "work": self._register_load_tests,
        }
        if not self._plan.queueing.dispatch:  # a MultiKueue manager has no nodes
            components |= {
                "gpu-operator": self._register_operator,
                "karpenter": self._register_karpenter,
                "nodes": self._register_nodes,
            }
        registered: dict[str, _Resources] = {}
        for addon in ADDONS:
            if not addon.part_of:
                register = components.get(addon.name, partial(self._register_addon, addon))
                after = [each for name in addon.after for each in registered[name]]
                registered[addon.name] = register(after)
        last = [*registered["teams"], *self._verdicts, *self._nodes, *self._drivers]
        self._register(report_objects(self._plan), after=last)

    def _register_addon(self, addon: Addon, after: _Resources) -> _Resources:
        """Register the objects of an add-on, then its chart."""
        groups, release = addon.groups(self._plan), addon.release(self._plan)
        objects = [obj for group in groups.values() for obj in group]
        resources = self._register(objects, self._outputs, after=after)
        if release is None:
            return resources
        after = [*after, *resources]
        chart = self._register_chart(self._plan, release, after, addon.name, late=self._outputs)
        return [*resources, chart]

    def _register_operator(self, after: _Resources) -> _Resources:
        name, waves = f"{self._called}-gpu-operator", self._changes.rollout_waves
        below, later = self._child(after), waves[1] if waves else ()
        self._exchange = DriverRollout(self._changes.driver_rollouts, later)
        operator = GpuOperator(name, {"platform": self._plan}, below, exchange=self._exchange)
        if installs_dra_driver(self._plan.spec):
            self._dra_drivers = operator.chart  # it defines ComputeDomains
        self._operator, self._node_inputs = operator, operator.agent_configuration()
        if labelled_pools(self._plan):
            self._node_inputs += operator.chart  # its MIG manager partitions GPUs
        return [operator]

    def _register_autoscaler(self, after: _Resources) -> _Resources:
        if not self._plan.provider.autoscaler_objects(self._plan):
            return []
        from gpuyard.resources.clusters.autoscaler import ClusterAutoscaler

        name, below = f"{self._called}-cluster-autoscaler", self._child(after)
        return [ClusterAutoscaler(name, {"platform": self._plan}, below)]

    def _register_karpenter(self, after: _Resources) -> _Resources:
        if installs_karpenter(self._plan.spec) and self._cluster is not None:
            from gpuyard.resources.clusters.karpenter import Karpenter

            stores = {**self._cluster.store_names}
            args: KarpenterArgs = {"platform": self._plan, "stores": stores}
            name, below = f"{self._called}-karpenter", self._child([*after, *self._node_inputs])
            later = self._exchange.pending_pools
            self._karpenter.append(Karpenter(name, args, below, later=later))
        return self._karpenter

    def _register_queueing(self, after: _Resources) -> _Resources:
        # No quota for a MIG layout before its nodes have it. Cloud nodes take long to start.
        below = self._child([*after, *self._labelled_nodes()])
        self._queueing = Queueing(f"{self._called}-queueing", {"platform": self._plan}, below)
        return [self._queueing]

    def _labelled_nodes(self) -> Sequence[GpuNodePool]:
        """The pools whose nodes gpuyard labels."""
        return self._nodes if self._plan.simulated or labelled_pools(self._plan) else ()

    def _register_teams(self, after: _Resources) -> _Resources:
        for team in self._plan.teams:
            queue = self._queueing.cluster_queue(team.cluster_queue)
            child, below = f"{self._called}-{team.stable_name}", [queue, *after, *self._dra_drivers]
            args: TeamArgs = {"platform": self._plan, "team": team.name, "stores": self._outputs}
            self._teams[team.name] = Team(child, args, self._child(below))
        return list(self._teams.values())

    def _register_idle_reclaim(self, after: _Resources) -> _Resources:
        if not self._plan.idle:
            return []
        below = self._child([self._object("Namespace", system_namespace(self._plan.name)), *after])
        return [IdleReclaim(f"{self._called}-idle", {"platform": self._plan}, below)]

    def _register_validation(self, after: _Resources) -> _Resources:
        """The validation of pools is registered with them; a MultiKueue manager has no pools."""
        if self._plan.queueing.dispatch and self._plan.validation is not None:
            name, below = f"{self._called}-validation", self._child(after)
            self.validation = Validation(name, {"platform": self._plan}, below).pools
        return self._verdicts

    def _register_load_tests(self, after: _Resources) -> _Resources:
        """Register the validation of GPUs under load, shares and volumes, after everything that it needs."""
        name, plan, resources = self._called, self._plan, list[pulumi.Resource]()
        looks, space = self._kubectl, system_namespace(plan.name)
        required = plan.validation is not None and plan.validation.required
        late = list(deferred_jobs(plan)) if required else []
        watched = {
            job.name: QueuedJobWatch(looks, plan, job, space)
            for job in late
            if looks is not None and job.pending_pod_count is not None
        }
        for obj in work_objects(plan):
            watch = watched.get(obj["metadata"]["name"]) if obj["kind"] == "Job" else None
            if watch is None:
                resources += self._register([obj], self._outputs, after=after)
            else:
                marked = [with_attempt_annotation(obj, watch.previous_deferrals())]
                resources += self._register(marked, self._outputs, watch.hook(name), after=after)
        if not required:
            return resources
        figures: dict[str, list[pulumi.Output[Mapping[str, str]]]] = {}
        for job in late:
            hooks, nodes, queued = None, job.nodes, job.pending_pod_count is not None
            if looks is not None:
                called = f"gpuyard:{name}:{job.name}:worked"
                hooks = all_nodes_validated_hook(
                    called, looks, job.pool, job.name, nodes=nodes, space=space, deferrable=queued
                )
            done = self._object("Job", job.name, space)
            known, stays = verdict_fields(job, done, looks, watched.get(job.name), space)
            (verdict,) = self._register([job.verdict_object], known, hooks, stays, [*after, done])
            figures.setdefault(job.pool.name, []).append(vars(verdict)["data"])
            resources.append(verdict)
        self.validation = with_job_measurements(self.validation, figures)
        return resources

    def _register_nodes(self, after: _Resources) -> _Resources:
        """Register the pools and their hardware validation.

        Teams do not wait for the validation, but a deployment with a failed node fails. If several
        pools change, those of the second wave wait for the verdict of the first.
        """
        plan, operator, turns = self._plan, self._operator, self._changes.rollout_waves
        first, later = [*after, *self._node_inputs], turns[1] if turns else ()
        now = [pool for pool in plan.pools if pool.stable_name not in later]
        self._register_pools(now, first)
        self._record_drivers(now, [*operator.told, *self._nodes])
        check = None
        if plan.validation is not None:
            child = self._child([*self._nodes, operator, *self._drivers])
            called = f"{self._called}-validation"
            check = Validation(called, {"platform": plan}, child, later=later)
        if later:
            pools = zip(self._nodes, now, strict=True)
            tried = [each for each, pool in pools if pool.stable_name in turns[0]]
            rest = [pool for pool in plan.pools if pool.stable_name in later]
            passed_checks = check.verdict_resources(turns[0]) if check is not None else ()
            goes = [*tried, *self._drivers, *passed_checks]
            self._register_pools(rest, [*first, *goes])
            for karpenter in self._karpenter:
                karpenter.register_second_wave(later, goes)
            self._record_drivers(rest, [*operator.told, *self._nodes, *goes])
            if check is not None:
                check.validate_second_wave(later, [*self._nodes, *self._drivers])
        if check is not None:
            self.validation = check.pools
            self._verdicts = check.verdict_resources(pool.stable_name for pool in plan.pools)
        return self._nodes

    def _record_drivers(self, pools: Iterable[PoolPlan], after: _Resources) -> None:
        """Record the driver of each pool after the operator could update it."""
        name, plan, looks = self._called, self._plan, self._kubectl
        driven = {pool.name for pool in driver_rollout_pools(plan)}
        for pool in (each for each in pools if each.name in driven):
            hooks = rollout_record_hooks(name, looks, plan, pool, self._exchange) if looks else None
            record = driver_record(plan, pool, driver_of(plan, pool))
            self._drivers += self._register([record], first=hooks, after=after)

    def _register_pools(self, pools: Iterable[PoolPlan], first: _Resources) -> None:
        """Register node pools after the configuration that node agents read at their start."""
        for pool in pools:
            child, cluster = f"{self._called}-{pool.stable_name}", self._cluster
            args: GpuNodePoolArgs = {"platform": self._plan, "pool": pool.name}
            node_pool = GpuNodePool(child, args, self._child(first), cluster=cluster)
            self._pools[pool.name] = node_pool
            self._nodes.append(node_pool)

    def _report(self, findings: tuple[Diagnostic, ...]) -> None:
        """Register the outputs, with which the next deployment is compared, once nodes have the new configuration."""
        plan = self._plan
        became: list[pulumi.Output[Any]] = [each.nodes for each in self._labelled_nodes()]
        became += [each.urn for each in self._drivers]
        bill: BillSummary = {
            "minimum_usd_per_hour": _rounded(plan.bill.minimum_usd_per_hour),
            "expected_usd_per_hour": _rounded(plan.bill.expected_usd_per_hour),
            "maximum_usd_per_hour": _rounded(plan.bill.maximum_usd_per_hour),
            "unknown": list(plan.bill.unknown),
            "simulated": plan.bill.simulated,
        }
        pools = {p.name: cast("PoolSummary", pool_report(plan, p)) for p in plan.pools}
        self.pool_summaries = pulumi.Output.all(*became).apply(lambda _: pools)
        self.team_summaries = pulumi.Output.from_input(
            {t.name: _team_summary(t) for t in plan.teams}
        )
        self.bill = pulumi.Output.from_input(bill)
        self.digest = pulumi.Output.from_input(spec_digest(plan.spec))
        self.notes = pulumi.Output.from_input([str(f) for f in sort_findings(findings)])
        self.register_outputs(
            {
                "pools": self.pool_summaries,
                "teams": self.team_summaries,
                "bill": {camel_case(key): value for key, value in bill.items()},
                "validation": self.validation,
                "digest": self.digest,
                "notes": self.notes,
            }
        )


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 4)


def _team_summary(team: TeamPlan) -> TeamSummary:
    return {
        "namespaces": [space.name for space in team.namespaces],
        "queue": team.local_queue,
        "guarantee": guarantee_report(team),
    }
