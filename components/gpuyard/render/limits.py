"""The limits of a team's namespace: a quota for all of it, and a range for each pod or container.

Limits other than GPUs protect what teams share: nodes from many small pods, their disks, and the
API server's store.
"""

from dataclasses import replace

from gpuyard.plan.records import CpuAndMemory, LimitsPlan, NamespacePlan, PlatformPlan, TeamPlan
from gpuyard.plan.teams.limits import LEAST_CPU_MILLI, LEAST_MEMORY_MIB
from gpuyard.render.objects import Object, managed_object

NAME = "gpuyard"
COUNTED = (
    *("configmaps", "secrets", "services"),
    *("deployments.apps", "replicasets.apps", "statefulsets.apps"),
    *("cronjobs.batch", "jobs.batch"),
    *("horizontalpodautoscalers.autoscaling", "poddisruptionbudgets.policy"),
)
"""Kubernetes' own kinds that members create; a quota counts kinds of other projects only once their
definition exists, and the API server then rejects them until the quota is counted again."""
CLAIMED = ("resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io")
"""The same for pods that claim devices."""
LEAST = {"cpu": f"{LEAST_CPU_MILLI}m", "memory": f"{LEAST_MEMORY_MIB}Mi"}
"""Minimum request of a pod: it limits the number of pods on a node, however little they request.

Also the default request of a container: Kueue (v0.19.2, `AdjustResources`) sets the range's default
before the limit becomes the request, and starts no job whose request is then above its limit."""
DISK = "ephemeral-storage"
DISK_GIB = 100
"""Default limit of a container: above it the kubelet evicts the pod, not other pods of the node.
The default request is zero: an autoscaler knows no disk of nodes that it has yet to start, and
would start none for it."""


def limit_objects(plan: PlatformPlan, team: TeamPlan, space: NamespacePlan) -> list[Object]:
    """The quota and the range."""
    claims = any(pool.dra for pool in plan.pools)
    limits = with_stores(plan, team, space.limits)
    specs = {
        "ResourceQuota": {"hard": _hard(team, limits, claims=claims)},
        "LimitRange": {"limits": _ranges(limits)},
    }
    return [
        managed_object(plan.name, "v1", kind, NAME, namespace=space.name, spec=spec)
        for kind, spec in specs.items()
    ]


def with_stores(plan: PlatformPlan, team: TeamPlan, limits: LimitsPlan) -> LimitsPlan:
    """The limits plus the platform's claims for the team, which do not reduce the team's own."""
    stores = () if plan.simulated else plan.storage.datasets_of_team(team.stable_name)
    if not stores:
        return limits
    return replace(
        limits,
        claims=limits.claims + len(stores),
        storage_gib=limits.storage_gib + sum(data.claim_gib for data in stores),
    )


def _hard(team: TeamPlan, limits: LimitsPlan, *, claims: bool) -> dict[str, str]:
    """Quantities as text, in the form in which the API server returns them."""
    hard = {resource: str(amount) for resource, amount in team.hard.items()}
    hard |= {f"requests.{name}": amount for name, amount in _amounts(limits).items()}
    hard |= {
        f"count/{kind}": str(limits.objects) for kind in (*COUNTED, *(CLAIMED if claims else ()))
    }
    hard |= {"pods": str(limits.pods), "persistentvolumeclaims": str(limits.claims)}
    hard[f"limits.{DISK}"] = gib(limits.pods * DISK_GIB)
    hard["requests.storage"] = gib(limits.storage_gib)
    return dict(sorted({**hard, **_NO_ENTRANCE}.items()))


_NO_ENTRANCE = {"services.loadbalancers": "0", "services.nodeports": "0"}
"""The network policy blocks access from outside; a load balancer would only cost."""


def _ranges(limits: LimitsPlan) -> list[Object]:
    """The default limit is explicit: otherwise the API server adds it, as the largest allowed."""
    most = _amounts(limits.container)
    return [
        {
            "type": "Container",
            "max": most,
            "default": {**most, DISK: gib(DISK_GIB)},
            "defaultRequest": {**LEAST, DISK: "0"},
        },
        {"type": "Pod", "min": LEAST},
        {"type": "PersistentVolumeClaim", "max": {"storage": gib(limits.storage_gib)}},
    ]


def _amounts(of: CpuAndMemory | LimitsPlan) -> dict[str, str]:
    return {"cpu": str(of.cpu), "memory": gib(of.memory_gib)}


def gib(amount: int) -> str:
    """`512Gi`, `2Ti`: Kubernetes uses the largest unit that gives a whole number."""
    for unit in ("Gi", "Ti"):
        if amount % 1024:
            return f"{amount}{unit}"
        amount //= 1024
    return f"{amount}Pi"
