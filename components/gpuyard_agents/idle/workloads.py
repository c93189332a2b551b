"""Workloads, their pods, and the owners that people know them by.

Plain records, read from objects of the API server; all decisions use them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gpuyard_agents.idle.settings import Settings

Object = Mapping[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"
MOST_DIGITS = 6
"""Maximum of replicas in an annotation: any team member may write it."""
SCALED = ("apps/Deployment", "apps/StatefulSet")
"""Kinds that replace pods that Kueue stops: they are suspended by scaling to zero."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An object, by the fields of an owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def group_kind(self) -> str:
        """`batch/Job`, `Pod`."""
        group, slash, _ = self.api_version.rpartition("/")
        return f"{group}{slash}{self.kind}"

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod that a queue has started."""

    name: str
    workload: str
    gpus: int
    """Number of GPUs, slices and shares that it uses."""
    claims: bool
    """Uses devices through a claim, or in an amount like 1k; these are not counted here."""
    running: bool
    started: datetime | None
    controller: Owner | None
    kept: bool
    reference: Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The unit of Kueue's admission."""

    name: str
    resource_version: str
    active: bool
    finished: bool
    admitted: datetime | None
    """Time of admission; None while it waits."""
    warned: datetime | None
    suspended: bool
    """Suspended by this program."""
    kept: bool
    owners: tuple[Owner, ...]

    @property
    def runs(self) -> bool:
        """Uses quota now."""
        return self.active and not self.finished and self.admitted is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledWorkload:
    """A Deployment or StatefulSet."""

    reference: Owner
    resource_version: str
    replicas: int
    replicas_before_suspension: int | None
    """Replicas before this program scaled it to zero."""
    controller: Owner | None
    kept: bool


@dataclass(slots=True, kw_only=True)
class Unit:
    """What is warned and suspended as one: a job, a notebook, a group of pods."""

    owner: Owner
    workloads: list[Workload] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    scaled: ScaledWorkload | None = None
    """Set where suspending means scaling to zero."""
    cannot_suspend_reason: str = ""
    """Why it cannot be suspended."""

    @property
    def gpus(self) -> int:
        """Number of devices of all its pods."""
        return sum(pod.gpus for pod in self.pods)

    @property
    def kept(self) -> bool:
        """Its own label keeps it; labels of owner and namespace are read elsewhere."""
        parts = [*(w.kept for w in self.workloads), *(p.kept for p in self.pods)]
        return any(parts) or (self.scaled is not None and self.scaled.kept)

    @property
    def warned(self) -> datetime | None:
        """When all of it was warned; a warning before its last admission does not count."""
        times = [
            each.warned
            for each in self.workloads
            if each.warned and each.admitted and each.warned >= each.admitted
        ]
        return max(times) if times and len(times) == len(self.workloads) else None


def parse_time(text: str) -> datetime:
    """A time as Kubernetes writes it."""
    return datetime.fromisoformat(text)


def read_pod(obj: Object, settings: Settings) -> Pod:
    """A pod; sidecar containers count."""
    spec, status, names = obj["spec"], obj.get("status", {}), settings.names
    sidecars = [c for c in spec.get("initContainers", ()) if c.get("restartPolicy") == "Always"]
    gpu_amounts = [
        each
        for c in [*spec["containers"], *sidecars]
        for each in _gpu_limits(c, settings.resources)
    ]
    started = status.get("startTime")
    return Pod(
        name=obj["metadata"]["name"],
        workload=_annotation(obj, names.workload),
        gpus=sum(int(each) for each in gpu_amounts if each.isdecimal()),
        claims=bool(spec.get("resourceClaims")) or not all(map(str.isdecimal, gpu_amounts)),
        running=status.get("phase") == "Running" and "deletionTimestamp" not in obj["metadata"],
        started=parse_time(started) if started else None,
        controller=_controller(obj),
        kept=_has_label(obj, names.keep),
        reference=_itself(obj, "v1", "Pod"),
    )


def is_pod_terminated(obj: Object) -> bool:
    """A pod that no longer uses resources."""
    return obj.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def _gpu_limits(container: Object, resources: Iterable[str]) -> list[str]:
    limits = container.get("resources", {}).get("limits", {})
    return [str(limits[name]) for name in resources if name in limits]


