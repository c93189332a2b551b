"""What the program looks at: workloads, their pods, and the one thing that people know them by.

Plain records, read from the objects of the API server; everything that decides works on these.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gpuyard_idle.settings import Settings

Object = Mapping[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"
MOST_DIGITS = 6
"""Of replicas in an annotation: everybody in the team may write it."""
SCALED = ("apps/Deployment", "apps/StatefulSet")
"""Kinds that make new pods for those that Kueue stops: they are suspended by having none."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An object by the names that a reference to it has."""

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
    """GPUs, slices and shares that it holds."""
    claims: bool
    """Holds devices by a claim or in an amount like 1k, which are not counted here."""
    running: bool
    started: datetime | None
    controller: Owner | None
    kept: bool
    reference: Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What Kueue admits as one."""

    name: str
    version: str
    active: bool
    finished: bool
    admitted: datetime | None
    """Since when it may run; None while it waits."""
    warned: datetime | None
    suspended: bool
    """By this program."""
    kept: bool
    owners: tuple[Owner, ...]

    @property
    def runs(self) -> bool:
        """Holds quota now."""
        return self.active and not self.finished and self.admitted is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledWorkload:
    """A Deployment or StatefulSet."""

    reference: Owner
    version: str
    replicas: int
    before: int | None
    """What it had when this program took it to zero."""
    controller: Owner | None
    kept: bool


@dataclass(slots=True, kw_only=True)
class Unit:
    """What is warned and suspended as one: a job, a notebook, a group of pods."""

    owner: Owner
    workloads: list[Workload] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    scaled: ScaledWorkload | None = None
    """Set where suspending means no replicas."""
    stuck: str = ""
    """Why it cannot be suspended."""

    @property
    def gpus(self) -> int:
        """All that its pods hold."""
        return sum(pod.gpus for pod in self.pods)

    @property
    def kept(self) -> bool:
        """Its own labels say so; those of its owner and namespace are asked for elsewhere."""
        parts = [*(w.kept for w in self.workloads), *(p.kept for p in self.pods)]
        return any(parts) or (self.scaled is not None and self.scaled.kept)

    @property
    def warned(self) -> datetime | None:
        """Since when all of it is warned; a warning from before it was admitted again is none."""
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
    """A pod; init containers count when they go on running beside the others."""
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


def ended(obj: Object) -> bool:
    """A pod that holds nothing any more."""
    return obj.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def _gpu_limits(container: Object, resources: Iterable[str]) -> list[str]:
    limits = container.get("resources", {}).get("limits", {})
    return [str(limits[name]) for name in resources if name in limits]


def read_workload(obj: Object, settings: Settings) -> Workload:
    """A workload with the few conditions that matter here."""
    names, result = settings.names, obj.get("status", {}).get("conditions", ())
    since = {c["type"]: c["lastTransitionTime"] for c in result if c["status"] == "True"}
    warned = _annotation(obj, names.warned)
    return Workload(
        name=obj["metadata"]["name"],
        version=obj["metadata"]["resourceVersion"],
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
        version=obj["metadata"]["resourceVersion"],
        replicas=obj["spec"].get("replicas", 1),
        before=int(before) if before.isdecimal() and len(before) <= MOST_DIGITS else None,
        controller=_controller(obj),
        kept=_has_label(obj, settings.names.keep),
    )


def deployment_of(replica_set: Object) -> tuple[str, Owner | None]:
    """The uid of a ReplicaSet, and what makes it."""
    return replica_set["metadata"]["uid"], _controller(replica_set)


def group_units(
    workloads: Sequence[Workload],
    pods: Sequence[Pod],
    makers: Mapping[str, Owner | None],
    scaled: Mapping[str, ScaledWorkload],
) -> list[Unit]:
    """Running workloads by what people know them by, each with its pods."""
    units: dict[str, Unit] = {}
    by_workload: dict[str, list[Pod]] = {}
    for pod in pods:
        by_workload.setdefault(pod.workload, []).append(pod)
    for workload in workloads:
        own = by_workload.get(workload.name, [])
        owner, stuck = _known_as(workload, own, makers)
        unit = units.setdefault(owner.uid, Unit(owner=owner, stuck=stuck))
        unit.workloads.append(workload)
        unit.pods += own
    for unit in units.values():
        unit.scaled = scaled.get(unit.owner.uid)
        if unit.scaled and unit.scaled.controller:
            unit.stuck = f"{unit.scaled.controller} would scale it up again"
    return list(units.values())


def _known_as(
    workload: Workload, pods: Sequence[Pod], makers: Mapping[str, Owner | None]
) -> tuple[Owner, str]:
    """Whom people know a workload by; and why it cannot be suspended, if so."""
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
    return first, f"{makes} would make its pods anew" if makes else ""


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
