"""The whole platform as one component. Start here to see what a stack is made of."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

import pulumi

from gpuyard.changes.platforms import driver_of, driver_rollout_pools
from gpuyard.changes.reporting import guarantee_report, pool_report, report_objects
from gpuyard.changes.rollout_waves import RolloutWaves
from gpuyard.findings import Diagnostic, Severity, sort_findings
from gpuyard.names import system_namespace
from gpuyard.plan.digests import spec_digest
from gpuyard.plan.records import PlatformPlan, PoolPlan, TeamPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.sharing.claims import installs_dra_driver
from gpuyard.render.access import catalogue_objects
from gpuyard.render.admission.objects import admission_objects
from gpuyard.render.gpu_operator.drivers import driver_record
from gpuyard.render.kueue.requeue import requeue_objects
from gpuyard.render.platform import cloud_objects, record_objects
from gpuyard.render.scaling.keep_warm import keep_warm_objects
from gpuyard.render.supply.prepull import prepull_objects
from gpuyard.render.validation.work import deferred_jobs, work_objects
from gpuyard.resources.clusters.change_preview import ChangePreview, preview_changes
from gpuyard.resources.clusters.factory import (
    kubernetes_provider,
    register_autoscaler,
    register_cluster,
    register_karpenter,
)
from gpuyard.resources.component import Component
from gpuyard.resources.diagnosis.removed_teams import warn_removed_teams
from gpuyard.resources.gpu_operator.component import GpuOperator
from gpuyard.resources.gpu_operator.driver_hooks import rollout_record_hooks
from gpuyard.resources.gpu_operator.driver_rollout import DriverRollout
from gpuyard.resources.gpu_operator.node_labels import labelled_pools
from gpuyard.resources.idle import IdleReclaim
from gpuyard.resources.pools import GpuNodePool, GpuNodePoolArgs, reject_unsupported
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
from gpuyard.resources.validation.job_results import job_passed_hook

if TYPE_CHECKING:
    from gpuyard.resources.clusters.cluster import CloudCluster


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

    pools: pulumi.Output[dict[str, PoolSummary]]
    """The pools, by name."""
    teams: pulumi.Output[dict[str, TeamSummary]]
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
        proof = validate_platform(given.spec if isinstance(given, PlatformPlan) else given)
        plan, late, state = proof.plan, {}, {"platform": spec_without_defaults(proof.plan.spec)}
        reject_unsupported(plan)
        if values.get("cluster_name") is not None:
            state["clusterName"] = values["cluster_name"]
            late["cluster.name"] = values["cluster_name"]
            plan = replace(plan, cluster_name=UnresolvedOutput("cluster.name"))
        elif isinstance(plan.cluster_name, UnresolvedOutput):
            plan = replace(plan, cluster_name=plan.name)
        changes = preview_changes(name, plan)
        super().__init__("gpuyard:index:Platform", name, state, opts)
        self._warn((*proof.findings, *changes.findings, *calendar_findings_today(plan)))
        enters = not self._has_provider
        cluster = register_cluster(
            f"{name}-cluster", plan, self._child(), entered=enters, graph=changes.resized
        )
        if enters and (cluster is not None or not self._is_configured()):
            self._enter(
                kubernetes_provider(name, plan, cluster, pulumi.ResourceOptions(parent=self))
            )
        if self._ours is not None and self._ours.kubectl is not None:
            warn_removed_teams(self._ours.kubectl, plan)
        nodes = self._make(name, plan, late, cluster, changes)
        has_labels = plan.simulated or labelled_pools(plan)
        self._report(plan, proof.findings, [each.nodes for each in nodes] if has_labels else [])

    def _make(
        self,
        name: str,
        plan: PlatformPlan,
        late: Mapping[str, Any],
        cluster: "CloudCluster | None",
        changes: ChangePreview,
    ) -> list[GpuNodePool]:
        self._register(record_objects(plan), late)
        operator, chart = None, list[pulumi.CustomResource]()
        self.validation = pulumi.Output.from_input({})
        self._checked, self._driven = list[pulumi.CustomResource](), list[pulumi.CustomResource]()
        nodes = list[GpuNodePool]()
        if not plan.queueing.dispatch:
            self._exchange = DriverRollout(
                changes.driver_rollouts, changes.rollout_waves[1] if changes.rollout_waves else ()
            )
            called, below = f"{name}-gpu-operator", self._child()
            operator = GpuOperator(called, {"platform": plan}, below, exchange=self._exchange)
            chart = (
                operator.chart if installs_dra_driver(plan.spec) else []
            )  # the chart defines ComputeDomains
        register_autoscaler(f"{name}-cluster-autoscaler", plan, self._child())
        for group in plan.provider.late_api_groups:
            self._expect(group)
        networks = self._register(cloud_objects(plan))
        if operator is not None:
            first = [*operator.agent_configuration(), *networks]
            if labelled_pools(plan):
                first += operator.chart  # its MIG manager partitions the GPUs of labelled nodes
            below, later = self._child(first), self._exchange.pending_pools
            self._karpenter = register_karpenter(f"{name}-karpenter", plan, below, cluster, later)
            nodes += self._make_in_turns(
                name, plan, cluster, operator, first, changes.rollout_waves
            )
        elif plan.validation is not None:
            self.validation = Validation(
                f"{name}-validation", {"platform": plan}, self._child()
            ).pools
        # Admission policies exist before a team's namespace can run anything.
        policies = self._register(admission_objects(plan))
        self._register(catalogue_objects(plan))
        # Quotas follow GPUs: no quota for a MIG layout before its nodes have it. Cloud nodes take long to start.
        labelled = nodes if plan.simulated or labelled_pools(plan) else ()
        queueing = Queueing(f"{name}-queueing", {"platform": plan}, self._child(labelled))
        teams: list[pulumi.Resource] = []
        stores = cluster.store_names if cluster is not None else {}
        for team in plan.teams:
            queue = queueing.cluster_queue(team.cluster_queue)
            child = f"{name}-{team.stable_name}"
            team_args: TeamArgs = {"platform": plan, "team": team.name, "stores": {**stores}}
            teams.append(Team(child, team_args, self._child([queue, *policies, *chart])))
        if plan.idle:
            home = self._object("Namespace", system_namespace(plan.name))
            IdleReclaim(f"{name}-idle", {"platform": plan}, self._child([home, *teams]))
        self._waits_for = self._after(teams)
        self._register(requeue_objects(plan))
        self._register(prepull_objects(plan))
        self._register(keep_warm_objects(plan))
        self._waits_for = self._after(self._checked)
        self._put_to_work(name, plan, stores)
        self._waits_for = self._after([*nodes, *self._driven])
        self._register(report_objects(plan))
        return nodes

    def _put_to_work(self, name: str, plan: PlatformPlan, stores: Mapping[str, Any]) -> None:
        """Register the validation of GPUs under load, shares and volumes, after everything that it needs."""
        looks, space = (
            self._ours.kubectl if self._ours is not None else None,
            system_namespace(plan.name),
        )
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
                self._register([obj], stores)
            else:
                self._register(
                    [with_attempt_annotation(obj, watch.previous_deferrals())],
                    stores,
                    watch.hook(name),
                )
        if not required:
            return
        figures: dict[str, list[pulumi.Output[Mapping[str, str]]]] = {}
        for job in late:
            hooks = job_passed_hook(name, looks, job, space) if looks is not None else None
            before, done = self._waits_for, self._object("Job", job.name, space)
            self._waits_for = self._after([done])
            known, stays = verdict_fields(job, done, looks, watched.get(job.name), space)
            (verdict,) = self._register([job.verdict_object], known, hooks, stays)
            figures.setdefault(job.pool.name, []).append(vars(verdict)["data"])
            self._waits_for = before
        self.validation = with_job_measurements(self.validation, figures)

    def _make_in_turns(
        self,
        name: str,
        plan: PlatformPlan,
        cluster: "CloudCluster | None",
        operator: GpuOperator,
        first: list[pulumi.CustomResource],
        turns: RolloutWaves,
    ) -> list[GpuNodePool]:
        """Register the pools and their hardware validation.

        Teams do not wait for the validation, but a deployment with a failed node fails. If several
        pools change, those of the second wave wait for the verdict of the first.
        """
        later = turns[1] if turns else ()
        now = [pool for pool in plan.pools if pool.stable_name not in later]
        nodes = self._make_pools(name, plan, now, cluster, first)
        self._record_drivers(name, plan, now, [*operator.told, *nodes])
        check = None
        if plan.validation is not None:
            child = self._child([*nodes, operator, *self._driven])
            check = Validation(f"{name}-validation", {"platform": plan}, child, later=later)
        if later:
            tried = [
                each for each, pool in zip(nodes, now, strict=True) if pool.stable_name in turns[0]
            ]
            rest = [pool for pool in plan.pools if pool.stable_name in later]
            passed_checks = check.verdict_resources(turns[0]) if check is not None else ()
            goes = [*tried, *self._driven, *passed_checks]
            nodes += self._make_pools(name, plan, rest, cluster, [*first, *goes])
            if self._karpenter is not None:
                self._karpenter.register_second_wave(later, goes)
            self._record_drivers(name, plan, rest, [*operator.told, *nodes, *goes])
            if check is not None:
                check.validate_second_wave(later, [*nodes, *self._driven])
        if check is not None:
            self.validation = check.pools
            self._checked = check.verdict_resources(pool.stable_name for pool in plan.pools)
        return nodes

    def _record_drivers(
        self,
        name: str,
        plan: PlatformPlan,
        pools: Iterable[PoolPlan],
        after: Iterable[pulumi.Resource],
    ) -> None:
        """Record the driver of each pool after the operator could update it."""
        looks = self._ours.kubectl if self._ours is not None else None
        waits_for, self._waits_for = self._waits_for, self._after(after)
        driven = {pool.name for pool in driver_rollout_pools(plan)}
        for pool in (each for each in pools if each.name in driven):
            hooks = rollout_record_hooks(name, looks, plan, pool, self._exchange) if looks else None
            record = driver_record(plan, pool, driver_of(plan, pool))
            self._driven += self._register([record], first=hooks)
        self._waits_for = waits_for

    def _make_pools(
        self,
        name: str,
        plan: PlatformPlan,
        pools: Iterable[PoolPlan],
        cluster: "CloudCluster | None",
        first: Iterable[pulumi.Resource],
    ) -> list[GpuNodePool]:
        """Register node pools after the configuration that node agents read at their start."""
        node_pools: list[GpuNodePool] = []
        for pool in pools:
            child = f"{name}-{pool.stable_name}"
            args: GpuNodePoolArgs = {"platform": plan, "pool": pool.name}
            node_pools.append(GpuNodePool(child, args, self._child(first), cluster=cluster))
        return node_pools

    def _warn(self, findings: tuple[Diagnostic, ...]) -> None:
        for finding in findings:
            if finding.severity is Severity.WARNING:
                pulumi.log.warn(str(finding), self)

    def _report(
        self,
        plan: PlatformPlan,
        findings: tuple[Diagnostic, ...],
        nodes: Iterable[pulumi.Output[list[str]]],
    ) -> None:
        """Register the outputs, with which the next deployment is compared, once nodes have the new configuration."""
        became: list[pulumi.Output[Any]] = [*nodes, *(each.urn for each in self._driven)]
        bill: BillSummary = {
            "minimum_usd_per_hour": _rounded(plan.bill.minimum_usd_per_hour),
            "expected_usd_per_hour": _rounded(plan.bill.expected_usd_per_hour),
            "maximum_usd_per_hour": _rounded(plan.bill.maximum_usd_per_hour),
            "unknown": list(plan.bill.unknown),
            "simulated": plan.bill.simulated,
        }
        pools = {p.name: cast("PoolSummary", pool_report(plan, p)) for p in plan.pools}
        self.pools = pulumi.Output.all(*became).apply(lambda _: pools)
        self.teams = pulumi.Output.from_input({t.name: _team_summary(t) for t in plan.teams})
        self.bill = pulumi.Output.from_input(bill)
        self.digest = pulumi.Output.from_input(spec_digest(plan.spec))
        self.notes = pulumi.Output.from_input([str(f) for f in sort_findings(findings)])
        self.register_outputs(
            {
                "pools": self.pools,
                "teams": self.teams,
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
