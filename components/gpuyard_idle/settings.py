"""The settings: one JSON document, rendered with the platform and mounted into the pod."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


class SettingsError(Exception):
    """The settings are invalid."""


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


def read_settings(text: str) -> Settings:
    """The settings of a document.

    Raises:
        SettingsError: the document is invalid or incomplete.
    """
    try:
        raw = json.loads(text)
    except ValueError as problem:
        raise SettingsError(f"not JSON: {problem}") from None
    try:
        values, labels = _known(Settings, raw), _known(Labels, raw["labels"])
        labels["device"] = tuple(labels["device"])
        values["signals"] = tuple(Signal(**_known(Signal, each)) for each in values["signals"])
        values["labels"] = Labels(**labels)
        values["names"] = Names(**_known(Names, values["names"]))
        values["resources"] = tuple(values["resources"])
        values["kinds"] = dict(values["kinds"])
        values["teams"] = tuple(Team(**_known(Team, each)) for each in values["teams"])
        return Settings(**values)
    except (KeyError, TypeError, ValueError) as problem:
        raise SettingsError(f"invalid settings: {problem!r}") from None


def _known(kind: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Exactly the fields of a class; a missing or unknown field is an error."""
    names = {field.name for field in fields(kind)}
    if set(raw) != names:
        wrong = ", ".join(sorted(set(raw) ^ names))
        raise ValueError(f"{kind.__name__}: missing or unknown {wrong}")
    return dict(raw)
