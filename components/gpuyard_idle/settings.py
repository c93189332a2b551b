"""What the program is told: one JSON document, rendered with the platform and mounted beside it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


class SettingsError(Exception):
    """The settings cannot be used as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """One namespace of a team that wants its idle GPUs back."""

    name: str
    label: str
    """What the namespace says whose it is."""
    namespace: str
    after_minutes: int
    """How long all its GPUs must have done nothing before something is warned."""
    grace_minutes: int
    """From the warning until it is suspended."""
    below_percent: float
    """Activity up to which a GPU does nothing."""
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A measurement of how much a GPU does."""

    metric: str
    percent: float
    """What one of its units is in percent: 100 for a ratio."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Labels and annotations, as the platform calls them."""

    platform: str
    team: str
    keep: str
    """Label: leave it alone even when it is idle."""
    warned: str
    """Annotation: since when its owner knows."""
    suspended: str
    """Annotation: when it was suspended by this program."""
    replicas: str
    """Annotation: how many replicas it had before."""
    workload: str
    """Annotation on a pod: the workload that it is part of; Kueue writes it."""
    pod_set: str
    """Label of every pod that a queue has started; Kueue writes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Labels of the measurements."""

    namespace: str
    pod: str
    device: tuple[str, ...]
    """Those that together tell one GPU, slice or share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of it."""

    platform: str
    prometheus: str
    """Its address, http://HOST:PORT."""
    signals: tuple[Signal, ...]
    labels: Labels
    names: Names
    resources: tuple[str, ...]
    """Names by which pods ask for GPUs, slices and shares."""
    kinds: Mapping[str, str]
    """Plural names by group/Kind of everything that can stand in a queue: batch/Job is jobs."""
    teams: tuple[Team, ...]


def read_settings(text: str) -> Settings:
    """The settings of a document.

    Raises:
        SettingsError: it is not one, or lacks something.
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
        raise SettingsError(f"not settings of this program: {problem!r}") from None


def _known(kind: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Exactly the fields of a class; what is missing or unknown is an error."""
    names = {field.name for field in fields(kind)}
    if set(raw) != names:
        wrong = ", ".join(sorted(set(raw) ^ names))
        raise ValueError(f"{kind.__name__}: missing or unknown {wrong}")
    return dict(raw)
