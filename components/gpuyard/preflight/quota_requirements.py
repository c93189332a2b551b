"""Quota that a plan needs: minimum and maximum."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.preflight.probes import (
    UNEXPECTED_FORMAT,
    AnswersByName,
    ProbeAnswer,
    ProbeResult,
    items,
    probe_result,
    skipped,
)
from gpuyard.preflight.zones import pool_path
from gpuyard.render.aws.pools import group_sizes
from gpuyard.render.cloud.graph import CloudGraph, CloudResource
from gpuyard.render.gcp.capacity_options import option_node_pools
from gpuyard_core.catalogue.cluster.quotas import (
    EC2_ADDRESSES,
    EC2_NETWORKS,
    GCE_ALL_GPUS,
    GCE_MADE,
    PREEMPTIBLE,
    ec2_quota,
)
from gpuyard_core.catalogue.machines import MACHINES, Capacity
from gpuyard_core.findings import Fix, Path, error, warning
from gpuyard_core.names import PLATFORM_LABEL

_HELD = frozenset({Capacity.RESERVED.value, Capacity.BLOCK.value})
"""Already paid for: it does not use quota."""
_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


@dataclass(frozen=True, slots=True)
class PlannedAccount:
    """A planned deployment: the plan, its graph, and the account or project."""

    plan: PlatformPlan
    graph: CloudGraph
    account: str


@dataclass(frozen=True, slots=True)
class QuotaRequirement:
    """The required amount of one quota."""

    quotas: tuple[str, ...]
    """Its possible names, of which the account has one; empty when unknown."""
    subject: str
    minimum: int
    maximum: int
    path: Path
    nodes: str = "the minimum of nodes"
    """What the minimum counts."""
    alternative: str = "lower `nodes`"
    """Alternative to a quota increase; empty if there is none."""


def zones_without_pools(plan: PlatformPlan) -> dict[str, Path]:
    """Zones of the cluster without a pool; those of pools are checked by offers."""
    pools = {zone for pool in plan.pools for zone in pool.zones}
    numbered_zones = enumerate(cluster_spec(plan.spec).zones)
    return {zone: ("cluster", "zones", n) for n, zone in numbered_zones if zone not in pools}


def merge_requirements(wants: Iterator[QuotaRequirement]) -> list[QuotaRequirement]:
    """One requirement for each quota, which pools share, at the path of the largest pool."""
    results: dict[tuple[str, ...], list[QuotaRequirement]] = {}
    for each in wants:
        results.setdefault(each.quotas or (each.subject,), []).append(each)
    sums: list[QuotaRequirement] = []
    for group in results.values():
        largest = max(group, key=lambda w: w.maximum)
        what = ", ".join(dict.fromkeys(w.subject for w in group))
        floor, most = sum(w.minimum for w in group), sum(w.maximum for w in group)
        sums.append(QuotaRequirement(largest.quotas, what, floor, most, largest.path))
    return sums


# ── EC2: vCPUs ────────────────────────────────────────────────────────────────────────────────────
def ec2_requirements(plan: PlatformPlan, graph: CloudGraph) -> list[QuotaRequirement]:
    """VCPUs by quota, of pools and system nodes."""
    return merge_requirements(_ec2(plan, graph))


def _ec2(plan: PlatformPlan, graph: CloudGraph) -> Iterator[QuotaRequirement]:
    for pool in plan.pools:
        vcpus = max(MACHINES[name].vcpus for name in pool.machines)
        for size in group_sizes(pool):
            if size.option.mode not in _HELD:
                spot = size.option.mode == Capacity.SPOT.value
                at = pool_path(plan, pool)
                yield _vcpus(
                    pool.machine.type_name,
                    size.initial_nodes * vcpus,
                    size.high * vcpus,
                    at,
                    spot=spot,
                )
    for each in graph.resources_of_kind(_NODE_GROUP):
        if each.part == "system":
            yield from _system(each)


def _system(each: CloudResource) -> Iterator[QuotaRequirement]:
    name, size = each.inputs["instanceTypes"][0], each.inputs["scalingConfig"]
    if name in MACHINES:
        vcpus = MACHINES[name].vcpus
        yield _vcpus(
            name, size["minSize"] * vcpus, size["maxSize"] * vcpus, ("system",), spot=False
        )


def _vcpus(machine: str, floor: int, most: int, path: Path, *, spot: bool) -> QuotaRequirement:
    known = ec2_quota(machine)
    codes = () if known is None else known.spot if spot else (known.on_demand,)
    return QuotaRequirement(
        codes, f"vCPUs of {machine}{' on spot' if spot else ''}", floor, most, path
    )


# ── Google Cloud: GPUs ──────────────────────────────────────────────────────────────────────────────────
def gce_requirements(plan: PlatformPlan) -> list[QuotaRequirement]:
    """GPUs by metric; spot and flex-start use another metric than on-demand."""
    return merge_requirements(_gce(plan))


def _gce(plan: PlatformPlan) -> Iterator[QuotaRequirement]:
    for pool in plan.pools:
        for group in option_node_pools(pool):
            if group.option.mode not in _HELD:
                metric = group.machine.gpu_quota
                is_preemptible = group.purchase.spot or group.purchase.flex_start
                names = (f"{PREEMPTIBLE if is_preemptible else ''}{metric}",) if metric else ()
                gpus = group.machine.gpus
                what = f"GPUs of {group.machine.name}{f' on {group.option.mode}' if is_preemptible else ''}"
                yield QuotaRequirement(
                    names,
                    what,
                    group.min_nodes * gpus,
                    group.max_nodes * gpus,
                    pool_path(plan, pool),
                )


def check_quota(want: QuotaRequirement, name: str, free: float, ask: str) -> ProbeResult:
    """Compare a quota with the plan's requirement."""
    if want.maximum <= free:
        return probe_result(
            said=f"{name}: {free:g} available, {want.subject} use at most {want.maximum}"
        )
    value = f"{want.subject}: {want.minimum} minimum, {want.maximum} maximum"
    instead = f", or {want.alternative}" if want.alternative else ""
    fix = Fix(message=f"request {want.maximum - free:g} more{instead}: {ask}")
    if want.minimum > free:
        problem = f"the account's quota is too small for {want.nodes}: {name}"
        return probe_result(
            error("live.quota", want.path, problem, given=value, allowed=f"{free:g}", fix=fix)
        )
    problem = f"the account's quota is smaller than the plan's maximum: {name}"
    return probe_result(
        warning("live.quota", want.path, problem, given=value, allowed=f"{free:g}", fix=fix)
    )


