"""Flavors, resource groups and cohorts, as Kueue counts them.

Kueue's rules: a resource is in one resource group of a queue, every flavor of a group lists exactly the
group's resources, a flavor is in one group, and a group has at most 64 flavors. So the groups must be the
connected components of the relation "pool advertises resource".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuyard.plan.capacity.provisioning import plan_admission_checks
from gpuyard.plan.draft import DecidedAmounts, Draft
from gpuyard.plan.pools.topology import topologies
from gpuyard.plan.queueing.kueue import installs_kueue, start_minutes
from gpuyard.plan.queueing.multikueue import plan_dispatch
from gpuyard.plan.queueing.priorities import queue_priorities
from gpuyard.plan.quotas.cohorts import cohort_object
from gpuyard.plan.records import (
    CohortLimit,
    CohortPlan,
    FlavorPlan,
    PlatformPlan,
    PoolPlan,
    QueueingPlan,
    Quota,
    ResourceGroup,
    TeamPlan,
)
from gpuyard.plan.sharing.compute_slices import all_profiles
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.queueing import PoolChoice
from gpuyard.spec.teams import Team
from gpuyard_core.catalogue.kubernetes.kueue import (
    MAX_COMBINATIONS,
    MAX_FLAVORS,
    MAX_FLAVORS_IN_ALL,
    MAX_GROUPS,
    MAX_RESOURCES,
    MAX_RESOURCES_IN_ALL,
)
from gpuyard_core.findings import Diagnostic, Fix, Path, error

_SHOWN = 3
"""How many pools a fix lists by name."""


def plan_flavor(pool: PoolPlan) -> FlavorPlan:
    """The flavor of a pool: its labels select the nodes, and admitted pods tolerate its taints."""
    topology = pool.topology.name if pool.topology else None
    return FlavorPlan(
        pool.flavor,
        pool.node_selector,
        pool.taints,
        stopped=bool(pool.stop_policy),
        topology=topology,
    )


def resource_groups(pools: Iterable[PoolPlan]) -> tuple[ResourceGroup, ...]:
    """Connected components of pools and resources, in the order of the pools."""
    groups = _Groups()
    for pool in pools:
        groups.add(pool)
    return groups.done()


@dataclass(slots=True)
class _Group:
    """Pools by position and name, and all resources that they advertise."""

    pools: list[tuple[int, str]]
    resources: dict[str, None]


class _Groups:
    """Groups that grow pool by pool: with a thousand pools, `fits` is called often."""

    def __init__(self) -> None:
        self.homes: dict[str, _Group] = {}
        self.count = 0

    def add(self, pool: PoolPlan) -> None:
        """Add a pool and merge the groups that share a resource with it."""
        first, *others = self._touched(pool) or [_Group([], {})]
        first.pools.append((self.count, pool.flavor))
        for other in others:
            first.pools += other.pools
            first.resources |= other.resources
        first.resources |= dict.fromkeys(a.resource for a in pool.counted_resources)
        changed = [r for other in others for r in other.resources]
        self.homes.update(dict.fromkeys(changed, first))
        self.homes.update(dict.fromkeys((a.resource for a in pool.counted_resources), first))
        self.count += 1

    def _touched(self, pool: PoolPlan) -> list[_Group]:
        results = (self.homes.get(a.resource) for a in pool.counted_resources)
        return list({id(g): g for g in results if g is not None}.values())

    def fits(self, pool: PoolPlan) -> bool:
        """Whether the groups with this pool would still fit in one Kueue queue or cohort."""
        touched = self._touched(pool)
        resources = {a.resource for a in pool.counted_resources}.union(
            *(g.resources for g in touched)
        )
        flavors = 1 + sum(len(g.pools) for g in touched)
        added = len(resources) - sum(len(g.resources) for g in touched)
        return (
            flavors <= MAX_FLAVORS
            and len(resources) <= MAX_RESOURCES
            and flavors * len(resources) <= MAX_COMBINATIONS
            and len(self.homes) + added <= MAX_RESOURCES_IN_ALL
            and len(self._groups()) + (not touched) <= MAX_GROUPS
            and self.count < MAX_FLAVORS_IN_ALL
        )

    def _groups(self) -> list[_Group]:
        return list({id(g): g for g in self.homes.values()}.values())

    def done(self) -> tuple[ResourceGroup, ...]:
        """The groups, sorted."""
        return tuple(
            ResourceGroup(
                tuple(sorted(group.resources, key=_resource_order)),
                tuple(name for _, name in sorted(group.pools)),
            )
            for group in sorted(self._groups(), key=lambda g: min(g.pools))
        )


def _resource_order(name: str) -> tuple[int, str]:
    return (len(name), name)


def decide_queueing(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The cohort tree with the unassigned capacity, and a flavor for every pool."""
    spec, pools = draft.spec, list(draft.valid_pools.values())
    plan = QueueingPlan(
        cohorts=(*_unassigned(spec, pools, draft.spare), *_cohorts(draft, pools)),
        flavors=tuple(plan_flavor(p) for p in pools),
        preemption=spec.queueing.preemption,
        fair_sharing=spec.queueing.fair_sharing,
        pool_choice=spec.queueing.pool_choice,
        priorities=queue_priorities(spec),
        slices_of=all_profiles(pools),
        install=installs_kueue(spec),
        dispatch=plan_dispatch(spec),
        stop_policy=spec.queueing.stop_policy or "",
        topologies=topologies(pools),
        checks=plan_admission_checks(spec, pools),
        start_minutes=start_minutes(spec),
        usage_half_life_hours=spec.queueing.usage_half_life_hours,
    )
    return replace(draft, queueing=plan), []


