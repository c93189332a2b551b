"""Findings about a deployment that would take something away."""

from collections.abc import Iterable, Iterator

from gpuyard.catalogue.cluster.times import CONTROL_PLANES
from gpuyard.changes.planned_changes import Disruption, Effect, PlannedChanges
from gpuyard.changes.platforms import DrainedPool, RemovedGuarantee, driver_of
from gpuyard.changes.retained_content import ResourceContent
from gpuyard.findings import Finding, Fix, error, format_list, info, warning
from gpuyard.plan.capacity.startup_time import slowest
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.validation.jobs import checked_pools

_WHERE_THERE_ARE = "where the machines are to be had at once"
_PAST = {
    Effect.REPLACES: "replaced",
    Effect.DELETES: "deleted",
    Effect.REPARTITIONS: "cut anew",
    Effect.ROLLS: "rolled",
}


def change_findings(plan: PlatformPlan, changes: PlannedChanges) -> list[Finding]:
    """What there is to say: a loss is refused until the stack file consents to it."""
    findings = [_of_loss(plan, loss) for loss in changes.disruptions]
    findings += [
        _lowered(plan, missing, remaining) for missing, remaining in changes.reduced_quotas
    ]
    findings += [
        warning(
            "change.unforeseen",
            (),
            f"the preview says that the engine will {op} {name}, and nothing of the stack file says why",
            value=f"{op} {name}",
            allowed="what the stack file changes",
            fix=Fix(
                message="look at it in `pulumi preview --diff`: a hand, a refresh or a new provider changed it"
            ),
        )
        for op, name in changes.unplanned_removals
    ]
    return [*findings, *_in_turns(plan, changes), *_unneeded(plan, changes.disruptions)]


def _in_turns(plan: PlatformPlan, changes: PlannedChanges) -> Iterator[Finding]:
    if not changes.rollout_waves:
        return
    (first, *_), rest = changes.rollout_waves
    name = next(pool.name for pool in plan.pools if pool.stable_name == first)
    required = plan.validation is not None and plan.validation.required
    awaited = required and name in {pool.name for pool in checked_pools(plan)}
    condition = f"have driver {driver}" if (driver := _comes(plan, changes, first)) else "are there"
    until = "its check has passed" if awaited else f"its nodes {condition}"
    names = [pool.name for pool in plan.pools if pool.stable_name in rest]
    yield info(
        "change.turns",
        ("pools",),
        f"{1 + len(rest)} pools change: {name} first, and {format_list(names)} when {until}; where that fails,"
        f" {format_list(names)} {'stays' if len(names) == 1 else 'stay'} as before",
        value=f"{name}, then {format_list(names)}",
        fix=Fix(
            message="nothing; a check of hardware (`validation`) is awaited between them"
            if awaited
            else "nothing; with `validation` and an image a check of hardware is awaited between them"
        ),
    )


def _comes(plan: PlatformPlan, changes: PlannedChanges, pool: str) -> str:
    """The driver that a pool gets; empty where it keeps its own."""
    results = [driver_of(plan, each) for each in plan.pools if each.stable_name == pool]
    return results[0] if pool in changes.driver_rollouts else ""


def _of_loss(plan: PlatformPlan, loss: Disruption) -> Finding:
    if loss.blocked:
        return error(
            "change.replaces",
            loss.path,
            f"{loss.subject} is {_PAST[loss.effect]}: {loss.reason}; {loss.blocked}; {_loss_text(plan, loss)}",
            value=f"consent to {format_list(plan.spec.approved_changes)}"
            if plan.spec.approved_changes
            else "no consent",
            allowed="as it was: no consent makes it go",
            fix=Fix(
                message="leave it; for another, make a platform of another name, and destroy this one"
            ),
        )
    if loss.digest in plan.spec.approved_changes:
        return info(
            "change.consented",
            loss.path,
            f"{loss.subject} is {_PAST[loss.effect]}, with your consent; {_loss_text(plan, loss)}",
            value=loss.digest,
            fix=Fix(message="nothing now; remove the consent after the deployment"),
        )
    if loss.effect is Effect.REPLACES:
        return _refused("change.replaces", plan, loss)
    if loss.effect is Effect.DELETES:
        return _refused("change.deletes", plan, loss)
    if loss.effect is Effect.ROLLS:
        return _refused("change.rolls", plan, loss)
    return _refused("change.recuts", plan, loss)


