"""The settings: one JSON document, rendered with the platform and mounted into the pod."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """One namespace of a team with idle reclaim."""

    name: str
    label: str
    """Value of the namespace's team label."""
    namespace: str
    after_minutes: int
    """Minutes for which all GPUs must be idle before a warning."""
    grace_minutes: int
    """Minutes from the warning to the suspension."""
    below_percent: float
    """Activity up to which a GPU counts as idle."""
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A measurement of GPU activity."""

    metric: str
    percent: float
    """Factor to percent: 100 for a ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Labels and annotations of the platform."""

    platform: str
    team: str
    keep: str
    """Label: never warn or suspend."""
    warned: str
    """Annotation: time of the warning."""
    suspended: str
    """Annotation: time when this program suspended it."""
    replicas: str
    """Annotation: number of replicas before suspension."""
    workload: str
    """Annotation of a pod: its workload; Kueue writes it."""
    pod_set: str
    """Label of every pod that a queue has started; Kueue writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Labels of the measurements."""

    namespace: str
    pod: str
    device: tuple[str, ...]
    """Labels that together identify one GPU, slice or share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings."""

    platform: str
    prometheus: str
    """Address of Prometheus: http://HOST:PORT."""
    signals: tuple[Signal, ...]
    labels: Labels
    names: Names
    resources: tuple[str, ...]
    """Extended resources of GPUs, slices and shares."""
    kinds: Mapping[str, str]
    """Plural names by group/Kind of everything that can queue: batch/Job is jobs."""
    teams: tuple[Team, ...]
