"""ResourceQuota and LimitRange of a team's namespace."""

from math import ceil

from gpuyard.explain.messages import phrases, queue
from gpuyard.explain.outcome import Excess
from gpuyard.manifests.quantities import CPU, GIB, MEMORY, MILLI, format_amount
from gpuyard.plan.records import NamespacePlan, PlatformPlan, TeamPlan


def over_resource_quota(home: NamespacePlan, result: Excess) -> str:
    """A pod that its namespace has no room for."""
    return (
        f"the ResourceQuota of namespace {home.name} holds {result.hard:,} {result.resource},"
        f" its pods have {result.available:,}, and {result.requested:,} more are asked for"
    )


def own_pods_first(team: TeamPlan, home: NamespacePlan, result: Excess) -> str:
    """What must end before the namespace has room."""
    return f"when pods of {_whose(team, home)} that hold {result.lacking:,} {result.resource} have ended"


def container_too_large(home: NamespacePlan, resource: str, amount: int, most: int) -> str:
    """A container that no pod of the namespace may have."""
    return (
        f"one of its containers asks for {format_amount(resource, amount)}, or is limited to them, and the"
        f" LimitRange of namespace {home.name} allows one {format_amount(resource, most)}"
    )


def over_namespace(home: NamespacePlan, result: Excess) -> str:
    """Pods that the namespace has no room for beside those it has."""
    asks, has, hard = (
        format_amount(result.resource, n) for n in (result.requested, result.available, result.hard)
    )
    usage = f" and its pods have {has}" if result.available else ""
    return (
        f"its pods ask for {asks} together, and the ResourceQuota of namespace {home.name}"
        f" holds {hard}{usage}"
    )


def own_end_first(team: TeamPlan, home: NamespacePlan, result: Excess) -> str:
    """What must end before the namespace has room for all of its pods."""
    amount = format_amount(result.resource, result.lacking)
    return f"when pods of {_whose(team, home)} that hold {amount} have ended"


def _whose(team: TeamPlan, home: NamespacePlan) -> str:
    """All pods of the team, or those of one of its namespaces."""
    return f"team {team.name}" + (f" in {home.name}" if len(team.namespaces) > 1 else "")


def made_later() -> str:
    """What happens to pods that their owner may not make yet."""
    return "Kubernetes refuses the pods beyond that; their owner tries again, ever more seldom."


def unmade(plan: PlatformPlan) -> str:
    """What Kueue does with a gang of which some pods are never made."""
    return (
        "Kueue admits it, and Kubernetes refuses each pod beyond the quota; those that exist hold their GPUs."
        f" {queue.evicted_later(plan)}"
    )


def more_for_namespace(plan: PlatformPlan, team: TeamPlan, resource: str, amount: int) -> str:
    """The limit of the team that would do."""
    word, unit = {CPU: ("cpu", MILLI), MEMORY: ("memory_gib", GIB)}.get(resource, ("pods", 1))
    at = f"{phrases.path_of(plan, team)}.limits.{word}"
    return f"let team {team.name} have more: {at}: {ceil(amount / unit)}"


def not_even_queued() -> str:
    """What happens to a pod that the API server does not take now."""
    return (
        "Kubernetes refuses the pod, and nothing waits: submit it again then,"
        " or as a Job, which queues before it has pods."
    )
