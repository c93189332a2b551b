"""Checks of the hours in which GKE may upgrade a cluster, and of freezes in which it must not."""

from collections import Counter
from collections.abc import Iterator

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.draft import Draft
from gpuyard.spec.sections import Freeze, Maintenance
from gpuyard_core.catalogue.gke.maintenance import (
    LEAST_HOURS,
    LONG_FREEZE_DAYS,
    LONGEST_FREEZE_DAYS,
    MOST_FREEZES,
)
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning

_PATH: Path = ("cluster", "maintenance")
_FREEZES: Path = (*_PATH, "freezes")
_WEEKS = 4
"""Any 32 days contain each weekday at least four times."""


def check_maintenance(draft: Draft) -> list[Diagnostic]:
    """GKE requires maintenance hours, and limits the number and the length of freezes."""
    window = cluster_spec(draft.spec).maintenance
    return [*_too_short(window), *_too_many(window.freezes), *_freezes(window.freezes)]


def _too_short(window: Maintenance) -> Iterator[Diagnostic]:
    days = len(set(window.days))
    hours = _WEEKS * days * window.hours
    if hours < LEAST_HOURS:
        needed = -(-LEAST_HOURS // (_WEEKS * days))
        yield error(
            "cluster.maintenance",
            _PATH,
            f"GKE requires {LEAST_HOURS} hours for upgrades in any 32 days",
            given=f"{hours} hours",
            allowed=f"{needed} hours on each of these days, or more days",
            fix=Fix(message=f"write hours: {needed}", at=(*_PATH, "hours"), value=needed),
        )


def _too_many(freezes: tuple[Freeze, ...]) -> Iterator[Diagnostic]:
    if len(freezes) > MOST_FREEZES:
        yield error(
            "cluster.freeze",
            _FREEZES,
            "too many freezes: GKE limits maintenance exclusions that block all upgrades",
            given=f"{len(freezes)} freezes",
            allowed=f"{MOST_FREEZES} at a time",
            fix=Fix(message="remove past freezes, or the last ones"),
        )


def _freezes(freezes: tuple[Freeze, ...]) -> Iterator[Diagnostic]:
    names = Counter(freeze.name for freeze in freezes)
    for i, freeze in enumerate(freezes):
        yield from _of_days(freeze, (*_FREEZES, i))
        if names[freeze.name] > 1 and freeze.name in {f.name for f in freezes[:i]}:
            yield error(
                "cluster.freeze",
                (*_FREEZES, i, "name"),
                "two freezes have the same name: GKE keeps only the last one",
                given=freeze.name,
                allowed="a unique name for each freeze",
                fix=Fix(message="write another name"),
            )


def _of_days(freeze: Freeze, path: Path) -> Iterator[Diagnostic]:
    days = (freeze.end - freeze.start).days
    if days <= 0:
        yield error(
            "cluster.maintenance",
            (*path, "end"),
            "a freeze must end after the day on which it starts",
            given=str(freeze.end),
            allowed=f"a day after {freeze.start}",
            fix=Fix(message="write the first day on which GKE may upgrade again"),
        )
    elif days > LONGEST_FREEZE_DAYS:
        yield error(
            "cluster.freeze",
            (*path, "end"),
            "GKE accepts no freeze of this length",
            given=f"{days} days",
            allowed=f"{LONGEST_FREEZE_DAYS} days, preferably {LONG_FREEZE_DAYS}",
            fix=Fix(message="write an earlier day"),
        )
    elif days > LONG_FREEZE_DAYS:
        yield warning(
            "cluster.freeze",
            (*path, "end"),
            f"GKE documentation advises against freezes longer than {LONG_FREEZE_DAYS} days, the earlier limit",
            given=f"{days} days",
            allowed=f"at most {LONG_FREEZE_DAYS} days recommended; GKE accepts {LONGEST_FREEZE_DAYS}",
            fix=Fix(message="write an earlier day"),
        )
