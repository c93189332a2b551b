"""Findings about a deployment that would take something away."""

from collections.abc import Iterable, Iterator

from gpuyard.catalogue.cluster.times import CONTROL_PLANES
from gpuyard.changes.announced import Announced, Does, Loss
from gpuyard.changes.holding import Holds
from gpuyard.changes.platforms import Drained, LostGuarantee, driver_of
from gpuyard.findings import Finding, Fix, listed, note, refuse, warn
from gpuyard.plan.capacity.beginning import slowest
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.validation.jobs import checked_pools

_WHERE_THERE_ARE = "where the machines are to be had at once"
_PAST = {
    Does.REPLACES: "replaced",
    Does.DELETES: "deleted",
    Does.RECUTS: "cut anew",
    Does.ROLLS: "rolled",
}


def change_findings(plan: PlatformPlan, said: Announced) -> list[Finding]:
    """What there is to say: a loss is refused until the stack file consents to it."""
    findings = [_of_loss(plan, loss) for loss in said.losses]
    findings += [_lowered(plan, lost, left) for lost, left in said.lowered]
    findings += [
        warn(
            "change.unforeseen",
            (),
            f"the preview says that the engine will {op} {name}, and nothing of the stack file says why",
            given=f"{op} {name}",
            allowed="what the stack file changes",
            fix=Fix(
                says="look at it in `pulumi preview --diff`: a hand, a refresh or a new provider changed it"
            ),
        )
        for op, name in said.unforeseen
    ]
    return [*findings, *_in_turns(plan, said), *_unneeded(plan, said.losses)]


def _in_turns(plan: PlatformPlan, said: Announced) -> Iterator[Finding]:
    if not said.turns:
        return
    (first, *_), rest = said.turns
    name = next(pool.name for pool in plan.pools if pool.stable_name == first)
    required = plan.validation is not None and plan.validation.required
    awaited = required and name in {pool.name for pool in checked_pools(plan)}
    there = f"have driver {driver}" if (driver := _comes(plan, said, first)) else "are there"
    until = "its check has passed" if awaited else f"its nodes {there}"
    names = [pool.name for pool in plan.pools if pool.stable_name in rest]
    yield note(
        "change.turns",
        ("pools",),
        f"{1 + len(rest)} pools change: {name} first, and {listed(names)} when {until}; where that fails,"
        f" {listed(names)} {'stays' if len(names) == 1 else 'stay'} as before",
        given=f"{name}, then {listed(names)}",
        fix=Fix(
            says="nothing; a check of hardware (`validation`) is awaited between them"
            if awaited
            else "nothing; with `validation` and an image a check of hardware is awaited between them"
        ),
    )


def _comes(plan: PlatformPlan, said: Announced, pool: str) -> str:
    """The driver that a pool gets; empty where it keeps its own."""
    found = [driver_of(plan, each) for each in plan.pools if each.stable_name == pool]
    return found[0] if pool in said.driven else ""


def _of_loss(plan: PlatformPlan, loss: Loss) -> Finding:
    if loss.barred:
        return refuse(
            "change.replaces",
            loss.path,
            f"{loss.what} is {_PAST[loss.does]}: {loss.why}; {loss.barred}; {_lost(plan, loss)}",
            given=f"consent to {listed(plan.spec.consent)}" if plan.spec.consent else "no consent",
            allowed="as it was: no consent makes it go",
            fix=Fix(
                says="leave it; for another, make a platform of another name, and destroy this one"
            ),
        )
    if loss.digest in plan.spec.consent:
        return note(
            "change.consented",
            loss.path,
            f"{loss.what} is {_PAST[loss.does]}, with your consent; {_lost(plan, loss)}",
            given=loss.digest,
            fix=Fix(says="nothing now; remove the consent after the deployment"),
        )
    if loss.does is Does.REPLACES:
        return _refused("change.replaces", plan, loss)
    if loss.does is Does.DELETES:
        return _refused("change.deletes", plan, loss)
    if loss.does is Does.ROLLS:
        return _refused("change.rolls", plan, loss)
    return _refused("change.recuts", plan, loss)


