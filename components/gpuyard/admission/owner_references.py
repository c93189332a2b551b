"""Owners of what a team makes: controllers of the cluster write them, people do not.

Kueue leaves alone what has a controller that it manages itself, and whoever names a controller decides which
that is (docs/decisions/0022).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.manifests.fields import is_true, items, mapping, text

FIELDS = ("apiVersion", "kind", "name", "uid")
"""What says which object a controller is."""
NAMED = ViolationTemplate(
    "this {kind} names {owner} {name} as its controller, and only controllers of the cluster may:"
    " queues would take it for a part of that one, and not count it",
    "remove the owner with controller: true from metadata.ownerReferences",
)
FROM_CRON = ("Job", "batch/v1", "CronJob")
"""A kind that may name such a controller: `kubectl create job --from=cronjob/…` writes it. Kueue does not
queue CronJobs, so the job is counted itself."""
CHANGED = ViolationTemplate(
    "the controller of this {kind} stays as it is: queues count what it makes with that one",
    "leave owners with controller: true in metadata.ownerReferences as they are",
)


def check_owner_references(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Controllers that nobody but a controller may name."""
    if workload.by_controller:
        return
    path, result = ("metadata", "ownerReferences"), controller_references(workload.metadata)
    if workload.was is None:
        for index, owner in result.items():
            if (workload.kind, *owner[:2]) != FROM_CRON:
                named = {"kind": workload.kind, "owner": owner[1], "name": owner[2]}
                yield NAMED.violation((*path, index), **named)
    elif list(result.values()) != list(controller_references(workload.was.metadata).values()):
        yield CHANGED.violation(path, kind=workload.kind)


def controller_references(metadata: Mapping[str, Any]) -> dict[int, tuple[str, ...]]:
    """What controls an object, by where it stands among its owners: FIELDS of each."""
    owners = (mapping(each) for each in items(metadata.get("ownerReferences")))
    return {
        index: tuple(text(owner.get(field)) for field in FIELDS)
        for index, owner in enumerate(owners)
        if is_true(owner.get("controller"))
    }


def owner_kinds(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Version and kind of what controls it."""
    return [(version, kind) for version, kind, *_ in controller_references(metadata).values()]
