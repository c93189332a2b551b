"""Which pools' GPUs are put to work before a deployment ends, whose shares are tried, and which not, and why.

Work needs whole GPUs that nobody else has; whether sharing shares (docs/decisions/0062) all shares at once.
They are asked of a queue that owns nothing and borrows, so that no guarantee is broken
(docs/decisions/0060): what nobody lends is not to be had.
"""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.catalogue.fabric import direct_fabric, interfaces
from gpuyard.catalogue.sharing import SharingMethod
from gpuyard.findings import Finding, info
from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.fabrics import has_device_plugin
from gpuyard.plan.records import PoolCheck, PoolPlan, ValidationPlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import FabricKind

EFA, TCP = "efa", "tcp"
NO_DATASET = "there is no dataset that it could read"


def work_checks(draft: Draft, pool: PoolPlan, check: PoolCheck) -> PoolCheck:
    """Whether its GPUs work, and whether its nodes do so together."""
    return replace(
        check,
        idle=_idle(draft, pool),
        transport=_between(draft, pool),
        single_node_reason=_single_node_reason(draft, pool) if pool.start_nodes > 1 else "",
        shares_skip_reason=_untried(draft, pool),
        volumes_skip_reason=NO_DATASET,
        spare=_spare(pool),
    )


def _idle(draft: Draft, pool: PoolPlan) -> str:
    if pool.sharing is not SharingMethod.NONE:
        return "its GPUs are cut or shared, and what one share does says little of the whole"
    return _held_back(draft, pool)


def _untried(draft: Draft, pool: PoolPlan) -> str:
    if pool.sharing.is_counted_as_whole_gpu:
        return "its GPUs are not shared"
    return _held_back(draft, pool)


def _spare(pool: PoolPlan) -> int:
    """One too many waits only where there is no other place for it, and Kueue counts no places itself."""
    fixed = pool.nodes.high == pool.start_nodes
    return int(fixed and pool.topology is None and pool.compute_slices is None)


def _held_back(draft: Draft, pool: PoolPlan) -> str:
    """What keeps a queue that only borrows from all that a pool has."""
    if pool.stop_policy or draft.queueing.stop_policy:
        return "its queues are stopped"
    if pool.provisioning is not None:
        return "its autoscaler is asked before each job, and would make nodes for the check"
    for each in pool.counted_resources:
        needed, lent = pool.start_nodes * each.per_node, _lent(draft, pool, each.resource)
        if lent < needed:
            what = each.unit or "GPUs"
            why = "a team that lends less keeps the rest to itself"
            return f"of its {needed} {what} {lent} can be borrowed: {why}"
    return ""


def _lent(draft: Draft, pool: PoolPlan, resource: str) -> int:
    """What a queue without a guarantee can have at most: what nobody is guaranteed, and what teams lend."""
    key = (pool.name, resource)
    if any(
        (m.pool, m.resource) == key and m.lend is not None
        for c in draft.queueing.cohorts
        for m in c.limits
    ):
        return 0
    spare = sum(
        q.nominal for c in draft.queueing.cohorts for q in c.quotas if (q.pool, q.resource) == key
    )
    quotas = [q for team in draft.teams for q in team.quotas if (q.pool, q.resource) == key]
    return spare + sum(q.nominal if q.lend is None else min(q.nominal, q.lend) for q in quotas)


def _between(draft: Draft, pool: PoolPlan) -> str:
    """What pods can ask for: EFA's interfaces, and adapters that a device plugin of ours hands out."""
    if pool.fabric is not None and _handed_out(draft, pool):
        return pool.fabric.kind.value
    return EFA if draft.spec.cloud is Cloud.AWS and interfaces(pool.machine) else TCP


def _single_node_reason(draft: Draft, pool: PoolPlan) -> str:
    """Ways between nodes that a pod of ours cannot take: told, and never judged as if it were TCP."""
    if pool.machine.is_rack:
        return "the NVLink of a rack needs a ComputeDomain, which the check does not make"
    direct = direct_fabric(pool.machine)
    if draft.spec.cloud is Cloud.GCP and direct is not None:
        return f"{direct.name} needs Google's programs beside it in the pod"
    if pool.fabric is not None and pool.fabric.kind is not FabricKind.ETHERNET:
        kind = pool.fabric.kind.value
        ask = f"no {kind} adapters can be asked for: fabric.plugin names no device plugin"
        return "" if _handed_out(draft, pool) else ask
    return ""


def _handed_out(draft: Draft, pool: PoolPlan) -> bool:
    return draft.spec.cloud is Cloud.NONE and has_device_plugin(pool.fabric)


def unchecked_pools(draft: Draft, plan: ValidationPlan) -> Iterator[Finding]:
    """What the profile asks for, and a deployment leaves out."""
    if plan.profile == "quick":
        return
    places = {pool.name: index for index, pool in enumerate(draft.spec.pools)}
    for each in plan.pools:
        at = ("pools", places[each.pool])
        messages = []
        if each.runs and each.idle:
            messages.append(f"GPUs of {each.pool} are not put to work: {each.idle}")
        elif each.works and each.single_node_reason:
            messages.append(
                f"nodes of {each.pool} run collectives each for itself: {each.single_node_reason}"
            )
        if (
            each.runs
            and each.shares_skip_reason
            and not draft.valid_pools[each.pool].sharing.is_counted_as_whole_gpu
        ):
            messages.append(f"shares of {each.pool} are not tried: {each.shares_skip_reason}")
        if messages:
            yield info("validation.deferred", at, "; ".join(messages))
        if (each.works or each.tried) and draft.valid_pools[each.pool].nodes.high > each.nodes:
            what = "put to work" if each.works else "tried share by share"
            later = f"nodes of {each.pool} that come later are not {what}"
            yield info("validation.deferred", at, later)
