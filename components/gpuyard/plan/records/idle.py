"""Idle time in a plan: frozen records of plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTeam:
    """One namespace of a team that wants its idle GPUs back."""

    team: str
    label: str
    """What the namespace says whose it is."""
    namespace: str
    after_minutes: int
    grace_minutes: int
    below_percent: float
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IdlePlan:
    """The program that warns and suspends, and for whom."""

    prometheus: str
    """Where it asks what GPUs do."""
    image: str
    resources: tuple[str, ...]
    """Names by which pods hold GPUs, slices and shares."""
    paused: bool
    """Nothing can run it: pods on simulated nodes run no program."""
    teams: tuple[IdleTeam, ...]
    """One for each namespace."""
