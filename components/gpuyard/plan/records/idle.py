"""Idle time in a plan: frozen records of plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleTeam:
    """One namespace of a team with idle reclaim."""

    team: str
    label: str
    """The value of the label by which the namespace names its team."""
    namespace: str
    after_minutes: int
    grace_minutes: int
    below_percent: float
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IdlePlan:
    """The program that warns of idle GPUs and suspends workloads, and for which teams."""

    prometheus: str
    """The address of the Prometheus that it queries for GPU use."""
    image: str
    resources: tuple[str, ...]
    """The extended resources of GPUs, slices and shares."""
    paused: bool
    """Whether its CronJob is suspended: pods on simulated nodes run no program."""
    teams: tuple[IdleTeam, ...]
    """One for each namespace."""