def gcp_quota_findings(
    wants: Iterable[QuotaRequirement],
    quotas: list[Any] | None,
    *,
    deployed: bool,
    whose: str,
    place: str = "",
) -> ProbeResult | None:
    """Compare Google Cloud quotas, minus their usage by others than the deployed platform."""
    if quotas is None:
        return None
    quotas_by_metric = {str(each.get("metric")): each for each in quotas}
    result = ProbeResult()
    for want in wants:
        metric = next((name for name in want.quotas if name in quotas_by_metric), None)
        limit, usage = (
            quotas_by_metric[metric].get(key) if metric else None for key in ("limit", "usage")
        )
        if (
            metric is None
            or not isinstance(limit, int | float)
            or not isinstance(usage, int | float)
        ):
            why = f"the {whose} has no {' or '.join(want.quotas) or 'quota that gpuyard knows'}"
            result += skipped(f"quota for {want.subject}", why, is_expected=True)
            continue
        used_by_others = 0 if deployed else usage
        ask = f"IAM & Admin, Quotas: {metric}{place}, {used_by_others + want.maximum:g}"
        subject = f"{metric} ({usage:g} of {limit:g} used)"
        result += check_quota(want, subject, limit - used_by_others, ask)
    return result


PROJECT_QUOTAS = "project-quotas"
_AT: Path = ("cluster", "network")
_MADE = "what `pulumi up` creates"
_GIVEN = "use an existing network (`cluster.network.id`)"


# ── AWS ───────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class _Limit:
    """A regional limit."""

    what: str
    kind: str
    listed_by: str
    held_in: str
    """Key of the list in the result."""
    service: str
    quota: str

    @property
    def quota_question(self) -> str:
        return f"quota of {self.what}"


