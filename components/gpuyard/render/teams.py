"""A team's objects: namespace, limits, network, access and queue."""

from gpuyard.admission.parameters import parameters_of
from gpuyard.names import (
    BUDGET_ANNOTATION,
    ISOLATION_LABEL,
    KUEUE_API,
    POD_SECURITY_AUDIT_LABEL,
    POD_SECURITY_LABEL,
    POD_SECURITY_WARN_LABEL,
    PROTECT_ANNOTATION,
    TEAM_LABEL,
    TEAM_PRIORITY_LABEL,
)
from gpuyard.plan.records import HostAmount, LimitsPlan, PlatformPlan, TeamPlan
from gpuyard.plan.teams.pod_security import stricter
from gpuyard.render.access import access_objects
from gpuyard.render.network import network_policy
from gpuyard.render.objects import Object, made


def team_objects(plan: PlatformPlan, team: TeamPlan) -> list[Object]:
    """In the order in which they must exist: the namespace, its limits, who may enter, the queue last."""
    return [
        _namespace(plan, team),
        made(
            plan.name,
            "v1",
            "ResourceQuota",
            "gpuyard",
            namespace=team.namespace,
            spec={"hard": _hard(team)},
        ),
        made(
            plan.name,
            "v1",
            "LimitRange",
            "gpuyard",
            namespace=team.namespace,
            spec={"limits": _ranges(team.limits)},
        ),
        network_policy(plan, team),
        *access_objects(plan, team),
        *(_queue(plan, team, name, weight) for name, weight in team.queues.items()),
    ]


def _namespace(plan: PlatformPlan, team: TeamPlan) -> Object:
    """Levels are those of the platform's Kubernetes: a control plane that is ahead refuses nothing new.

    Whoever applies a Job is warned of what its pods would be refused for, and of nothing else: a warning at
    each apply, about what is allowed here, is soon read by nobody. The audit log has the next stricter level.
    """
    version = f"v{plan.kubernetes}"
    levels = {
        POD_SECURITY_LABEL: team.pod_security,
        POD_SECURITY_WARN_LABEL: team.pod_security,
        POD_SECURITY_AUDIT_LABEL: stricter(team.pod_security),
    }
    budget = team.budget_usd_per_month
    return made(
        plan.name,
        "v1",
        "Namespace",
        team.namespace,
        labels={
            TEAM_LABEL: team.namespace,
            ISOLATION_LABEL: team.isolation.value,
            **({TEAM_PRIORITY_LABEL: team.priority} if team.priority else {}),
            **{label: level.value for label, level in levels.items()},
            **{f"{label}-version": version for label in levels},
        },
        annotations={
            **parameters_of(plan, team).annotations(),
            **({PROTECT_ANNOTATION: "true"} if team.protect else {}),
            **({} if budget is None else {BUDGET_ANNOTATION: f"{budget:.2f}".removesuffix(".00")}),
        },
    )


def _queue(plan: PlatformPlan, team: TeamPlan, name: str, weight: float) -> Object:
    """An entrance to the team's cluster queue; its weight is looked at when use is counted."""
    spec: Object = {"clusterQueue": team.cluster_queue}
    if plan.queueing.usage_half_life_hours is not None:
        spec["fairSharing"] = {"weight": f"{weight:g}"}
    return made(
        plan.name,
        KUEUE_API,
        "LocalQueue",
        name,
        namespace=team.namespace,
        spec=spec,
    )


def _hard(team: TeamPlan) -> dict[str, str]:
    """Quantities as text: the form in which the API server gives them back."""
    limits = team.limits
    hard = {resource: str(amount) for resource, amount in team.hard.items()}
    hard |= {f"requests.{name}": amount for name, amount in _amounts(limits).items()}
    if limits.storage_gib is not None:
        hard["requests.storage"] = _gib(limits.storage_gib)
    if limits.claims is not None:
        hard["persistentvolumeclaims"] = str(limits.claims)
    if limits.pods is not None:
        hard["pods"] = str(limits.pods)
    return dict(sorted({**hard, **_NO_ENTRANCE}.items()))


_NO_ENTRANCE = {"services.loadbalancers": "0", "services.nodeports": "0"}
"""The network policy lets nobody in from outside; a balancer would only cost."""


def _ranges(limits: LimitsPlan) -> list[Object]:
    """The default of a limit is written out: the API server would add it, as the largest that is allowed."""
    most = _amounts(limits.container)
    container: Object = {"type": "Container", "max": most, "default": most}
    ranges = [container | {"defaultRequest": _amounts(limits.unsaid)}]
    if limits.storage_gib is not None:
        claim = {"storage": _gib(limits.storage_gib)}
        ranges.append({"type": "PersistentVolumeClaim", "max": claim})
    return ranges


def _amounts(of: HostAmount | LimitsPlan) -> dict[str, str]:
    return {"cpu": str(of.cpu), "memory": _gib(of.memory_gib)}


def _gib(amount: int) -> str:
    """`512Gi`, `2Ti`: Kubernetes takes the largest unit that leaves a whole number."""
    for unit in ("Gi", "Ti"):
        if amount % 1024:
            return f"{amount}{unit}"
        amount //= 1024
    return f"{amount}Pi"