def _refused(kind: str, plan: PlatformPlan, loss: Loss) -> Finding:
    """With the consent that makes it go."""
    given = (*plan.spec.consent, loss.digest)
    kept = (
        f"; {listed(loss.protected)} is protected: the engine refuses it until `cluster.protect: false`"
        " is deployed"
        if loss.protected
        else ""
    )
    return refuse(
        kind,
        loss.path,
        f"{loss.what} is {_PAST[loss.does]}: {loss.why}; {_lost(plan, loss)}{kept}",
        given=f"consent to {listed(plan.spec.consent)}" if plan.spec.consent else "no consent",
        allowed=f"with consent: {loss.digest}",
        fix=Fix(
            says=f"leave it as it was; or, when the loss is meant, write {loss.digest} under `consent`",
            at=("consent",),
            value=given[0] if len(given) == 1 else list(given),
        ),
    )


def _lost(plan: PlatformPlan, loss: Loss) -> str:
    """Everything that is lost, in one breath."""
    parts: list[str] = []
    if len(loss.takes) > 1:
        parts.append(f"{len(loss.takes)} resources go: {listed(loss.takes)}")
    if loss.holds:
        parts.append(f"lost: {listed(each.value for each in loss.holds)}")
    parts += [_drained(each) for each in loss.drains]
    if loss.guarantees:
        ends = "for good" if loss.does is Does.DELETES else _how_long(plan, loss)
        parts.append(f"teams lose {listed(map(_guarantee, loss.guarantees))} {ends}")
    return "; ".join(parts) or "nothing runs on it"


def _how_long(plan: PlatformPlan, loss: Loss) -> str:
    """Until new nodes have come, and before them a new cluster; nodes that are rolled come in turns."""
    if loss.does is Does.RECUTS:
        return "until the GPUs of every node are cut, one node after the other"
    nodes = slowest(plan.pools)
    if nodes is None:
        return "until new nodes have come"
    if loss.does is Does.ROLLS:
        return f"in part, until the last node is new: {nodes} for each turn, {_WHERE_THERE_ARE}"
    if Holds.CLUSTER not in loss.holds:
        return f"until new nodes have come: {nodes}, {_WHERE_THERE_ARE}"
    cluster = CONTROL_PLANES.get(plan.cloud.value)
    if cluster is None:
        return (
            f"until a new cluster and new nodes have come: {nodes} for nodes, {_WHERE_THERE_ARE}, and before"
            " them the cluster, of which nobody has measured a time"
        )
    least, most = cluster.least + nodes.least, cluster.most + nodes.most
    return f"until a new cluster and new nodes have come: {least} to {most} minutes, {_WHERE_THERE_ARE}"


def _drained(drained: Drained) -> str:
    if drained.nodes is None:
        return f"pool {drained.pool} is drained"
    nodes = f"{drained.nodes} node{'' if drained.nodes == 1 else 's'}"
    gpus = "an unknown number of" if drained.gpus is None else drained.gpus
    return f"pool {drained.pool} is drained: up to {nodes} with {gpus} GPUs"


def _guarantee(lost: LostGuarantee) -> str:
    return f"{lost.team} {lost.count} {lost.resource} of {lost.pool}"


def _lowered(plan: PlatformPlan, lost: LostGuarantee, left: int) -> Finding:
    names = [team.name for team in plan.spec.teams]
    at = ("teams", names.index(lost.team)) if lost.team in names else ("teams",)
    return warn(
        "change.lowers",
        at,
        f"team {lost.team} is guaranteed {left} {lost.resource} of {lost.pool}, {lost.count} until now:"
        " jobs above it can be put out for others",
        given=str(left),
        allowed=f"{lost.count}, for all that runs to stay",
        fix=Fix(says="tell the team, or guarantee as much as before"),
    )


def _unneeded(plan: PlatformPlan, losses: Iterable[Loss]) -> Iterator[Finding]:
    needed = {loss.digest for loss in losses}
    idle = [each for each in plan.spec.consent if each not in needed]
    if idle:
        left = [each for each in plan.spec.consent if each in needed]
        yield warn(
            "change.unneeded",
            ("consent",),
            "no change ahead has this digest: it was deployed, or is another one by now",
            given=listed(idle),
            allowed=listed(sorted(needed)) or "no consent",
            fix=Fix(says="remove it", at=("consent",), value=left or None),
        )