_LIMITS = (
    _Limit("networks", "aws:ec2/vpc:Vpc", "describe-vpcs", "Vpcs", "vpc", EC2_NETWORKS),
    _Limit("addresses", "aws:ec2/eip:Eip", "describe-addresses", "Addresses", "ec2", EC2_ADDRESSES),
)
LIMIT_PROBE_NAMES = frozenset(name for each in _LIMITS for name in (each.what, each.quota_question))
"""AWS limits by name."""


def limit_probes(graph: CloudGraph) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Name and arguments of queries for usage and quota."""
    kinds = {each.kind for each in graph.resources}
    for each in _LIMITS:
        if each.kind in kinds:
            quota = ("--service-code", each.service, "--quota-code", each.quota)
            yield each.what, ("ec2", each.listed_by)
            yield each.quota_question, ("service-quotas", "get-service-quota", *quota)


def limit_findings(ahead: PlannedAccount, answers: AnswersByName, in_region: str) -> ProbeResult:
    """Compare usage with quota; the platform's own resources are not counted twice."""
    result = ProbeResult()
    for each in _LIMITS:
        if each.what in answers:
            usage_and_quota = (answers[each.what], answers[each.quota_question])
            result += _limit_findings(each, ahead, usage_and_quota, in_region) or _unasked(
                each, usage_and_quota
            )
    return result


def _limit_findings(
    limit: _Limit,
    ahead: PlannedAccount,
    usage_and_quota: tuple[ProbeAnswer, ProbeAnswer],
    in_region: str,
) -> ProbeResult | None:
    listed, quota = items(usage_and_quota[0].value, limit.held_in), usage_and_quota[1].value
    quota = quota.get("Quota") if isinstance(quota, Mapping) else None
    most = quota.get("Value") if isinstance(quota, Mapping) else None
    if listed is None or not isinstance(most, int | float):
        return None
    used_by_others = sum(_tags(each).get(PLATFORM_LABEL) != ahead.plan.name for each in listed)
    count = sum(each.kind == limit.kind for each in ahead.graph.resources)
    what = f"{limit.what} of the platform"
    want = QuotaRequirement((), what, count, count, _AT, nodes=_MADE, alternative=_GIVEN)
    ask = (
        f"aws service-quotas request-service-quota-increase --service-code {limit.service}"
        f" --quota-code {limit.quota} --desired-value {used_by_others + count}{in_region}"
    )
    subject = f"{limit.what} of the region ({limit.quota}; {used_by_others} of {most:g} are used by others)"
    return check_quota(want, subject, most - used_by_others, ask)


def _unasked(limit: _Limit, usage_and_quota: tuple[ProbeAnswer, ProbeAnswer]) -> ProbeResult:
    whys = (each.failure_reason or each.error for each in usage_and_quota)
    return skipped(limit.quota_question, next(filter(None, whys), UNEXPECTED_FORMAT))


def _tags(resource: Mapping[str, Any]) -> dict[Any, Any]:
    return {each.get("Key"): each.get("Value") for each in items(resource, "Tags") or ()}


# ── Google Cloud ────────────────────────────────────────────────────────────────────────────────────────
def project_findings(
    ahead: PlannedAccount, quotas: list[Any] | None, *, deployed: bool
) -> ProbeResult | None:
    """Global quotas of a project; after deployment, its usage includes the platform."""
    return gcp_quota_findings(_of_project(ahead), quotas, deployed=deployed, whose="project")


def _of_project(ahead: PlannedAccount) -> Iterator[QuotaRequirement]:
    counts = Counter(GCE_MADE[e.kind] for e in ahead.graph.resources if e.kind in GCE_MADE)
    for metric, count in sorted(counts.items()):
        what = f"{metric.lower()} of the platform"
        yield QuotaRequirement((metric,), what, count, count, _AT, nodes=_MADE, alternative="")
    if wants := gce_requirements(ahead.plan):
        largest = max(wants, key=lambda each: each.maximum)
        floor, most = sum(each.minimum for each in wants), sum(each.maximum for each in wants)
        yield QuotaRequirement((GCE_ALL_GPUS,), "GPUs of all models", floor, most, largest.path)
