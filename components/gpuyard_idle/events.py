"""Events of suspended and warned workloads: what people are told, and what `kubectl describe` shows."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gpuyard_idle.settings import Settings, Team
from gpuyard_idle.workloads import Unit

SOURCE = "gpuyard-idle"
LONGEST = 1024
"""Characters of an event's message that the API server takes."""


@dataclass(frozen=True, slots=True)
class EventMessage:
    """One event: why, in one word and in sentences."""

    reason: str
    message: str
    serious: bool = True


def keep_command(settings: Settings, unit: Unit, namespace: str) -> str:
    """The command that takes a unit out of all this; members may not edit pods."""
    command = f"kubectl label {unit.owner} -n {namespace} {settings.names.keep}=true"
    if unit.owner.group_kind != "Pod":
        return command
    return f"{command} (administrators only), or make it again with that label"


def warned_event(settings: Settings, team: Team, unit: Unit, now: datetime) -> EventMessage:
    """What is about to happen, when, and how to prevent it."""
    when = clock(now + timedelta(minutes=team.grace_minutes))
    then = (
        f"It is not suspended, as {unit.stuck}: please end it."
        if unit.stuck
        else f"It will be suspended at {when} unless they work again."
    )
    return EventMessage(
        "GpusIdle",
        f"{_idle(team, unit)} {then} To keep it: {keep_command(settings, unit, team.namespace)}",
    )


def suspended_event(settings: Settings, team: Team, unit: Unit) -> EventMessage:
    """What has happened, and how to go on."""
    why = f"{_idle(team, unit)} The warning was {team.grace_minutes} minutes ago."
    return EventMessage("SuspendedIdle", f"Suspended. {why} {resume(settings, team, unit)}")


def resume(settings: Settings, team: Team, unit: Unit) -> str:
    """How to have it back."""
    if unit.scaled:
        return (
            f"To go on: kubectl scale {unit.owner} -n {team.namespace}"
            f" --replicas={unit.scaled.replicas}"
        )
    if unit.owner.group_kind == "Pod":
        return "A pod cannot be resumed: make it again when you need it."
    return (
        f"To go on: {keep_command(settings, unit, team.namespace)} (it queues again within minutes), or"
        f" kubectl patch workload {unit.workloads[0].name} -n {team.namespace} --type merge"
        """ -p '{"spec":{"active":true}}'"""
    )


def dry_run_event(team: Team, unit: Unit, *, suspend: bool) -> EventMessage:
    """What a dry run would have done."""
    what = "suspended" if suspend else "warned"
    return EventMessage(
        "GpusIdleDryRun", f"{_idle(team, unit)} Dry run: it would be {what} now.", serious=False
    )


def reset_event(state: str) -> EventMessage:
    """The warning is taken back."""
    why = {
        "busy": "Its GPUs work again",
        "kept": "It is to be kept",
        "unmeasured": "What its GPUs do is not known",
    }.get(state, "It has started anew")
    return EventMessage(
        "GpusIdleOver",
        f"{why}: the warning of idle GPUs is taken back.",
        serious=False,
    )


def resumed_event(settings: Settings) -> EventMessage:
    """It goes back to its queue."""
    return EventMessage(
        "ResumedIdle", f"Resumed: it has the label {settings.names.keep}=true.", serious=False
    )


def event(
    namespace: str, owner: Any, say: EventMessage, now: datetime, often: timedelta
) -> dict[str, Any]:
    """The event, with a name that is the same for the same words within a while: said once, not every run."""
    number = int(now.timestamp() // often.total_seconds())
    key = f"{owner.uid} {say.reason} {number}"
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{owner.name[:200].rstrip('.-')}.{digest}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "name": owner.name,
            "namespace": namespace,
            "uid": owner.uid,
        },
        "type": "Warning" if say.serious else "Normal",
        "reason": say.reason,
        "message": say.message[:LONGEST],
        "source": {"component": SOURCE},
        "firstTimestamp": stamp(now),
        "lastTimestamp": stamp(now),
        "count": 1,
    }


def stamp(time: datetime) -> str:
    """A time as Kubernetes writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def clock(time: datetime) -> str:
    """A time as people read it."""
    return time.strftime("%H:%M UTC")


def _idle(team: Team, unit: Unit) -> str:
    none = "Its GPU was never" if unit.gpus == 1 else f"Of its {unit.gpus} GPUs none was"
    return f"{none} above {team.below_percent:g} % in the last {team.after_minutes} minutes."
