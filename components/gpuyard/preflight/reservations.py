"""Reservations and capacity blocks that a pool draws on, against what their cloud says of them.

`check --live` judges with it what the cloud's program answers, and a preview what the provider does: it
loads this module, and nothing of another cloud.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpuyard.catalogue.machines import Capacity
from gpuyard.findings import Finding, Fix, Path, Severity, listed, refuse
from gpuyard.plan.records import LadderRung, PlatformPlan, PoolPlan
from gpuyard.preflight.places import of_pool
from gpuyard.render.cloud.before import of_google
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import Scaling

_GOOD = {Cloud.AWS: ("active", "scheduled"), Cloud.GCP: ("READY",)}
"""States of a reservation from which nodes start, now or later; a fix names the first."""
_ELSEWHERE = {
    Cloud.AWS: "give the id of a reservation of this account and region, or of one shared with it",
    Cloud.GCP: "give the name of a reservation of this project, or of one shared with it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """One that is there, as its cloud tells of it."""

    state: Any
    machine: Any
    zone: Any
    count: int | None = None
    """Machines that it holds; None where the answer does not say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A rung that takes nodes of a reservation that is there before the deployment."""

    pool: PoolPlan
    rung: LadderRung
    least: int
    """Nodes that a first deployment asks it for at once, and fails without."""
    again: bool = False
    """The last deployment drew on it too."""

    @property
    def id(self) -> str:
        """As the stack file has it."""
        return self.rung.reservation or ""

    @property
    def name(self) -> str:
        """What its cloud calls it, whichever part of it the stack file names."""
        return of_google(self.id)[1]

    @property
    def project(self) -> str:
        """Google's project that shares it; empty where it is the stack's own."""
        return of_google(self.id)[0]


def whole(value: Any) -> int | None:
    """A number of machines, however it is sent: EC2 says 4, gcloud "4", the engine 4.0."""
    text = "" if isinstance(value, bool) else str(value)
    return int(float(text)) if re.fullmatch(r"\d+(\.0)?", text) else None


def draws(plan: PlatformPlan, before: Collection[str] = ()) -> Iterator[Draw]:
    """Every rung that names a reservation; a block that is still to be bought is none.

    `before` has the ids of those that the last deployment drew on.
    """
    for pool in plan.pools:
        left = 0 if pool.scaling is Scaling.KARPENTER else pool.start_nodes
        for rung in pool.ladder:
            # EKS starts no node of a block before the block does.
            waits = plan.cloud is Cloud.AWS and rung.mode == Capacity.BLOCK.value
            least = 0 if waits else min(left, rung.most)
            left -= min(left, rung.most)
            if rung.reservation and rung.buys is None:
                yield Draw(pool=pool, rung=rung, least=least, again=rung.reservation in before)


def judge_reserved(plan: PlatformPlan, draw: Draw, there: Reserved) -> list[Finding]:
    """All that keeps a rung's nodes from starting in it.

    Of one that the last deployment drew on, nodes run on though it has ended: nobody is kept then from
    changing the rest of the platform.
    """
    machine, zones, good = draw.pool.machine.type_name, draw.pool.zones, _GOOD[plan.cloud]
    most, count, rung = draw.rung.most, there.count, f"{draw.rung.mode}: {draw.id}"
    held = f"reservation {draw.name}"
    found: list[Finding] = []
    if there.state not in good:
        says = f"name one that is {good[0]}"
        found.append(_about(plan, draw, f"{held} is {there.state}", rung, says, ends=True))
    if there.machine != machine:
        says = "name one of the pool's machine"
        found.append(_about(plan, draw, f"{held} is of {there.machine}", machine, says))
    if zones and there.zone not in zones:
        says = f"write zones: [{there.zone}]"
        found.append(_about(plan, draw, f"{held} is in {there.zone}", listed(zones), says))
    if count is not None and count < most:
        problem, says = f"{held} holds {count} machines", f"write nodes: {count} on its rung"
        few = _about(plan, draw, problem, f"{most} nodes", says, ends=True)
        found.append(few if count < draw.least else replace(few, severity=Severity.WARN))
    return found


def not_reserved(plan: PlatformPlan, draw: Draw, zone: str = "") -> Finding:
    """There is none of this name: in a zone, where its cloud was asked for one zone alone."""
    problem = f"no reservation {draw.name} is {f'in {zone}' if zone else 'there'}"
    says = _ELSEWHERE[plan.cloud]
    if zone:
        whose = f" --project={draw.project}" if draw.project else ""
        where = f"gcloud compute reservations list --filter=name={draw.name}{whose}"
        says = f"write the zone that it is in ({where}), or {says}"
    return _about(plan, draw, problem, draw.id, says, ends=True)


def _about(
    plan: PlatformPlan, draw: Draw, problem: str, given: str, says: str, *, ends: bool = False
) -> Finding:
    """At the pool's ladder. What `ends` by itself was as it should be when it was drawn on first."""
    at: Path = (*of_pool(plan, draw.pool), "capacity")
    found = refuse("live.reservation", at, problem, given=given, fix=Fix(says=says))
    return replace(found, severity=Severity.WARN) if ends and draw.again else found
