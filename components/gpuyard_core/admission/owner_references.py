"""Owner references of a team's objects: only controllers of the cluster may set a controller.

Kueue ignores objects whose controller it manages itself, so a user could select a controller to
bypass it (docs/decisions/0022).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.manifests.fields import is_true, items, mapping, text
from gpuyard_core.manifests.resources import Violation

FIELDS = ("apiVersion", "kind", "name", "uid")
"""Fields that identify a controller."""
NAMED = ViolationTemplate(
    "this {kind} names {owner} {name} as its controller; only cluster controllers may, because "
    "Kueue counts it as part of that owner and not by itself",
    "remove the owner with controller: true from metadata.ownerReferences",
)
FROM_CRON = ("Job", "batch/v1", "CronJob")
"""A kind that may name such a controller, as `kubectl create job --from=cronjob/…` does. Kueue does
not queue CronJobs, so it counts the Job itself.
"""
CHANGED = ViolationTemplate(
    "the controller of this {kind} must not change: Kueue counts its pods with that controller",
    "do not change owners with controller: true in metadata.ownerReferences",
)


def check_owner_references(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Controllers that only a controller may set."""
    if workload.by_controller:
        return
    path, result = ("metadata", "ownerReferences"), controller_references(workload.metadata)
    if workload.previous is None:
        for index, owner in result.items():
            if (workload.kind, *owner[:2]) != FROM_CRON:
                named = {"kind": workload.kind, "owner": owner[1], "name": owner[2]}
                yield NAMED.fill_in((*path, index), **named)
    elif list(result.values()) != list(controller_references(workload.previous.metadata).values()):
        yield CHANGED.fill_in(path, kind=workload.kind)


def controller_references(metadata: Mapping[str, Any]) -> dict[int, tuple[str, ...]]:
    """The controllers of an object by their index in the owner references: FIELDS of each."""
    owners = (mapping(each) for each in items(metadata.get("ownerReferences")))
    return {
        index: tuple(text(owner.get(field)) for field in FIELDS)
        for index, owner in enumerate(owners)
        if is_true(owner.get("controller"))
    }


def owner_kinds(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """API version and kind of its controllers."""
    return [(version, kind) for version, kind, *_ in controller_references(metadata).values()]
