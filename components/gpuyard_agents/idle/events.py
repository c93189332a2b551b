"""Events of warned and suspended workloads, as `kubectl describe` shows them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuyard_agents.idle.settings import Settings, Team
from gpuyard_agents.idle.workloads import Unit


@dataclass(frozen=True, slots=True)
class EventMessage:
    """One event: reason and message."""

    reason: str
    message: str
    serious: bool = True


def keep_command(settings: Settings, unit: Unit, namespace: str) -> str:
    """The command that excludes a unit from idle reclaim; members may not edit pods."""
    command = f"kubectl label {unit.owner} -n {namespace} {settings.names.keep}=true"
    if unit.owner.group_kind != "Pod":
        return command
    return f"{command} (administrators only), or create it again with that label"


def warned_event(settings: Settings, team: Team, unit: Unit, now: datetime) -> EventMessage:
    """What will happen, when, and how to prevent it."""
    when = clock(now + timedelta(minutes=team.grace_minutes))
    then = (
        f"gpuyard cannot suspend it, as {unit.cannot_suspend_reason}: please end it."
        if unit.cannot_suspend_reason
        else f"gpuyard suspends it at {when} unless its GPUs are used."
    )
    return EventMessage(
        "GpusIdle",
        f"{_idle(team, unit)} {then} To keep it: {keep_command(settings, unit, team.namespace)}",
    )


def suspended_event(settings: Settings, team: Team, unit: Unit) -> EventMessage:
    """What happened, and how to resume."""
    why = f"{_idle(team, unit)} The warning was {team.grace_minutes} minutes ago."
    return EventMessage(
        "SuspendedIdle", f"Suspended. {why} {resume_instructions(settings, team, unit)}"
    )


def resume_instructions(settings: Settings, team: Team, unit: Unit) -> str:
    """How to resume it."""
    if unit.scaled:
        return (
            f"To resume: kubectl scale {unit.owner} -n {team.namespace}"
            f" --replicas={unit.scaled.replicas}"
        )
    if unit.owner.group_kind == "Pod":
        return "A pod cannot be resumed: create it again when you need it."
    return (
        f"To resume: {keep_command(settings, unit, team.namespace)} (it queues again within minutes), or"
        f" kubectl patch workload {unit.workloads[0].name} -n {team.namespace} --type merge"
        """ -p '{"spec":{"active":true}}'"""
    )


def dry_run_event(team: Team, unit: Unit, *, suspend: bool) -> EventMessage:
    """What a run without dry run would do."""
    what = "suspended" if suspend else "warned"
    return EventMessage(
        "GpusIdleDryRun", f"{_idle(team, unit)} Dry run: it would be {what} now.", serious=False
    )


def reset_event(state: str) -> EventMessage:
    """The warning no longer applies."""
    why = {
        "busy": "Its GPUs are in use again",
        "kept": "It has the label that keeps it",
        "unmeasured": "The activity of its GPUs is unknown",
    }.get(state, "It has restarted")
    return EventMessage(
        "GpusIdleOver",
        f"{why}: the warning about idle GPUs is withdrawn.",
        serious=False,
    )


def resumed_event(settings: Settings) -> EventMessage:
    """It returns to its queue."""
    return EventMessage(
        "ResumedIdle", f"Resumed: it has the label {settings.names.keep}=true.", serious=False
    )


def clock(time: datetime) -> str:
    """A time for people."""
    return time.strftime("%H:%M UTC")


def _idle(team: Team, unit: Unit) -> str:
    none = "Its GPU was not" if unit.gpus == 1 else f"None of its {unit.gpus} GPUs was"
    return f"{none} above {team.below_percent:g} % in the last {team.after_minutes} minutes."