def read_workload(obj: Object, settings: Settings) -> Workload:
    """A workload with its relevant conditions."""
    names, result = settings.names, obj.get("status", {}).get("conditions", ())
    since = {c["type"]: c["lastTransitionTime"] for c in result if c["status"] == "True"}
    warned = _annotation(obj, names.warned)
    return Workload(
        name=obj["metadata"]["name"],
        resource_version=obj["metadata"]["resourceVersion"],
        active=obj["spec"].get("active", True),
        finished="Finished" in since,
        admitted=parse_time(since["Admitted"]) if "Admitted" in since else None,
        warned=parse_time(warned) if warned else None,
        suspended=bool(_annotation(obj, names.suspended)),
        kept=_has_label(obj, names.keep),
        owners=tuple(map(_reference, obj["metadata"].get("ownerReferences", ()))),
    )


def read_scaled(obj: Object, api_version: str, kind: str, settings: Settings) -> ScaledWorkload:
    """A Deployment or StatefulSet."""
    before = _annotation(obj, settings.names.replicas)
    return ScaledWorkload(
        reference=_itself(obj, api_version, kind),
        resource_version=obj["metadata"]["resourceVersion"],
        replicas=obj["spec"].get("replicas", 1),
        replicas_before_suspension=int(before)
        if before.isdecimal() and len(before) <= MOST_DIGITS
        else None,
        controller=_controller(obj),
        kept=_has_label(obj, settings.names.keep),
    )


def deployment_of(replica_set: Object) -> tuple[str, Owner | None]:
    """The uid of a ReplicaSet, and its owner."""
    return replica_set["metadata"]["uid"], _controller(replica_set)


def group_units(
    workloads: Sequence[Workload],
    pods: Sequence[Pod],
    makers: Mapping[str, Owner | None],
    scaled: Mapping[str, ScaledWorkload],
) -> list[Unit]:
    """Running workloads by the owner that people know, each with its pods."""
    units: dict[str, Unit] = {}
    by_workload: dict[str, list[Pod]] = {}
    for pod in pods:
        by_workload.setdefault(pod.workload, []).append(pod)
    for workload in workloads:
        own = by_workload.get(workload.name, [])
        owner, stuck = _known_as(workload, own, makers)
        unit = units.setdefault(owner.uid, Unit(owner=owner, cannot_suspend_reason=stuck))
        unit.workloads.append(workload)
        unit.pods += own
    for unit in units.values():
        unit.scaled = scaled.get(unit.owner.uid)
        if unit.scaled and unit.scaled.controller:
            unit.cannot_suspend_reason = f"{unit.scaled.controller} would scale it up again"
    return list(units.values())


def _known_as(
    workload: Workload, pods: Sequence[Pod], makers: Mapping[str, Owner | None]
) -> tuple[Owner, str]:
    """The owner that people know a workload by; and why it cannot be suspended, if so."""
    jobs = [each for each in workload.owners if each.group_kind != "Pod"]
    if jobs:
        return jobs[0], ""
    makes = next((pod.controller for pod in pods if pod.controller), None)
    if makes and makes.group_kind == "apps/ReplicaSet":
        makes = makers.get(makes.uid) or makes
    if makes and makes.group_kind in SCALED:
        return makes, ""
    first = next((pod.reference for pod in pods), None) or next(
        iter(workload.owners), _workload_reference(workload)
    )
    return first, f"{makes} would replace its pods" if makes else ""


def _workload_reference(workload: Workload) -> Owner:
    return Owner(KUEUE, "Workload", workload.name, workload.name)


def _itself(obj: Object, api_version: str, kind: str) -> Owner:
    return Owner(api_version, kind, obj["metadata"]["name"], obj["metadata"]["uid"])


def _reference(raw: Object) -> Owner:
    return Owner(raw["apiVersion"], raw["kind"], raw["name"], raw["uid"])


def _controller(obj: Object) -> Owner | None:
    result = obj["metadata"].get("ownerReferences", ())
    return next((_reference(each) for each in result if each.get("controller")), None)


def _annotation(obj: Object, name: str) -> str:
    return str(obj["metadata"].get("annotations", {}).get(name, ""))


def _has_label(obj: Object, label: str) -> bool:
    return bool(obj["metadata"].get("labels", {}).get(label) == "true")
