"""Inference services: the pool of each group of replicas, and whether the quota has room for the maximum.

Kueue admits each pod of a Deployment, and each group of a LeaderWorkerSet, as a workload of its own. A pod
template selects one pool, so the maximum must fit the team's quota in that pool.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpuyard.findings import Diagnostic, Path
from gpuyard.names import services_priority
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, Quota, ReplicaGroup, ServicePlan, ShapePlan
from gpuyard.plan.shapes.shapes import candidate_pools, shape_plan
from gpuyard.plan.sharing.compute_slices import quota_resource_and_amount
from gpuyard.spec.platform import Shape
from gpuyard.spec.sections import Service, ServiceKind
from gpuyard.spec.values import Range

PREFILL = "prefill"
"""Suffix of the objects of the replicas that compute prompts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A pool for the replicas of a group, and how many of them it and the team's quota hold."""

    pool: PoolPlan
    shape: ShapePlan
    quota: Quota | None
    """The team's quota in the pool; None if it has none."""
    units: int
    """Units of the quota that one replica needs."""

    @property
    def fit_pool(self) -> int:
        """Replicas that fit in the pool with all its nodes."""
        nodes, each = self.pool.nodes.high, self.shape.nodes
        return nodes // each if each > 1 else nodes * self.shape.pods_per_node

    @property
    def fit_guarantee(self) -> int:
        """Replicas that the guarantee covers."""
        return self.quota.nominal // self.units if self.quota else 0

    @property
    def fit_quota(self) -> int:
        """Replicas that guarantee and borrowing limit cover."""
        return (self.quota.nominal + self.quota.borrow) // self.units if self.quota else 0

    @property
    def fit(self) -> int:
        """Replicas that can run at the same time."""
        return min(self.fit_pool, self.fit_quota)


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
    plans = [_service_plan(draft, path, service) for path, service in services_of(draft)]
    return replace(draft, services=tuple(plan for plan in plans if plan is not None)), []


def _service_plan(draft: Draft, path: Path, service: Service) -> ServicePlan | None:
    team = next((each for each in draft.teams if each.name == service.team), None)
    groups = [_group_plan(draft, service, group) for group in groups_of(path, service)]
    complete = tuple(group for group in groups if group is not None)
    if team is None or len(complete) < len(groups):
        return None
    return ServicePlan(
        spec=service,
        namespace=team.default_namespace.name,
        priority=service.priority or services_priority(draft.spec.name),
        groups=complete,
    )


def _group_plan(draft: Draft, service: Service, group: ServiceGroup) -> ReplicaGroup | None:
    placed = placement(draft, service.team, group)
    if placed is None:
        return None
    return ReplicaGroup(
        name=group.name,
        shape=placed.shape,
        kind=kind_of(service, placed.shape.nodes),
        replicas=group.replicas,
        args=group.args,
        has_room_for_surge=placed.fit > group.replicas.high,
    )


def kind_of(service: Service, nodes: int) -> ServiceKind:
    """The kind of a service's object; by default one that fits the number of nodes of a replica."""
    if service.kind is not None:
        return service.kind
    return ServiceKind.LEADER_WORKER_SET if nodes > 1 else ServiceKind.DEPLOYMENT


def shape_named(draft: Draft, name: str) -> Shape | None:
    """The shape of the stack file with this name; None if there is none."""
    return next((shape for shape in draft.spec.shapes if shape.name == name), None)


def placement(draft: Draft, team: str, group: ServiceGroup) -> Placement | None:
    """The first pool that holds the maximum of replicas, else the one that holds most; None if no pool fits."""
    shape = shape_named(draft, group.shape)
    index = next((i for i, each in enumerate(draft.spec.teams) if each.name == team), None)
    if shape is None or index is None:
        return None
    pools = [p for p in draft.valid_pools.values() if shape.pool in {None, p.name}]
    found: list[Placement] = []
    for pool, offer in candidate_pools(shape, pools):
        resource, each = quota_resource_and_amount(pool, offer.resource)
        quotas = (q for q in draft.quotas.get(index, ()) if q.pool == pool.name)
        placed = Placement(
            pool=pool,
            shape=shape_plan(shape, pool, offer),
            quota=next((q for q in quotas if q.resource == resource), None),
            units=(shape.gpus_per_node or 1) * each * shape.nodes,
        )
        if placed.fit >= group.replicas.high:
            return placed
        found.append(placed)
    return max(found, key=lambda each: each.fit, default=None)
