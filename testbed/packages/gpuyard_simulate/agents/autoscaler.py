"""A fake of Cluster Autoscaler's answers to ProvisioningRequests: do the pods fit onto existing nodes?

As Cluster Autoscaler 1.36 answers the class check-capacity: capacity is booked for ten minutes, or until the
pods arrive; a request with `noRetry` that does not fit fails at once. Fake nodes cannot be added, so
best-effort-atomic-scale-up gets the same answer, and is retried until the request expires.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from gpuyard_core.manifests.quantities import quantity
from gpuyard_simulate.api import ApiObject
from gpuyard_simulate.tolerations import tolerates_taints

PROVISIONING_CLASSES: Final = (
    "check-capacity.autoscaling.x-k8s.io",
    "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
)
CONSUMES: Final = "autoscaling.x-k8s.io/consume-provisioning-request"
"""On a pod: the request whose capacity it uses."""
BOOKING_DURATION: Final = timedelta(minutes=10)
VALID_SECONDS: Final = 600
"""How long a request without its own limit is retried."""
_PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The autoscaler's input; templates by namespace and name."""

    nodes: Sequence[ApiObject]
    pods: Sequence[ApiObject]
    templates: Mapping[tuple[str, str], ApiObject]
    requests: Sequence[ApiObject]


@dataclass(frozen=True, slots=True)
class ProvisioningAnswer:
    """Conditions to write on a request."""

    request: ApiObject
    conditions: tuple[ApiObject, ...]


def verdicts(world: ClusterView, now: datetime) -> list[ProvisioningAnswer]:
    """Conditions of all requests that wait or whose booking ends, oldest first."""
    responses: list[ProvisioningAnswer] = []
    order = sorted(world.requests, key=lambda r: str(r["metadata"].get("creationTimestamp", "")))
    booked = [r for r in order if _holds(r, now)]
    for request in order:
        if result := _verdict(world, request, booked, now):
            responses.append(ProvisioningAnswer(request, tuple(result)))
            if _is(result, "Provisioned"):
                booked.append(request)
    return responses


def _verdict(
    world: ClusterView, request: ApiObject, booked: Sequence[ApiObject], now: datetime
) -> list[ApiObject] | None:
    have = before = _conditions(request)
    if request["spec"]["provisioningClassName"] not in PROVISIONING_CLASSES or _is(have, "Failed"):
        return None
    if _is(have, "Provisioned"):
        if _is(have, "BookingExpired") or _holds(request, now):
            return None
        return _with(
            have,
            now,
            "BookingExpired",
            "True",
            "BookingExpired",
            "the booking expired before its pods arrived",
        )
    have = _with(
        have, now, "Accepted", "True", "Accepted", "the fake autoscaler searches for capacity"
    )
    unplaced = _without_room(world, request, booked)
    if unplaced == 0:
        return _with(
            have, now, "Provisioned", "True", "CapacityIsFound", "the pods fit onto running nodes"
        )
    message = f"{unplaced} of {sum(s['count'] for s in _sets(request))} pods do not fit onto running nodes"
    if _is_abandoned(request, now):
        return _with(have, now, "Failed", "True", "CapacityIsNotFound", message)
    later = _with(have, now, "Provisioned", "False", "CapacityIsNotFound", f"{message}, retrying")
    return None if later == before else later


def _is_abandoned(request: ApiObject, now: datetime) -> bool:
    parameters = request["spec"].get("parameters") or {}
    if parameters.get("noRetry") == "true":
        return True
    seconds = int(parameters.get("ValidUntilSeconds", VALID_SECONDS))
    creation_time = _time(request["metadata"].get("creationTimestamp"))
    return creation_time is not None and now - creation_time > timedelta(seconds=seconds)


def _holds(request: ApiObject, now: datetime) -> bool:
    """Whether its capacity is still booked."""
    have = _conditions(request)
    if not _is(have, "Provisioned") or _is(have, "BookingExpired") or _is(have, "Failed"):
        return False
    since = _time(next(c for c in have if c["type"] == "Provisioned").get("lastTransitionTime"))
    return since is not None and now - since <= BOOKING_DURATION


