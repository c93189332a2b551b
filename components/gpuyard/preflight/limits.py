"""Quotas besides nodes: networks and addresses on AWS, networks and GPUs on Google Cloud."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.preflight.probes import (
    UNEXPECTED_FORMAT,
    AnswersByName,
    ProbeAnswer,
    ProbeResult,
    SkippedProbe,
    items,
)
from gpuyard.preflight.quota_requirements import PlannedAccount, QuotaRequirement, gce_requirements
from gpuyard.preflight.quotas import check_quota, gcp_quota_findings
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard_core.catalogue.cluster.quotas import (
    EC2_ADDRESSES,
    EC2_NETWORKS,
    GCE_ALL_GPUS,
    GCE_MADE,
)
from gpuyard_core.findings import Path
from gpuyard_core.names import PLATFORM_LABEL

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
    return ProbeResult(
        skipped=(SkippedProbe(limit.quota_question, next(filter(None, whys), UNEXPECTED_FORMAT)),)
    )


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
