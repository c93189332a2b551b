"""Which pools are tested under load before a deployment ends, whose shares are tested, and why not others.

The load test needs whole GPUs without other users; the test of shares (docs/decisions/0062) all shares at
once. They are requested from a queue that has no guarantee and borrows, so that no guarantee is broken
(docs/decisions/0060): capacity that no team lends is not available.
"""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.fabrics import uses_rdma_device_plugin
from gpuyard.plan.records import PoolCheck, PoolPlan, ValidationPlan
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import FabricKind
from gpuyard_core.catalogue.fabric import GPUDIRECT, efa_interfaces_to_launch
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.findings import Diagnostic, info

EFA, TCP = "efa", "tcp"
NO_DATASET = "it can read no dataset"


def with_load_checks(draft: Draft, pool: PoolPlan, check: PoolCheck) -> PoolCheck:
    """Whether its GPUs are tested under load, and whether across nodes."""
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
        return "its GPUs are partitioned or shared, and a share does not represent the whole GPU"
    return _held_back(draft, pool)


def _untried(draft: Draft, pool: PoolPlan) -> str:
    if pool.sharing.is_counted_as_whole_gpu:
        return "its GPUs are not shared"
    return _held_back(draft, pool)


def _spare(pool: PoolPlan) -> int:
    """One share too many waits only if no other node can take it, and Kueue does not place pods itself."""
    fixed = pool.nodes.high == pool.start_nodes
    return int(fixed and pool.topology is None and pool.compute_slices is None)


def _held_back(draft: Draft, pool: PoolPlan) -> str:
    """Why a queue that only borrows cannot get the whole pool; empty if it can."""
    if pool.stop_policy or draft.queueing.stop_policy:
        return "its queues are stopped"
    if pool.provisioning is not None:
        return (
            "its autoscaler receives a request before each job, and would add nodes for the check"
        )
    for each in pool.counted_resources:
        needed, lent = pool.start_nodes * each.per_node, _lent(draft, pool, each.resource)
        if lent < needed:
            what = each.unit or "GPUs"
            why = "the teams do not lend the rest"
            return f"of its {needed} {what} {lent} can be borrowed: {why}"
    return ""


def _lent(draft: Draft, pool: PoolPlan, resource: str) -> int:
    """The maximum for a queue without a guarantee: unassigned capacity, and what teams lend."""
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
    """What pods can request: EFA interfaces, or adapters that gpuyard's device plugin advertises."""
    if pool.fabric is not None and _handed_out(draft, pool):
        return pool.fabric.kind.value
    has_efa = draft.provider.sells_machines and efa_interfaces_to_launch(pool.machine)
    return EFA if has_efa else TCP


def _single_node_reason(draft: Draft, pool: PoolPlan) -> str:
    """Transports that a validation pod cannot use: reported, and never measured as if they were TCP."""
    if pool.machine.is_rack:
        return "NVLink across a rack needs a ComputeDomain, which the check does not create"
    direct = GPUDIRECT.get(pool.machine.name)
    if draft.provider.sells_machines and direct is not None:
        return f"{direct.name} needs Google's sidecar programs in the pod"
    if pool.fabric is not None and pool.fabric.kind is not FabricKind.ETHERNET:
        kind = pool.fabric.kind.value
        ask = f"pods cannot request {kind} adapters: fabric.plugin names no device plugin"
        return "" if _handed_out(draft, pool) else ask
    return ""


def _handed_out(draft: Draft, pool: PoolPlan) -> bool:
    return draft.spec.cloud is Cloud.NONE and uses_rdma_device_plugin(pool.fabric)


def unchecked_pools(draft: Draft, plan: ValidationPlan) -> Iterator[Diagnostic]:
    """What the profile includes and the deployment does not test."""
    if plan.profile == "quick":
        return
    places = {pool.name: index for index, pool in enumerate(draft.spec.pools)}
    for each in plan.pools:
        at = ("pools", places[each.pool])
        messages = []
        if each.checks_any_node and each.idle:
            messages.append(f"GPUs of {each.pool} are not tested under load: {each.idle}")
        elif each.runs_load_checks and each.single_node_reason:
            messages.append(
                f"nodes of {each.pool} run collectives within a node only: {each.single_node_reason}"
            )
        if (
            each.checks_any_node
            and each.shares_skip_reason
            and not draft.valid_pools[each.pool].sharing.is_counted_as_whole_gpu
        ):
            messages.append(f"GPU shares of {each.pool} are not tested: {each.shares_skip_reason}")
        if messages:
            yield info("validation.deferred", at, "; ".join(messages))
        if (each.runs_load_checks or each.runs_share_checks) and draft.valid_pools[
            each.pool
        ].nodes.high > each.nodes:
            what = "tested under load" if each.runs_load_checks else "tested share by share"
            later = f"later nodes of {each.pool} are not {what}"
            yield info("validation.deferred", at, later)
