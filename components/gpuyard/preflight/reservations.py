"""Reservations and capacity blocks of pools, compared with their state in the cloud.

`check --live` uses it for the results of the cloud's CLI, and a preview for those of the provider: it loads
this module and nothing of another cloud.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gpuyard.plan.records import CapacityOption, PlatformPlan, PoolPlan
from gpuyard.preflight.zones import pool_path
from gpuyard.render.cloud.prerequisites import gcp_reservation
from gpuyard.spec.pools import Scaling
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.findings import Diagnostic, Fix, Path, Severity, error, format_list


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """An existing reservation, as reported by its cloud."""

    state: Any
    machine: Any
    zone: Any
    count: int | None = None
    """Number of machines; None when unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationUse:
    """A capacity option that uses an existing reservation."""

    pool: PoolPlan
    capacity_option: CapacityOption
    min_nodes: int
    """Nodes that the first deployment needs immediately."""
    was_used_before: bool = False
    """Whether the last deployment used it too."""

    @property
    def id(self) -> str:
        """The id in the stack file."""
        return self.capacity_option.reservation or ""

    @property
    def name(self) -> str:
        """Its name in the cloud, whichever part of it the stack file names."""
        return gcp_reservation(self.id)[1]

    @property
    def project(self) -> str:
        """The Google Cloud project that shares it; empty for the stack's own project."""
        return gcp_reservation(self.id)[0]


def parse_count(value: Any) -> int | None:
    """Parse a number of machines: EC2 returns 4, gcloud "4", the engine 4.0."""
    text = "" if isinstance(value, bool) else str(value)
    return int(float(text)) if re.fullmatch(r"\d+(\.0)?", text) else None


def reservation_uses(plan: PlatformPlan, before: Collection[str] = ()) -> Iterator[ReservationUse]:
    """Every capacity option with a reservation, except blocks still to be purchased.

    `before` has the ids of the reservations of the last deployment.
    """
    for pool in plan.pools:
        unplaced = 0 if pool.scaling is Scaling.KARPENTER else pool.start_nodes
        for option in pool.capacity_options:
            waits = plan.provider.delays_block_nodes and option.mode == Capacity.BLOCK.value
            least = 0 if waits else min(unplaced, option.max_nodes)
            unplaced -= min(unplaced, option.max_nodes)
            if option.reservation and option.purchase is None:
                yield ReservationUse(
                    pool=pool,
                    capacity_option=option,
                    min_nodes=least,
                    was_used_before=option.reservation in before,
                )


def check_reservation(
    plan: PlatformPlan, draw: ReservationUse, reserved: Reserved
) -> list[Diagnostic]:
    """Everything that prevents nodes from starting in a reservation.

    Nodes keep running after a reservation of the last deployment ended: then other changes of the platform
    are still possible.
    """
    machine = draw.pool.machine.type_name
    zones = draw.pool.zones
    good = plan.provider.reservation_states
    most = draw.capacity_option.max_nodes
    count = reserved.count
    option = f"{draw.capacity_option.mode}: {draw.id}"
    name = f"reservation {draw.name}"
    results: list[Diagnostic] = []
    if reserved.state not in good:
        fix = f"use a reservation that is {good[0]}"
        results.append(_about(plan, draw, f"{name} is {reserved.state}", option, fix, ends=True))
    if reserved.machine != machine:
        fix = "use a reservation of the pool's machine type"
        results.append(
            _about(plan, draw, f"{name} has the machine type {reserved.machine}", machine, fix)
        )
    if zones and reserved.zone not in zones:
        fix = f"write zones: [{reserved.zone}]"
        results.append(_about(plan, draw, f"{name} is in {reserved.zone}", format_list(zones), fix))
    if count is not None and count < most:
        problem = f"{name} has {count} machines"
        fix = f"write nodes: {count} on its capacity option"
        few = _about(plan, draw, problem, f"{most} nodes", fix, ends=True)
        results.append(few if count < draw.min_nodes else replace(few, severity=Severity.WARNING))
    return results


def not_reserved(plan: PlatformPlan, draw: ReservationUse, zone: str = "") -> Diagnostic:
    """The reservation does not exist; in a zone, when only that zone was queried."""
    problem = f"reservation {draw.name} does not exist{f' in {zone}' if zone else ''}"
    fix = plan.provider.reservation_fix
    if zone:
        whose = f" --project={draw.project}" if draw.project else ""
        where = f"gcloud compute reservations list --filter=name={draw.name}{whose}"
        fix = f"write its zone ({where}), or {fix}"
    return _about(plan, draw, problem, draw.id, fix, ends=True)


def _about(
    plan: PlatformPlan,
    draw: ReservationUse,
    problem: str,
    value: str,
    fix: str,
    *,
    ends: bool = False,
) -> Diagnostic:
    """A finding at the pool's capacity options; with `ends`, only a warning for one already in use."""
    at: Path = (*pool_path(plan, draw.pool), "capacity")
    result = error("live.reservation", at, problem, given=value, fix=Fix(message=fix))
    return replace(result, severity=Severity.WARNING) if ends and draw.was_used_before else result
