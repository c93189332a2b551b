"""Nodes that end while jobs run: which pools have them, and how much work an interruption loses.

A gang that loses a node is stopped as a whole and requeued (docs/decisions/0051).
"""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.plan.capacity.failback import has_failback
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import (
    InterruptionPlan,
    PoolInterruption,
    PoolPlan,
    SpotDisruption,
)
from gpuyard.provider import provider_of
from gpuyard.spec.pools import Scaling
from gpuyard.spec.queueing import InterruptionSpec
from gpuyard_core.catalogue.kubernetes.api import MUTATES_SINCE, changes_jobs
from gpuyard_core.catalogue.kubernetes.interruptions import INTERRUPTIBLE_MODES
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard_core.catalogue.software.programs import PYTHON
from gpuyard_core.findings import Diagnostic, Fix, Path, format_list, info, warning

LOOK_SECONDS = 3
"""The agent's polling interval: this much of a notice passes before pods are terminated."""
_SAID: Path = ("queueing", "interruption")


def decide_interruption(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """Plan the agent where nodes may end under teams' jobs, or come from a less preferred option.

    Jobs that run in other clusters are handled there.
    """
    spec = draft.spec
    pools = tuple(
        _pool(draft, pool) for pool in draft.valid_pools.values() if is_interruptible(pool)
    )
    with_fallback = tuple(
        pool.name for pool in draft.valid_pools.values() if _sold_in_ways(draft, pool)
    )
    if not (pools or with_fallback) or not spec.teams or draft.queueing.dispatch:
        return draft, []
    image = PYTHON.image_reference(spec.mirror.images if spec.mirror else None)
    interruption = InterruptionPlan(image=image, pools=pools, fallback_pools=with_fallback)
    return replace(draft, interruption=interruption), []


def _sold_in_ways(draft: Draft, pool: PoolPlan) -> bool:
    """Whether a node may come from a less preferred option, which the cloud's label names."""
    ways = {(option.mode, option.reservation) for option in pool.capacity_options}
    return draft.provider.sells_machines and len(ways) > 1


def is_interruptible(pool: PoolPlan) -> bool:
    """Whether nodes end under jobs: by capacity option, Karpenter after AWS events, or failback."""
    return bool(_ways(pool)) or pool.scaling is Scaling.KARPENTER or has_failback(pool)


def _ways(pool: PoolPlan) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            option.mode for option in pool.capacity_options if option.mode in INTERRUPTIBLE_MODES
        )
    )


def _pool(draft: Draft, pool: PoolPlan) -> PoolInterruption:
    spot = [option.max_nodes for option in pool.capacity_options if option.mode == Capacity.SPOT]
    notice = provider_of(pool.machine.cloud).spot_notice_seconds if spot else None
    interruption = draft.spec.queueing.interruption
    loss = None
    if interruption and notice is not None:
        shares = {a.resource: a.gpu_share for a in pool.advertised}
        jobs = [  # whole GPUs, at least one on each node
            shape.nodes * max(1, int(shape.per_node * shares[shape.resource]))
            for shape in draft.shapes
            if shape.pool == pool.name
        ]
        loss = _loss(interruption, notice, max(jobs, default=sum(spot) * pool.gpus_per_node))
    return PoolInterruption(
        pool=pool.name, capacity_options=_ways(pool), notice_seconds=notice, loss=loss
    )


def _loss(interruption: InterruptionSpec, notice: int, gpus: int) -> SpotDisruption:
    """A notice comes at any time between two checkpoints; a checkpoint in progress is lost."""
    if interruption.checkpoint_on_notice and _has_time(interruption, notice):
        return SpotDisruption(expected_minutes=0, worst_minutes=0, gpus=gpus)
    writing = interruption.checkpoint_seconds / 60
    every = interruption.checkpoint_interval_minutes
    return SpotDisruption(
        expected_minutes=every / 2 + writing, worst_minutes=every + writing, gpus=gpus
    )


def _has_time(interruption: InterruptionSpec, notice: int) -> bool:
    return interruption.checkpoint_seconds <= notice - LOOK_SECONDS


def check_interruption(draft: Draft) -> Iterator[Diagnostic]:
    """Jobs that a notice fails, losses above the limit, and checkpoints longer than the notice."""
    interruption, plan = draft.spec.queueing.interruption, draft.interruption
    if plan is None:
        return
    minor = draft.spec.kubernetes
    if plan.pools and minor in KUBERNETES_MINORS and not changes_jobs(minor):
        yield info(
            "spot.fails_jobs",
            ("kubernetes",),
            f"Kubernetes {minor} counts a pod lost with its node as a failure: jobs in"
            f" {format_list(each.pool for each in plan.pools)} without a podFailurePolicy may reach their"
            " backoffLimit and fail, before they are requeued",
            given=minor,
            allowed=f"1.{MUTATES_SINCE} or newer",
            fix=Fix(
                message=f"upgrade to 1.{MUTATES_SINCE}, or ignore DisruptionTarget in every job's podFailurePolicy"
            ),
        )
    if interruption:
        yield from _no_time(interruption, plan)
        yield from _loses(interruption, plan)


def _no_time(interruption: InterruptionSpec, plan: InterruptionPlan) -> Iterator[Diagnostic]:
    short = [
        each
        for each in plan.pools
        if each.notice_seconds is not None and not _has_time(interruption, each.notice_seconds)
    ]
    if interruption.checkpoint_on_notice and short:
        least = min(each.notice_seconds or 0 for each in short) - LOOK_SECONDS
        yield warning(
            "spot.no_time",
            (*_SAID, "checkpoint_on_notice"),
            f"pods of {format_list(each.pool for each in short)} have {least} seconds after an interruption notice,"
            f" but a checkpoint takes {interruption.checkpoint_seconds}: they are killed while writing it",
            given=f"checkpoint_seconds: {interruption.checkpoint_seconds}",
            allowed=f"checkpoint_seconds: {least} or less",
            fix=Fix(message="write false", at=(*_SAID, "checkpoint_on_notice"), value=False),
        )


def _loses(interruption: InterruptionSpec, plan: InterruptionPlan) -> Iterator[Diagnostic]:
    losses = [(each, each.loss) for each in plan.pools if each.loss]
    over = [
        (each, loss)
        for each, loss in losses
        if loss.expected_minutes > interruption.max_lost_minutes
    ]
    if not over:
        return
    most = max((loss for _, loss in over), key=lambda loss: loss.expected_gpu_hours)
    every = int((interruption.max_lost_minutes - interruption.checkpoint_seconds / 60) * 2)
    at = (*_SAID, "checkpoint_interval_minutes")
    yield warning(
        "spot.loses",
        at,
        f"a spot interruption in {format_list(each.pool for each, _ in over)} loses an expected"
        f" {most.expected_minutes:.0f} minutes of work, {most.expected_gpu_hours:,.0f} GPU hours of a job on"
        f" {most.gpus:,} GPUs",
        given=f"{interruption.checkpoint_interval_minutes} minutes",
        allowed=f"at most {interruption.max_lost_minutes} minutes lost: a checkpoint every {every} minutes"
        if every > 0
        else f"at most {interruption.max_lost_minutes} minutes lost: a checkpoint that takes less time",
        fix=Fix.write(every, at) if every > 0 else None,
    )
