"""Limits of a team besides GPUs: CPU, memory, storage, pods and objects.

Queues count GPUs only (docs/decisions/0008). The namespace's ResourceQuota limits the rest. Its default is
the capacity of the nodes that the team's GPUs fill, the same again for waiting pods, and a little for pods
without GPUs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from gpuyard.plan.draft import Draft
from gpuyard.plan.quotas.entries import per_node
from gpuyard.plan.records import CpuAndMemory, LimitsPlan, PoolPlan, Quota
from gpuyard.plan.shapes.quota import host_need, planned_shapes
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import Enforce
from gpuyard.spec.teams import Team
from gpuyard_core.findings import Diagnostic

NON_GPU_OVERHEAD = CpuAndMemory(cpu=8, memory_gib=32)
"""For pods without GPUs: a launcher, a notebook, a dashboard. Without it a team whose GPUs are all in use
could start none of them."""
PODS_ASIDE, OBJECTS_ASIDE = 100, 500
"""Pods, and objects of each kind, in addition to those for its GPUs."""
PODS_A_GPU = 4
"""Pods for each GPU, slice or share: the one that uses it, waiting ones and helpers."""
STORAGE_ASIDE_GIB, STORAGE_A_GPU_GIB = 1024, 100
"""GiB of volumes that a team claims: in general, and for each GPU, slice or share."""
LEAST_CPU_MILLI, LEAST_MEMORY_MIB = 100, 64
"""The minimum request of a pod, and the default request of a container."""

ROUNDS = 2
"""The factor for CPU and memory: running pods, and the same again for waiting pods."""
WAITING, LEAST_WAITING = 4, 32
"""GPUs of waiting pods: this many for each GPU that may run, and at least this many for a team."""


def can_gpu_pods_wait(spec: PlatformSpec) -> bool:
    """Whether pods with GPUs may wait: if policies only warn, the quota must limit the running pods."""
    return spec.admission is None or spec.admission.enforce is Enforce.DENY


def with_queued_pods(own: int) -> int:
    """GPUs of running and of waiting pods: a ResourceQuota also counts pods that Kueue gates."""
    return own and own + max(WAITING * own, LEAST_WAITING)


def decide_limits(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The limits of every team: the stack file's, else enough for its GPUs and for each of its shapes."""
    spec, pools = draft.spec, draft.valid_pools
    largest = CpuAndMemory(
        max((p.machine.vcpus for p in pools.values()), default=0),
        max((p.machine.memory_gib for p in pools.values()), default=0),
    )
    needs: dict[str, list[CpuAndMemory]] = {team.name: [] for team in spec.teams}
    for shape, plan in planned_shapes(draft):
        for name in (*plan.teams, *draft.blocked_teams.get(plan.name, ())):
            needs[name].append(host_need(shape).amount)
    limits = {
        index: _limits(
            team,
            pools,
            draft.quotas.get(index, ()),
            needs[team.name],
            largest,
            rounds=ROUNDS if can_gpu_pods_wait(spec) else 1,
        )
        for index, team in enumerate(spec.teams)
    }
    return replace(draft, limits=limits), []


def _limits(
    team: Team,
    pools: Mapping[str, PoolPlan],
    quotas: Sequence[Quota],
    shapes: Sequence[CpuAndMemory],
    largest: CpuAndMemory,
    *,
    rounds: int,
) -> LimitsPlan:
    filled = _filled(pools, quotas)
    limits = team.limits
    runs = CpuAndMemory(
        max([filled.cpu, *(s.cpu for s in shapes)]),
        max([filled.memory_gib, *(s.memory_gib for s in shapes)]),
    )
    cpu = limits.cpu or NON_GPU_OVERHEAD.cpu + rounds * runs.cpu
    memory = limits.memory_gib or NON_GPU_OVERHEAD.memory_gib + rounds * runs.memory_gib
    gpus = sum(quota.nominal + quota.borrow for quota in quotas)
    gpu_pods = PODS_A_GPU * gpus
    pods = limits.pods or PODS_ASIDE + gpu_pods
    most = CpuAndMemory(min(cpu, largest.cpu or cpu), min(memory, largest.memory_gib or memory))
    return LimitsPlan(
        cpu=cpu,
        memory_gib=memory,
        storage_gib=limits.storage_gib or STORAGE_ASIDE_GIB + STORAGE_A_GPU_GIB * gpus,
        claims=limits.claims or pods,
        pods=pods,
        objects=limits.objects or OBJECTS_ASIDE + gpu_pods,
        container=most,
        explicit_fields=tuple(sorted(limits.model_dump(exclude_none=True))),
    )


def _filled(pools: Mapping[str, PoolPlan], quotas: Sequence[Quota]) -> CpuAndMemory:
    """The allocatable CPU and memory of whole nodes: as many of each pool as its scarcest resource needs."""
    nodes: dict[str, int] = {}
    for quota in quotas:
        each = per_node(pools[quota.pool], quota.resource)
        need = ceil((quota.nominal + quota.borrow) / each)
        nodes[quota.pool] = max(need, nodes.get(quota.pool, 0))
    return CpuAndMemory(
        sum(count * pools[name].allocatable.cpu for name, count in nodes.items()),
        sum(count * pools[name].allocatable.memory_gib for name, count in nodes.items()),
    )
