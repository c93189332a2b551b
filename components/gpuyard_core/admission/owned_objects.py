"""Requirements for other objects of a team: no external IPs, permanent tokens or volumes of others."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.requirement import Workload, new_violation
from gpuyard_core.manifests.fields import is_true, items, mapping, text
from gpuyard_core.manifests.quantities import Violation

TOKEN_TYPE = "kubernetes.io/service-account-token"  # noqa: S105  the name of a type
CLAIM = "claim"


def check_non_pod_objects(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Violations of a Service, a Secret, a claim, or the claims of a StatefulSet."""
    spec = mapping(workload.body.get("spec"))
    match workload.kind:
        case "Service":
            for index, address in enumerate(items(spec.get("externalIPs"))):
                yield new_violation(
                    "owned_objects.EXTERNAL", ("spec", "externalIPs", index), address=text(address)
                )
        case "Secret":
            if text(workload.body.get("type")) == TOKEN_TYPE:
                yield new_violation("owned_objects.TOKEN", ("type",))
        case "PersistentVolumeClaim":
            name = text(workload.metadata.get("name"))
            if volume := text(spec.get("volumeName")):
                yield new_violation(
                    "host.BY_NAME", ("spec", "volumeName"), what=CLAIM, name=name, volume=volume
                )
        case _:
            for index, each in enumerate(items(spec.get("volumeClaimTemplates"))):
                template = mapping(each)
                name = text(mapping(template.get("metadata")).get("name"))
                if volume := text(mapping(template.get("spec")).get("volumeName")):
                    path = ("spec", "volumeClaimTemplates", index, "spec", "volumeName")
                    yield new_violation("host.BY_NAME", path, what=CLAIM, name=name, volume=volume)


# Kueue ignores objects whose controller it manages itself, so a user could select a controller to bypass it
# (docs/decisions/0022).

FIELDS = ("apiVersion", "kind", "name", "uid")
"""Fields that identify a controller."""
FROM_CRON = ("Job", "batch/v1", "CronJob")
"""A kind that may name such a controller, as `kubectl create job --from=cronjob/…` does. Kueue does
not queue CronJobs, so it counts the Job itself.
"""


def check_owner_references(workload: Workload, _: TeamParameters) -> Iterator[Violation]:
    """Controllers that only a controller may set."""
    if workload.by_controller:
        return
    path, result = ("metadata", "ownerReferences"), controller_references(workload.metadata)
    if workload.previous is None:
        for index, owner in result.items():
            if (workload.kind, *owner[:2]) != FROM_CRON:
                named = {"kind": workload.kind, "owner": owner[1], "name": owner[2]}
                yield new_violation("owned_objects.NAMED", (*path, index), **named)
    elif list(result.values()) != list(controller_references(workload.previous.metadata).values()):
        yield new_violation("owned_objects.CHANGED", path, kind=workload.kind)


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
