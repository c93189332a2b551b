"""ResourceQuota and LimitRange of a team's namespace."""

from math import ceil

from gpuyard.plan.records import NamespacePlan, PlatformPlan, TeamPlan
from gpuyard_advisor.explain.messages import phrases, queue
from gpuyard_advisor.explain.outcome import Excess
from gpuyard_core.manifests.quantities import CPU, GIB, MEMORY, MILLI, format_amount


def over_resource_quota(home: NamespacePlan, result: Excess) -> str:
    """A pod that exceeds the quota of its namespace."""
    return (
        f"the ResourceQuota of namespace {home.name} allows {result.hard:,} {result.resource},"
        f" its pods use {result.available:,}, and the job requests {result.requested:,} more"
    )


def when_pods_have_ended(team: TeamPlan, home: NamespacePlan, result: Excess) -> str:
    """Which pods must end before the quota suffices."""
    return f"when pods of {_whose(team, home)} that use {result.amount_to_release:,} {result.resource} have ended"


def container_too_large(home: NamespacePlan, resource: str, amount: int, most: int) -> str:
    """A container above the LimitRange of the namespace."""
    return (
        f"one of its containers has a request or limit of {format_amount(resource, amount)}, and the"
        f" LimitRange of namespace {home.name} allows at most {format_amount(resource, most)}"
    )


def total_over_resource_quota(home: NamespacePlan, result: Excess) -> str:
    """Pods that exceed the quota of the namespace with its existing pods."""
    asks, has, hard = (
        format_amount(result.resource, n) for n in (result.requested, result.available, result.hard)
    )
    usage = f" and its pods use {has}" if result.available else ""
    return (
        f"its pods request {asks} in total, and the ResourceQuota of namespace {home.name}"
        f" allows {hard}{usage}"
    )


def when_usage_is_released(team: TeamPlan, home: NamespacePlan, result: Excess) -> str:
    """Which pods must end before the quota suffices for all pods."""
    amount = format_amount(result.resource, result.amount_to_release)
    return f"when pods of {_whose(team, home)} that use {amount} have ended"


def _whose(team: TeamPlan, home: NamespacePlan) -> str:
    """All pods of the team, or those of one of its namespaces."""
    return f"team {team.name}" + (f" in {home.name}" if len(team.namespaces) > 1 else "")


def rejected_pods_are_retried() -> str:
    """What happens to pods that their controller cannot create yet."""
    return "The API server rejects the pods beyond that; their controller retries with back-off."


def gang_partly_rejected(plan: PlatformPlan) -> str:
    """What Kueue does with a gang of which some pods are never created."""
    return (
        "Kueue admits it, and the API server rejects each pod beyond the quota; existing pods keep their GPUs."
        f" {queue.evicted_after_start_timeout(plan)}"
    )


def raise_team_limit(plan: PlatformPlan, team: TeamPlan, resource: str, amount: int) -> str:
    """The team limit that suffices."""
    word, unit = {CPU: ("cpu", MILLI), MEMORY: ("memory_gib", GIB)}.get(resource, ("pods", 1))
    at = f"{phrases.team_path(plan, team)}.limits.{word}"
    return f"raise the limit of team {team.name}: {at}: {ceil(amount / unit)}"


def rejected_pod_not_queued() -> str:
    """What happens to a pod that the API server rejects now."""
    return (
        "The API server rejects the pod, and it does not queue: submit it again then,"
        " or submit it as a Job, which queues before its pods are created."
    )