def _without_room(world: ClusterView, request: ApiObject, booked: Iterable[ApiObject]) -> int:
    """Number of pods of a request that do not fit in addition to running and booked pods."""
    free = {n["metadata"]["name"]: amounts(n["status"]["allocatable"]) for n in world.nodes}
    came: dict[str, int] = {}
    for pod in world.pods:
        metadata, where = pod["metadata"], pod["spec"].get("nodeName")
        if where is None:
            continue
        name = (metadata.get("annotations") or {}).get(CONSUMES)
        if name:
            key = f"{metadata['namespace']}/{name}"
            came[key] = came.get(key, 0) + 1
        over = (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
        if where in free and not over:
            take(free[where], needs_of(pod["spec"]), 1)
    for other in booked:
        if other is not request:
            _place(world, other, free, came.get(_key(other), 0))
    return _place(world, request, free, 0)


def _place(
    world: ClusterView, request: ApiObject, free: dict[str, dict[str, Any]], came: int
) -> int:
    """Place the pods of a request on nodes, less those that have arrived; returns the number that did not fit."""
    left_over = 0
    for each in _sets(request):
        arrived = min(came, each["count"])
        came -= arrived
        pending = each["count"] - arrived
        name = (request["metadata"]["namespace"], each["podTemplateRef"]["name"])
        template = world.templates.get(name)
        if template is None:
            left_over += pending
            continue
        spec = template["template"]["spec"]
        needs = needs_of(spec)
        for node in world.nodes:
            if pending and accepts(node, spec):
                allocatable = free[node["metadata"]["name"]]
                fits = min(allocatable.get(r, 0) // n for r, n in needs.items() if n)
                count = max(0, min(pending, int(fits)))
                take(allocatable, needs, count)
                pending -= count
        left_over += pending
    return left_over


def accepts(node: ApiObject, spec: ApiObject) -> bool:
    """Labels and taints; this fake ignores other scheduling constraints."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(k) != v for k, v in (spec.get("nodeSelector") or {}).items()):
        return False
    if node["spec"].get("unschedulable"):
        return False
    return tolerates_taints(spec.get("tolerations") or [], node["spec"].get("taints") or [])


def needs_of(spec: ApiObject) -> dict[str, Any]:
    """A pod's request: the sum of its containers, or its largest init container, and one pod."""
    total: dict[str, Any] = {}
    for container in spec.get("containers") or []:
        for resource, amount in _requests(container).items():
            total[resource] = total.get(resource, 0) + amount
    for container in spec.get("initContainers") or []:
        for resource, amount in _requests(container).items():
            total[resource] = max(total.get(resource, 0), amount)
    return {**total, _PODS: 1}


def _requests(container: ApiObject) -> dict[str, Any]:
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def amounts(quantities: Mapping[str, Any]) -> dict[str, Any]:
    """Quantities as numbers; invalid ones are skipped."""
    read = ((resource, quantity(value)) for resource, value in quantities.items())
    return {resource: amount for resource, amount in read if amount is not None}


def take(free: dict[str, Any], needs: Mapping[str, Any], count: int) -> None:
    """Subtract from free capacity."""
    for resource, amount in needs.items():
        free[resource] = free.get(resource, 0) - amount * count


def _sets(request: ApiObject) -> Iterator[ApiObject]:
    yield from request["spec"]["podSets"]


def _key(request: ApiObject) -> str:
    return f"{request['metadata']['namespace']}/{request['metadata']['name']}"


def _conditions(request: ApiObject) -> list[ApiObject]:
    return list((request.get("status") or {}).get("conditions") or [])


def _is(conditions: Iterable[ApiObject], kind: str) -> bool:
    return any(c["type"] == kind and c["status"] == "True" for c in conditions)


def _with(
    have: list[ApiObject], now: datetime, kind: str, status: str, reason: str, message: str
) -> list[ApiObject]:
    """The conditions with one more; an unchanged condition keeps its time."""
    old = next((c for c in have if c["type"] == kind), None)
    if old is not None and (old["status"], old["message"]) == (status, message):
        return have
    condition = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return [*(c for c in have if c is not old), condition]


def _time(text: object) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) else None