def _cohorts(draft: Draft, pools: Sequence[PoolPlan]) -> list[CohortPlan]:
    """The cohorts of the stack file, parents first.

    Limits are for one resource in one pool. So a cohort with limits lists every resource of which its teams
    have a quota, with a nominal quota of 0; the limit of a resource that it does not name is 0.
    """
    spec, result = draft.spec, []
    for one in draft.cohorts:
        cohort, parent = spec.queueing.cohorts[one.index], one.parent
        limited = cohort.borrow is not None or cohort.lend is not None
        mine = [
            p for p in pools if any((p.name, a.resource) in one.used for a in p.counted_resources)
        ]
        result.append(
            CohortPlan(
                name=cohort_object(spec.name, cohort.name),
                parent=spec.name
                if parent is None
                else cohort_object(spec.name, spec.queueing.cohorts[parent].name),
                title=cohort.name,
                weight=cohort.weight,
                resource_groups=resource_groups(mine) if limited else (),
                quotas=(),
                limits=tuple(
                    CohortLimit(
                        pool=p.name,
                        resource=a.resource,
                        borrow=one.borrow[p.name, a.resource],
                        lend=one.lend[p.name, a.resource],
                    )
                    for p in (mine if limited else ())
                    for a in p.counted_resources
                ),
            )
        )
    return result


def _unassigned(
    spec: PlatformSpec, pools: Sequence[PoolPlan], spare: DecidedAmounts
) -> tuple[CohortPlan, ...]:
    """The root cohort, and as many children as the unassigned capacity needs."""
    remaining = {key: amount for key, amount in spare.items() if amount > 0}
    spare_pools = {name for name, _ in remaining}
    with_spare = [p for p in pools if p.name in spare_pools]
    chunks: list[list[PoolPlan]] = [[]]
    groups = _Groups()
    for pool in with_spare:
        if not groups.fits(pool):
            chunks.append([])
            groups = _Groups()
        chunks[-1].append(pool)
        groups.add(pool)
    return tuple(
        CohortPlan(
            name=spec.name if index == 0 else f"{spec.name}-unassigned-{index}",
            parent=None if index == 0 else spec.name,
            resource_groups=resource_groups(chunk),
            quotas=tuple(
                Quota(
                    pool=p.name,
                    resource=a.resource,
                    nominal=remaining[p.name, a.resource],
                    borrow=0,
                    lend=None,
                )
                for p in chunk
                for a in p.counted_resources
                if (p.name, a.resource) in remaining
            ),
        )
        for index, chunk in enumerate(chunks)
    )


def check_cohort_sizes(draft: Draft) -> list[Diagnostic]:
    """Reject cohorts that exceed Kueue's limits, before Kueue rejects them."""
    positions = {cohort.name: i for i, cohort in enumerate(draft.spec.queueing.cohorts)}
    return [
        error(
            "queue.flavors",
            ("queueing", "cohorts", positions[cohort.title]),
            f"cohort {cohort.title} exceeds the limits of a Kueue Cohort: {why}",
            given=f"{sum(len(group.flavors) for group in cohort.resource_groups)} pools",
            allowed="fewer pools for its teams, or no borrow and lend limits of the cohort",
            fix=Fix(message="remove the cohort's borrow and lend, or give its teams fewer pools"),
        )
        for cohort in draft.queueing.cohorts
        if cohort.title and (why := _too_big(cohort.resource_groups))
    ]


def _too_big(groups: tuple[ResourceGroup, ...]) -> str:
    """The limit of Kueue that the groups of one queue or cohort exceed; "" if none."""
    return next(_excesses(groups), "")