def _refused(kind: str, plan: PlatformPlan, loss: Disruption) -> Finding:
    """With the consent that makes it go."""
    approvals = (*plan.spec.approved_changes, loss.digest)
    protection = (
        f"; {format_list(loss.protected)} is protected: the engine refuses it until `cluster.protect: false`"
        " is deployed"
        if loss.protected
        else ""
    )
    return error(
        kind,
        loss.path,
        f"{loss.subject} is {_PAST[loss.effect]}: {loss.reason}; {_loss_text(plan, loss)}{protection}",
        value=f"consent to {format_list(plan.spec.approved_changes)}"
        if plan.spec.approved_changes
        else "no consent",
        allowed=f"with approved_changes: {loss.digest}",
        fix=Fix(
            message=f"leave it as it was; or, when the loss is meant, write {loss.digest} under `approved_changes`",
            at=("approved_changes",),
            value=approvals[0] if len(approvals) == 1 else list(approvals),
        ),
    )


def _loss_text(plan: PlatformPlan, loss: Disruption) -> str:
    """Everything that is lost, in one breath."""
    parts: list[str] = []
    if len(loss.also_removed) > 1:
        parts.append(f"{len(loss.also_removed)} resources go: {format_list(loss.also_removed)}")
    if loss.lost_content:
        parts.append(f"lost: {format_list(each.value for each in loss.lost_content)}")
    parts += [_drained(each) for each in loss.drained_pools]
    if loss.guarantees:
        ends = "for good" if loss.effect is Effect.DELETES else _how_long(plan, loss)
        parts.append(f"teams lose {format_list(map(_guarantee, loss.guarantees))} {ends}")
    return "; ".join(parts) or "nothing runs on it"


def _how_long(plan: PlatformPlan, loss: Disruption) -> str:
    """Until new nodes have come, and before them a new cluster; nodes that are rolled come in turns."""
    if loss.effect is Effect.REPARTITIONS:
        return "until the GPUs of every node are cut, one node after the other"
    nodes = slowest(plan.pools)
    if nodes is None:
        return "until new nodes have come"
    if loss.effect is Effect.ROLLS:
        return f"in part, until the last node is new: {nodes} for each turn, {_WHERE_THERE_ARE}"
    if ResourceContent.CLUSTER not in loss.lost_content:
        return f"until new nodes have come: {nodes}, {_WHERE_THERE_ARE}"
    cluster = CONTROL_PLANES.get(plan.cloud.value)
    if cluster is None:
        return (
            f"until a new cluster and new nodes have come: {nodes} for nodes, {_WHERE_THERE_ARE}, and before"
            " them the cluster, of which nobody has measured a time"
        )
    least, most = cluster.least + nodes.least, cluster.most + nodes.most
    return f"until a new cluster and new nodes have come: {least} to {most} minutes, {_WHERE_THERE_ARE}"


def _drained(drained: DrainedPool) -> str:
    if drained.nodes is None:
        return f"pool {drained.pool} is drained"
    nodes = f"{drained.nodes} node{'' if drained.nodes == 1 else 's'}"
    gpus = "an unknown number of" if drained.gpus is None else drained.gpus
    return f"pool {drained.pool} is drained: up to {nodes} with {gpus} GPUs"


def _guarantee(missing: RemovedGuarantee) -> str:
    return f"{missing.team} {missing.count} {missing.resource} of {missing.pool}"


def _lowered(plan: PlatformPlan, missing: RemovedGuarantee, remaining: int) -> Finding:
    names = [team.name for team in plan.spec.teams]
    at = ("teams", names.index(missing.team)) if missing.team in names else ("teams",)
    return warning(
        "change.lowers",
        at,
        f"team {missing.team} is guaranteed {remaining} {missing.resource} of {missing.pool}, {missing.count} until now:"
        " jobs above it can be put out for others",
        value=str(remaining),
        allowed=f"{missing.count}, for all that runs to stay",
        fix=Fix(message="tell the team, or guarantee as much as before"),
    )


def _unneeded(plan: PlatformPlan, losses: Iterable[Disruption]) -> Iterator[Finding]:
    needed = {loss.digest for loss in losses}
    idle = [each for each in plan.spec.approved_changes if each not in needed]
    if idle:
        remaining = [each for each in plan.spec.approved_changes if each in needed]
        yield warning(
            "change.unneeded",
            ("approved_changes",),
            "no change ahead has this digest: it was deployed, or is another one by now",
            value=format_list(idle),
            allowed=format_list(sorted(needed)) or "no consent",
            fix=Fix(message="remove it", at=("approved_changes",), value=remaining or None),
        )
