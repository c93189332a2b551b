"""Inference services: the pool of each group of replicas, and whether the quota has room for the maximum.

Kueue admits each pod of a Deployment, and each group of a LeaderWorkerSet, as a workload of its own. A pod
template selects one pool, so the maximum must fit the team's quota in that pool.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Placement, ReplicaGroup, ServicePlan
from gpuyard.plan.shapes.shapes import candidate_pools, shape_plan
from gpuyard.plan.sharing.compute_slices import quota_resource_and_amount
from gpuyard.spec.platform import Shape
from gpuyard.spec.queueing import Preemption
from gpuyard.spec.sections import Service, ServiceKind
from gpuyard_core.findings import Diagnostic, Path
from gpuyard_core.models.values import Range
from gpuyard_core.names import services_priority

PREFILL = "prefill"
"""Suffix of the objects of the replicas that compute prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceGroup:
    """A group of replicas in the stack file."""

    path: Path
    """The path of the fields `shape` and `replicas`."""
    name: str
    shape: str
    replicas: Range
    args: tuple[str, ...]


def services_of(draft: Draft) -> Iterator[tuple[Path, Service]]:
    """The services of the stack file, with their paths."""
    workloads = draft.spec.workloads
    for index, service in enumerate(workloads.services if workloads else ()):
        yield ("workloads", "services", index), service


def groups_of(path: Path, service: Service) -> Iterator[ServiceGroup]:
    """The groups of a service: its own replicas, and those for prompts."""
    name, prefill = service.name, service.prefill
    yield ServiceGroup(
        path=path, name=name, shape=service.shape, replicas=service.replicas, args=service.args
    )
    if prefill is not None:
        yield ServiceGroup(
            path=(*path, PREFILL),
            name=f"{name}-{PREFILL}",
            shape=prefill.shape,
            replicas=prefill.replicas,
            args=prefill.args,
        )


def decide_services(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """Every service whose team and shapes exist, in a pool where it can start."""
    placements = dict(_placements(draft))
    spaces = {team.name: team.default_namespace.name for team in draft.teams}
    totals = Counter[tuple[str, str, str]]()
    for _, service, group in _all_groups(draft):
        if placed := placements.get(group.path):
            totals[_held(service, placed)] += placed.units * group.replicas.high
    plans: list[ServicePlan] = []
    for path, service in services_of(draft):
        groups = [*groups_of(path, service)]
        if service.team not in spaces or not all(group.path in placements for group in groups):
            continue
        plans.append(
            ServicePlan(
                spec=service,
                namespace=spaces[service.team],
                priority=service.priority or services_priority(draft.spec.name),
                groups=tuple(
                    _plan(draft, service, each, placements[each.path], totals) for each in groups
                ),
            )
        )
    return replace(draft, services=tuple(plans), placements=placements), []


def _all_groups(draft: Draft) -> Iterator[tuple[Path, Service, ServiceGroup]]:
    for path, service in services_of(draft):
        for group in groups_of(path, service):
            yield path, service, group


def _placements(draft: Draft) -> Iterator[tuple[Path, Placement]]:
    """The pool of each group, by the path of the group."""
    shapes = {shape.name: shape for shape in draft.spec.shapes}
    indexes = {team.name: index for index, team in enumerate(draft.spec.teams)}
    for _, service, group in _all_groups(draft):
        shape, index = shapes.get(group.shape), indexes.get(service.team)
        if shape is not None and index is not None:
            placed = _placement(draft, index, shape, group.replicas.high)
            if placed is not None:
                yield group.path, placed


def _held(service: Service, placed: Placement) -> tuple[str, str, str]:
    """The team, pool and resource of the quota that replicas use."""
    return service.team, placed.pool.name, placed.quota.resource if placed.quota else ""


def _plan(
    draft: Draft,
    service: Service,
    group: ServiceGroup,
    placed: Placement,
    totals: Mapping[tuple[str, str, str], int],
) -> ReplicaGroup:
    """A rollout may add a replica if the guarantee has room for it beside all services of the team.

    Replicas with the priority of services then get it: Kueue evicts what borrows it, and other workloads of the team.
    """
    free = placed.quota.nominal - totals[_held(service, placed)] if placed.quota else 0
    preempts = draft.spec.queueing.preemption is Preemption.RECLAIM and not service.priority
    return ReplicaGroup(
        name=group.name,
        shape=placed.shape,
        kind=kind_of(service, placed.shape.nodes),
        replicas=group.replicas,
        args=group.args,
        has_room_for_surge=preempts and free >= placed.units,
    )


def kind_of(service: Service, nodes: int) -> ServiceKind:
    """The kind of a service's object; by default one that fits the number of nodes of a replica."""
    if service.kind is not None:
        return service.kind
    return ServiceKind.LEADER_WORKER_SET if nodes > 1 else ServiceKind.DEPLOYMENT


def _placement(draft: Draft, team: int, shape: Shape, most: int) -> Placement | None:
    """The first pool that holds the maximum of replicas, else the one that holds most; None if no pool fits."""
    named = draft.pools.get(shape.pool) if shape.pool else None
    pools = [named] if named is not None else [*draft.valid_pools.values()]
    found: list[Placement] = []
    for pool, offer in candidate_pools(shape, pools if named or not shape.pool else []):
        resource, each = quota_resource_and_amount(pool, offer.resource)
        quotas = (q for q in draft.quotas.get(team, ()) if q.pool == pool.name)
        placed = Placement(
            pool=pool,
            shape=shape_plan(shape, pool, offer),
            quota=next((q for q in quotas if q.resource == resource), None),
            units=(shape.gpus_per_node or 1) * each * shape.nodes,
        )
        if placed.fit >= most:
            return placed
        found.append(placed)
    return max(found, key=lambda each: each.fit, default=None)