def _excesses(groups: tuple[ResourceGroup, ...]) -> Iterator[str]:
    for group in groups:
        flavors, resources = len(group.flavors), len(group.resources)
        if flavors > MAX_FLAVORS:
            yield f"{flavors} pools for {group.resources[0]}; a queue has at most {MAX_FLAVORS}"
        if resources > MAX_RESOURCES:
            yield f"{resources} resources counted together, at most {MAX_RESOURCES}"
        if flavors * resources > MAX_COMBINATIONS:
            yield (
                f"{flavors} pools with {resources} resources counted together need"
                f" {flavors * resources} quotas; a resource group has at most {MAX_COMBINATIONS}"
            )
    if len(groups) > MAX_GROUPS:
        yield f"{len(groups)} kinds of GPU resources; a queue counts at most {MAX_GROUPS}"
    flavors = sum(len(group.flavors) for group in groups)
    if flavors > MAX_FLAVORS_IN_ALL:
        yield f"{flavors} pools in all; a queue has at most {MAX_FLAVORS_IN_ALL}"
    resources = sum(len(group.resources) for group in groups)
    if resources > MAX_RESOURCES_IN_ALL:
        yield f"{resources} resources in all; a queue counts at most {MAX_RESOURCES_IN_ALL}"


def check_flavors(draft: Draft) -> Iterator[Diagnostic]:
    """Reject queues that exceed Kueue's limits, before Kueue rejects them."""
    pools = draft.valid_pools
    for index, (team, plan) in enumerate(zip(draft.spec.teams, draft.teams, strict=True)):
        if why := _too_big(plan.resource_groups):
            path = ("teams", index)
            yield error(
                "queue.flavors",
                (*path, "guarantee"),
                f"the queue of team {team.name} exceeds the limits of a Kueue ClusterQueue: {why}",
                given=f"{sum(len(group.flavors) for group in plan.resource_groups)} pools",
                allowed="fewer pools for the team; identical pools can be merged",
                fix=_fewer_borrowed(team, plan, pools, (*path, "borrow"))
                or _merge_pools_fix(plan, pools),
            )


def _fewer_borrowed(
    team: Team, plan: TeamPlan, pools: Mapping[str, PoolPlan], path: Path
) -> Fix | None:
    """Drop as many pools from which the team only borrows as needed, last first; None if that is not enough."""
    pool_names = list(dict.fromkeys(q.pool for q in plan.quotas))
    guaranteed = {q.pool for q in plan.quotas if q.nominal}
    dropped: list[str] = []
    for name in reversed([name for name in pool_names if name not in guaranteed]):
        dropped.append(name)
        if not _too_big(resource_groups(pools[n] for n in pool_names if n not in dropped)):
            retained = {k: n for k, n in team.borrow.items() if k.partition("/")[0] not in dropped}
            message = f"do not borrow from {', '.join(reversed(dropped))}"
            return Fix(message=message, at=path, value=retained)
    return None


def _merge_pools_fix(plan: TeamPlan, pools: Mapping[str, PoolPlan]) -> Fix:
    """Name the largest group of its pools that differ only in name and size."""
    pools_by_kind: dict[object, list[str]] = {}
    for name in dict.fromkeys(q.pool for q in plan.quotas):
        pool = pools[name]
        kind = (
            pool.machines,
            pool.zones,
            pool.capacity,
            pool.scaling,
            pool.advertised,
            pool.owners,
        )
        pools_by_kind.setdefault(kind, []).append(name)
    most = max(pools_by_kind.values(), key=len)
    if len(most) == 1:
        return Fix(message="give the team fewer pools")
    shown = ", ".join(most[:_SHOWN]) + (f" and {len(most) - _SHOWN} more" if most[_SHOWN:] else "")
    return Fix(message=f"merge {shown} into one pool: they are identical")


def pool_choice(plan: PlatformPlan, team: TeamPlan) -> PoolChoice:
    """The value of the stack file; else by order for queues with a topology, by guarantee for others.

    Kueue v0.19 (flavorassigner.go) remembers where its search stopped, and continues there if it finds no
    placement. A search for free guarantee that finds none has tried all pools, so the next search starts
    again and takes the same pool without a placement: a later pool with a placement is never tried.
    """
    if plan.queueing.pool_choice is not None:
        return plan.queueing.pool_choice
    mine = {flavor for group in team.resource_groups for flavor in group.flavors}
    placed = any(pool.topology is not None for pool in plan.pools if pool.flavor in mine)
    return PoolChoice.ORDER if placed else PoolChoice.GUARANTEE
