"""Findings about disruptive deployments."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpuyard.changes.deployed_state import DeployedState
from gpuyard.changes.planned_changes import Disruption, Effect, PlannedChanges, plan_changes
from gpuyard.changes.platforms import DrainedPool, RemovedGuarantee, driver_of
from gpuyard.changes.retained_content import ResourceContent
from gpuyard.plan.capacity.capacity_options import startup_time_range
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.validation.jobs import checked_pools
from gpuyard.stack_validation import ValidatedStack
from gpuyard_core.catalogue.cluster.times import CONTROL_PLANES
from gpuyard_core.findings import Diagnostic, Fix, error, format_list, info, sort_findings, warning

_WHERE_THERE_ARE = "if machines are available immediately"
_PAST = {
    Effect.REPLACES: "replaced",
    Effect.DELETES: "deleted",
    Effect.REPARTITIONS: "repartitioned",
    Effect.ROLLS: "rolled",
}


def change_findings(plan: PlatformPlan, changes: PlannedChanges) -> list[Diagnostic]:
    """Findings of planned changes: a disruption is an error until the stack file approves it."""
    findings = [_of_loss(plan, loss) for loss in changes.disruptions]
    findings += [_lowered(plan, *each) for each in changes.reduced_quotas]
    findings += [
        warning(
            "change.unforeseen",
            (),
            f"pulumi preview will {op} {name}, and no change of the stack file explains it",
            given=f"{op} {name}",
            allowed="only changes that follow from the stack file",
            fix=Fix(
                message="inspect `pulumi preview --diff`: a manual change, a refresh or a new provider version caused it"
            ),
        )
        for op, name in changes.unplanned_removals
    ]
    return [*findings, *_in_turns(plan, changes), *_unneeded(plan, changes.disruptions)]


def _in_turns(plan: PlatformPlan, changes: PlannedChanges) -> Iterator[Diagnostic]:
    if not changes.rollout_waves:
        return
    (first, *_), rest = changes.rollout_waves
    name = next(pool.name for pool in plan.pools if pool.stable_name == first)
    required = plan.validation is not None and plan.validation.required
    awaited = required and name in {pool.name for pool in checked_pools(plan)}
    condition = "exist"
    if first in changes.driver_rollouts:
        (driver,) = (driver_of(plan, each) for each in plan.pools if each.stable_name == first)
        condition = f"have driver {driver}"
    until = "its validation has passed" if awaited else f"its nodes {condition}"
    names = [pool.name for pool in plan.pools if pool.stable_name in rest]
    yield info(
        "change.turns",
        ("pools",),
        f"{1 + len(rest)} pools change: {name} first, and {format_list(names)} when {until}; if that fails,"
        f" {format_list(names)} {'stays' if len(names) == 1 else 'stay'} unchanged",
        given=f"{name}, then {format_list(names)}",
        fix=Fix(
            message="no action; hardware validation (`validation`) gates the rollout between them"
            if awaited
            else "no action; set `validation` and an image to gate the rollout on hardware validation"
        ),
    )


def _of_loss(plan: PlatformPlan, loss: Disruption) -> Diagnostic:
    """Its finding; an unapproved one is an error with the digest that approves it."""
    approved = plan.spec.approved_changes
    done, lost = f"{loss.subject} is {_PAST[loss.effect]}", _loss_text(plan, loss)
    given = f"approved: {format_list(approved)}" if approved else "not approved"
    if loss.blocked:
        return error(
            "change.replaces",
            loss.path,
            f"{done}: {loss.reason}; {loss.blocked}; {lost}",
            given=given,
            allowed="the earlier value: this change cannot be approved",
            fix=Fix(
                message="restore the earlier value; to change it, create a platform with another name and destroy this one"
            ),
        )
    if loss.digest in approved:
        return info(
            "change.consented",
            loss.path,
            f"{done}, with your approval; {lost}",
            given=loss.digest,
            fix=Fix(
                message="no action now; remove the digest from `approved_changes` after the deployment"
            ),
        )
    protection = (
        f"; {format_list(loss.protected)} is protected: Pulumi rejects the change until `cluster.protect: false`"
        " is deployed"
        if loss.protected
        else ""
    )
    return error(
        {
            Effect.REPLACES: "change.replaces",
            Effect.DELETES: "change.deletes",
            Effect.REPARTITIONS: "change.recuts",
            Effect.ROLLS: "change.rolls",
        }[loss.effect],
        loss.path,
        f"{done}: {loss.reason}; {lost}{protection}",
        given=given,
        allowed=f"with approved_changes: {loss.digest}",
        fix=Fix(
            message=f"restore the earlier value, or approve the change: add {loss.digest} to `approved_changes`",
            at=("approved_changes",),
            value=[*approved, loss.digest] if approved else loss.digest,
        ),
    )


def _loss_text(plan: PlatformPlan, loss: Disruption) -> str:
    """Everything that is lost, in one sentence."""
    parts: list[str] = []
    if (count := len(loss.also_removed)) > 1:
        parts.append(f"{count} resources are removed: {format_list(loss.also_removed)}")
    if loss.lost_content:
        parts.append(f"lost: {format_list(each.value for each in loss.lost_content)}")
    parts += [_drained(each) for each in loss.drained_pools]
    if loss.guarantees:
        ends = "permanently" if loss.effect is Effect.DELETES else _how_long(plan, loss)
        shares = (f"{g.team} {g.count} {g.resource} of {g.pool}" for g in loss.guarantees)
        parts.append(f"teams lose {format_list(shares)} {ends}")
    return "; ".join(parts) or "nothing runs on it"


def _how_long(plan: PlatformPlan, loss: Disruption) -> str:
    """How long capacity is missing: until new nodes, and a new cluster first, are ready."""
    if loss.effect is Effect.REPARTITIONS:
        return "until every node is repartitioned, one node at a time"
    nodes = startup_time_range(plan.pools)
    if nodes is None:
        return "until new nodes are ready"
    if loss.effect is Effect.ROLLS:
        begins = "in part, until the last node is replaced:"
        return f"{begins} {nodes} for each batch, {_WHERE_THERE_ARE}"
    if ResourceContent.CLUSTER not in loss.lost_content:
        return f"until new nodes are ready: {nodes}, {_WHERE_THERE_ARE}"
    cluster = CONTROL_PLANES.get(plan.cloud.value)
    begins = "until a new cluster and new nodes are ready:"
    if cluster is None:
        unmeasured = "plus the time for the cluster, which is unmeasured"
        return f"{begins} {nodes} for the nodes, {_WHERE_THERE_ARE}, {unmeasured}"
    least, most = cluster.least + nodes.min_minutes, cluster.most + nodes.max_minutes
    return f"{begins} {least} to {most} minutes, {_WHERE_THERE_ARE}"


def _drained(drained: DrainedPool) -> str:
    if drained.nodes is None:
        return f"pool {drained.pool} is drained"
    nodes = f"{drained.nodes} node{'' if drained.nodes == 1 else 's'}"
    gpus = "an unknown number of" if drained.gpus is None else drained.gpus
    return f"pool {drained.pool} is drained: up to {nodes} with {gpus} GPUs"


def _lowered(plan: PlatformPlan, missing: RemovedGuarantee, remaining: int) -> Diagnostic:
    names = [team.name for team in plan.spec.teams]
    at = ("teams", names.index(missing.team)) if missing.team in names else ("teams",)
    return warning(
        "change.lowers",
        at,
        f"team {missing.team} is guaranteed {remaining} {missing.resource} of {missing.pool}, {missing.count} before:"
        " jobs above the guarantee can be preempted",
        given=str(remaining),
        allowed=f"{missing.count} to keep all running jobs",
        fix=Fix(message="inform the team, or restore the guarantee"),
    )


def _unneeded(plan: PlatformPlan, losses: Iterable[Disruption]) -> Iterator[Diagnostic]:
    needed = {loss.digest for loss in losses}
    idle = [each for each in plan.spec.approved_changes if each not in needed]
    if idle:
        remaining = [each for each in plan.spec.approved_changes if each in needed]
        yield warning(
            "change.unneeded",
            ("approved_changes",),
            "no pending change has this digest: the change was deployed or has changed since",
            given=format_list(idle),
            allowed=format_list(sorted(needed)) or "no approval",
            fix=Fix(message="remove it", at=("approved_changes",), value=remaining or None),
        )


def compare_with_deployed(
    judged: ValidatedStack, state: DeployedState
) -> tuple[ValidatedStack, PlannedChanges | None]:
    """Add the findings about planned changes; without a plan nothing is compared."""
    if judged.plan is None:
        return judged, None
    changes = plan_changes(judged.plan, judged.plan.provider.graph(judged.plan), state)
    results = (*judged.findings, *change_findings(judged.plan, changes))
    return replace(judged, findings=tuple(sort_findings(results))), changes
