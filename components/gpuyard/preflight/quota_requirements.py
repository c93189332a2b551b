"""Quota that a plan needs: minimum and maximum."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpuyard.plan.records import CapacityOption, PlatformPlan
from gpuyard.preflight.probes import ProbeResult, probe_result, skipped
from gpuyard.render.cloud.graph import CloudGraph
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.findings import Fix, Path, error, warning

_HELD = frozenset({Capacity.RESERVED.value, Capacity.BLOCK.value})
"""Already paid for: it does not use quota."""
NETWORK_PATH: Path = ("cluster", "network")
CREATED = "what `pulumi up` creates"


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


def has_quota(option: CapacityOption) -> bool:
    """Whether the nodes of a capacity option use quota."""
    return option.mode not in _HELD


def merge_requirements(wants: Iterable[QuotaRequirement]) -> list[QuotaRequirement]:
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


def quota_skipped(want: QuotaRequirement, lacks: str, unknown: str) -> ProbeResult:
    """The account or project does not have the quota."""
    why = f"the {lacks} {' or '.join(want.quotas) or unknown}"
    return skipped(f"quota for {want.subject}", why, is_expected=True)


def check_quota(want: QuotaRequirement, name: str, free: float, ask: str) -> ProbeResult:
    """Compare a quota with the plan's requirement."""
    if want.maximum <= free:
        return probe_result(
            said=f"{name}: {free:g} available, {want.subject} use at most {want.maximum}"
        )
    value = f"{want.subject}: {want.minimum} minimum, {want.maximum} maximum"
    instead = f", or {want.alternative}" if want.alternative else ""
    fix = Fix(message=f"request {want.maximum - free:g} more{instead}: {ask}")
    make, than = warning, "smaller than the plan's maximum"
    if want.minimum > free:
        make, than = error, f"too small for {want.nodes}"
    problem = f"the account's quota is {than}: {name}"
    return probe_result(
        make("live.quota", want.path, problem, given=value, allowed=f"{free:g}", fix=fix)
    )
