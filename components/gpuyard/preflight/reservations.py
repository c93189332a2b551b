"""Reservations and capacity blocks that a pool draws on, against what their cloud says of them.

`check --live` judges with it what the cloud's program answers, and a preview what the provider does: it
loads this module, and nothing of another cloud.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpuyard.catalogue.machines import Capacity
from gpuyard.findings import Finding, Fix, Path, Severity, error, format_list
from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.preflight.zones import pool_path
from gpuyard.render.cloud.prerequisites import gcp_reservation
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
class ReservationUse:
    """A rung that takes nodes of a reservation that is there before the deployment."""

    pool: PoolPlan
    rung: CapacityOption
    min_nodes: int
    """Nodes that a first deployment asks it for at once, and fails without."""
    was_used_before: bool = False
    """The last deployment drew on it too."""

    @property
    def id(self) -> str:
        """As the stack file has it."""
        return self.rung.reservation or ""

    @property
    def name(self) -> str:
        """What its cloud calls it, whichever part of it the stack file names."""
        return gcp_reservation(self.id)[1]

    @property
    def project(self) -> str:
        """Google's project that shares it; empty where it is the stack's own."""
        return gcp_reservation(self.id)[0]


def parse_count(value: Any) -> int | None:
    """A number of machines, however it is sent: EC2 says 4, gcloud "4", the engine 4.0."""
    text = "" if isinstance(value, bool) else str(value)
    return int(float(text)) if re.fullmatch(r"\d+(\.0)?", text) else None


def reservation_uses(plan: PlatformPlan, before: Collection[str] = ()) -> Iterator[ReservationUse]:
    """Every rung that names a reservation; a block that is still to be bought is none.

    `before` has the ids of those that the last deployment drew on.
    """
    for pool in plan.pools:
        unplaced = 0 if pool.scaling is Scaling.KARPENTER else pool.start_nodes
        for option in pool.capacity_options:
            # EKS starts no node of a block before the block does.
            waits = plan.cloud is Cloud.AWS and option.mode == Capacity.BLOCK.value
            least = 0 if waits else min(unplaced, option.max_nodes)
            unplaced -= min(unplaced, option.max_nodes)
            if option.reservation and option.purchase is None:
                yield ReservationUse(
                    pool=pool,
                    rung=option,
                    min_nodes=least,
                    was_used_before=option.reservation in before,
                )


def check_reservation(
    plan: PlatformPlan, draw: ReservationUse, reserved: Reserved
) -> list[Finding]:
    """All that keeps a rung's nodes from starting in it.

    Of one that the last deployment drew on, nodes run on though it has ended: nobody is kept then from
    changing the rest of the platform.
    """
    machine, zones, good = draw.pool.machine.type_name, draw.pool.zones, _GOOD[plan.cloud]
    most, count, option = draw.rung.max_nodes, reserved.count, f"{draw.rung.mode}: {draw.id}"
    name = f"reservation {draw.name}"
    results: list[Finding] = []
    if reserved.state not in good:
        fix = f"name one that is {good[0]}"
        results.append(_about(plan, draw, f"{name} is {reserved.state}", option, fix, ends=True))
    if reserved.machine != machine:
        fix = "name one of the pool's machine"
        results.append(_about(plan, draw, f"{name} is of {reserved.machine}", machine, fix))
    if zones and reserved.zone not in zones:
        fix = f"write zones: [{reserved.zone}]"
        results.append(_about(plan, draw, f"{name} is in {reserved.zone}", format_list(zones), fix))
    if count is not None and count < most:
        problem, fix = f"{name} holds {count} machines", f"write nodes: {count} on its rung"
        few = _about(plan, draw, problem, f"{most} nodes", fix, ends=True)
        results.append(few if count < draw.min_nodes else replace(few, severity=Severity.WARNING))
    return results


def not_reserved(plan: PlatformPlan, draw: ReservationUse, zone: str = "") -> Finding:
    """There is none of this name: in a zone, where its cloud was asked for one zone alone."""
    problem = f"no reservation {draw.name} is {f'in {zone}' if zone else 'there'}"
    fix = _ELSEWHERE[plan.cloud]
    if zone:
        whose = f" --project={draw.project}" if draw.project else ""
        where = f"gcloud compute reservations list --filter=name={draw.name}{whose}"
        fix = f"write the zone that it is in ({where}), or {fix}"
    return _about(plan, draw, problem, draw.id, fix, ends=True)


def _about(
    plan: PlatformPlan,
    draw: ReservationUse,
    problem: str,
    value: str,
    fix: str,
    *,
    ends: bool = False,
) -> Finding:
    """At the pool's ladder. What `ends` by itself was as it should be when it was drawn on first."""
    at: Path = (*pool_path(plan, draw.pool), "capacity")
    result = error("live.reservation", at, problem, value=value, fix=Fix(message=fix))
    return replace(result, severity=Severity.WARNING) if ends and draw.was_used_before else result
