"""What a team's namespace may hold: a quota over all of it, and a range for one pod or container.

Beside GPUs these are bounds against filling up what teams share: nodes with many small pods, their disks, and
the store of the API server.
"""

from dataclasses import replace

from gpuyard.plan.records import HostAmount, LimitsPlan, NamespacePlan, PlatformPlan, TeamPlan
from gpuyard.plan.teams.limits import LEAST_CPU_MILLI, LEAST_MEMORY_MIB
from gpuyard.render.objects import Object, managed_object

NAME = "gpuyard"
COUNTED = (
    *("configmaps", "secrets", "services"),
    *("deployments.apps", "replicasets.apps", "statefulsets.apps"),
    *("cronjobs.batch", "jobs.batch"),
    *("horizontalpodautoscalers.autoscaling", "poddisruptionbudgets.policy"),
)
"""Kinds of Kubernetes itself that members make; those of other projects are none of a quota until their
definition is there, and refused from then on until the quota is counted anew."""
CLAIMED = ("resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io")
"""The same where pods claim devices."""
LEAST = {"cpu": f"{LEAST_CPU_MILLI}m", "memory": f"{LEAST_MEMORY_MIB}Mi"}
"""Of a pod: a node has no more room for pods than for what they ask for, however little that is.

Of a container that names no request the same: Kueue (v0.19.2, `AdjustResources`) sets the range's default
before the limit becomes the request, and starts no job whose request is then above its limit."""
DISK = "ephemeral-storage"
DISK_GIB = 100
"""Of a container that says nothing: beyond it the kubelet ends the pod, and not those beside it. It asks for
none: nodes that an autoscaler has yet to start promise no disk, and would never be started for it."""


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
    """The limits, and beside them what the platform claims for the team: that takes none of its own."""
    stores = () if plan.simulated else plan.storage.of(team.stable_name)
    if not stores:
        return limits
    return replace(
        limits,
        claims=limits.claims + len(stores),
        storage_gib=limits.storage_gib + sum(data.claim_gib for data in stores),
    )


def _hard(team: TeamPlan, limits: LimitsPlan, *, claims: bool) -> dict[str, str]:
    """Quantities as text: the form in which the API server gives them back."""
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
"""The network policy lets nobody in from outside; a balancer would only cost."""


def _ranges(limits: LimitsPlan) -> list[Object]:
    """The default of a limit is written out: the API server would add it, as the largest that is allowed."""
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


def _amounts(of: HostAmount | LimitsPlan) -> dict[str, str]:
    return {"cpu": str(of.cpu), "memory": gib(of.memory_gib)}


def gib(amount: int) -> str:
    """`512Gi`, `2Ti`: Kubernetes takes the largest unit that leaves a whole number."""
    for unit in ("Gi", "Ti"):
        if amount % 1024:
            return f"{amount}{unit}"
        amount //= 1024
    return f"{amount}Pi"
