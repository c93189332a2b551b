"""What an account has few of beside nodes: networks and addresses at AWS, networks and GPUs at Google."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.cluster.quotas import EC2_ADDRESSES, EC2_NETWORKS, GCE_ALL_GPUS, GCE_MADE
from gpuyard.findings import Path
from gpuyard.names import PLATFORM_LABEL
from gpuyard.preflight.asking import NO_FORM, Answer, AnswersByName, Heard, Unasked, items
from gpuyard.preflight.quotas import google_heard, judge_quota
from gpuyard.preflight.wants import Ahead, Want, gce_wants
from gpuyard.render.cloud.graph import CloudGraph

PROJECT_QUOTAS = "project-quotas"
_AT: Path = ("cluster", "network")
_MADE = "what `up` makes"
_GIVEN = "take a network that is there (`cluster.network.id`)"


# ── AWS ───────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class _Limit:
    """Things that a region may have so many of."""

    what: str
    kind: str
    listed_by: str
    held_in: str
    """Where the answer has its list."""
    service: str
    quota: str

    @property
    def quota_question(self) -> str:
        return f"quota of {self.what}"


_LIMITS = (
    _Limit("networks", "aws:ec2/vpc:Vpc", "describe-vpcs", "Vpcs", "vpc", EC2_NETWORKS),
    _Limit("addresses", "aws:ec2/eip:Eip", "describe-addresses", "Addresses", "ec2", EC2_ADDRESSES),
)
LIMIT_QUESTIONS = frozenset(name for each in _LIMITS for name in (each.what, each.quota_question))
"""By name: those of AWS that are judged together."""


def limit_questions(graph: CloudGraph) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Name and words: how many there are of what the graph makes, and how many there may be."""
    kinds = {each.kind for each in graph.resources}
    for each in _LIMITS:
        if each.kind in kinds:
            quota = ("--service-code", each.service, "--quota-code", each.quota)
            yield each.what, ("ec2", each.listed_by)
            yield each.quota_question, ("service-quotas", "get-service-quota", *quota)


def limits_heard(ahead: Ahead, answers: AnswersByName, in_region: str) -> Heard:
    """Each that was asked for beside its quota; what is the platform's own already is not counted again."""
    heard = Heard()
    for each in _LIMITS:
        if each.what in answers:
            asked = (answers[each.what], answers[each.quota_question])
            heard += _limit_heard(each, ahead, asked, in_region) or _unasked(each, asked)
    return heard


def _limit_heard(
    limit: _Limit, ahead: Ahead, asked: tuple[Answer, Answer], in_region: str
) -> Heard | None:
    there, quota = items(asked[0].value, limit.held_in), asked[1].value
    quota = quota.get("Quota") if isinstance(quota, Mapping) else None
    most = quota.get("Value") if isinstance(quota, Mapping) else None
    if there is None or not isinstance(most, int | float):
        return None
    others = sum(_tags(each).get(PLATFORM_LABEL) != ahead.plan.name for each in there)
    count = sum(each.kind == limit.kind for each in ahead.graph.resources)
    what = f"{limit.what} of the platform"
    want = Want((), what, count, count, _AT, always=_MADE, instead=_GIVEN)
    ask = (
        f"aws service-quotas request-service-quota-increase --service-code {limit.service}"
        f" --quota-code {limit.quota} --desired-value {others + count}{in_region}"
    )
    said = f"{limit.what} of the region ({limit.quota}; {others} of {most:g} are others')"
    return judge_quota(want, said, most - others, ask)


def _unasked(limit: _Limit, asked: tuple[Answer, Answer]) -> Heard:
    whys = (each.why or each.error for each in asked)
    return Heard(unasked=(Unasked(limit.quota_question, next(filter(None, whys), NO_FORM)),))


def _tags(there: Mapping[str, Any]) -> dict[Any, Any]:
    return {each.get("Key"): each.get("Value") for each in items(there, "Tags") or ()}


# ── Google ────────────────────────────────────────────────────────────────────────────────────────
def project_heard(ahead: Ahead, quotas: list[Any] | None, *, deployed: bool) -> Heard | None:
    """What a project may have in all regions; the platform's own is in what is used once it is deployed."""
    return google_heard(_of_project(ahead), quotas, deployed=deployed, whose="project")


def _of_project(ahead: Ahead) -> Iterator[Want]:
    made = Counter(GCE_MADE[e.kind] for e in ahead.graph.resources if e.kind in GCE_MADE)
    for metric, count in sorted(made.items()):
        what = f"{metric.lower()} of the platform"
        yield Want((metric,), what, count, count, _AT, always=_MADE, instead="")
    if wants := gce_wants(ahead.plan):
        largest = max(wants, key=lambda each: each.most)
        floor, most = sum(each.floor for each in wants), sum(each.most for each in wants)
        yield Want((GCE_ALL_GPUS,), "GPUs of all models", floor, most, largest.path)
