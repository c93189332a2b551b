"""Kubernetes workloads as they are written, reduced to what says which kind of work they are.

Nothing here trusts its input: any mapping is read, whatever it holds, and what cannot be understood
is left out or named as a problem. Nothing is decided here; `gpuyard.advice.classify.classify` does that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpuyard.manifests.gpu_requests import ask_of_pod

MAX_ITEMS = 10_000
"""Objects in one file, Lists taken apart."""
MAX_LIST_DEPTH = 8
_COUNT_LIMIT = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRead:
    """One container: what it runs and how it shows that it is ready."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    """Command and arguments, one after the other."""
    env: tuple[str, ...] = ()
    """Names of environment variables; values are nobody's business."""
    ports: bool = False
    readiness: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRead:
    """One pod template and how many pods are made of it."""

    path: str
    count: int = 1
    containers: tuple[ContainerRead, ...] = ()
    """Those that do the work: no init containers, but sidecars."""
    asks: Mapping[str, int] = field(default_factory=dict[str, int])
    """GPU resources that one pod needs, by resource name."""
    claims: int = 0
    """Resource claims (DRA) that the pod makes; what a claim is for stands elsewhere."""
    restart_policy: str = ""
    priority_class: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the pods alone."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the pods alone."""
    spec: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    """As it was written, for who asks for more than stands here."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRead:
    """One workload."""

    kind: str
    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the workload and of its pods; the workload's win."""
    own_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the workload alone: the only ones that Kueue reads there."""
    pods: tuple[PodRead, ...] = ()
    parallelism: int = 1
    completions: int | None = None
    indexed: bool = False
    groups: int = 1
    """Of a LeaderWorkerSet: leaders with their workers, each of which starts whole."""
    schedule: str = ""
    runtime: str = ""
    """The training runtime that a TrainJob names."""
    problems: tuple[str, ...] = ()


def objects_of(value: Any) -> list[Any]:
    """The objects of one document: itself, or the items of a List, Lists in Lists taken apart."""
    found: list[Any] = []
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo and len(found) < MAX_ITEMS:
        item, depth = todo.pop()
        items = item.get("items") if isinstance(item, Mapping) else None
        if (
            depth < MAX_LIST_DEPTH
            and isinstance(items, list)
            and _text(item, "kind")[-4:] == "List"
        ):
            todo += [(each, depth + 1) for each in reversed(items)]
        else:
            found.append(item)
    return found


def read_job(value: Any) -> JobRead | None:
    """A workload, None when the kind is not one that makes pods."""
    kind = _text(value, "kind")
    if kind not in WORKLOADS:
        return None
    spec = _mapping(value, "spec")
    pods = tuple(_pod(template, path, count) for template, path, count in _templates(kind, spec))
    if kind == "Pod":  # its annotations are the object's own
        own = _pairs(_mapping(value, "metadata", "annotations"))
        pods = tuple(replace(pod, annotations=own) for pod in pods)
    return JobRead(
        kind=kind,
        name=_name(_mapping(value, "metadata")),
        namespace=_text(_mapping(value, "metadata"), "namespace"),
        labels=_labels(kind, value, spec),
        own_labels=_own_labels(kind, value, spec),
        pods=pods,
        schedule=_text(spec, "schedule"),
        runtime=_text(_mapping(spec, "runtimeRef"), "name"),
        problems=_problems(kind, pods),
        **_run_of(kind, spec),
    )


def _problems(kind: str, pods: tuple[PodRead, ...]) -> tuple[str, ...]:
    own = () if any(p.containers for p in pods) or kind == "TrainJob" else ("it has no container",)
    return (*own, *(f"{p.path}: {text}" for p in pods for text in p.problems))


def _name(metadata: Mapping[Any, Any]) -> str:
    return _text(metadata, "name") or _text(metadata, "generateName")


_REPLICAS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}
"""Where the older training kinds keep their pods, by role."""
_PLAIN = ("Job", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Notebook")
WORKLOADS = (
    "Pod", "CronJob", *_PLAIN, "JobSet", "TrainJob", *_REPLICAS, "LeaderWorkerSet", "InferenceService",
)  # fmt: skip
"""Kinds that are read."""

_Template = tuple[Mapping[Any, Any], str, int]
"""A pod template, where it stands, and how many pods are made of it."""


def _templates(kind: str, spec: Mapping[Any, Any]) -> Iterator[_Template]:
    if kind == "Pod":
        yield {"spec": spec}, "spec", 1
    elif kind == "CronJob":
        job = _mapping(spec, "jobTemplate", "spec")
        template = _mapping(job, "template")
        yield template, "spec.jobTemplate.spec.template.spec", _at_once(job)
    elif kind in _REPLICAS:
        yield from _roles(_mapping(spec, _REPLICAS[kind]), f"spec.{_REPLICAS[kind]}")
    elif kind == "JobSet":
        yield from _replicated_jobs(spec)
    elif kind == "TrainJob":
        yield _trainer(spec), "spec.trainer", _count(_mapping(spec, "trainer"), "numNodes", 1)
    elif kind == "LeaderWorkerSet":
        yield from _leader_and_workers(spec)
    elif kind == "InferenceService":
        yield _predictor(spec), "spec.predictor", 1
    else:
        count = _at_once(spec) if kind == "Job" else _count(spec, "replicas", 1)
        yield _mapping(spec, "template"), "spec.template.spec", count


def _roles(roles: Mapping[Any, Any], path: str) -> Iterator[_Template]:
    for role, value in roles.items():
        if isinstance(value, Mapping):
            count = _count(value, "replicas", 1)
            yield _mapping(value, "template"), f"{path}.{role}.template.spec", count


def _replicated_jobs(spec: Mapping[Any, Any]) -> Iterator[_Template]:
    for index, job in enumerate(_list(spec, "replicatedJobs")):
        inner = _mapping(job, "template", "spec")
        count = _count(job, "replicas", 1) * _at_once(inner)
        path = f"spec.replicatedJobs[{index}].template.spec.template.spec"
        yield _mapping(inner, "template"), path, count


def _trainer(spec: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A TrainJob's trainer as the pod it becomes: one container, the rest is the runtime's."""
    trainer = _mapping(spec, "trainer")
    if not trainer:
        return {}
    container = {**trainer, "name": "node", "resources": trainer.get("resourcesPerNode")}
    return {"spec": {"containers": [container]}}


def _leader_and_workers(spec: Mapping[Any, Any]) -> Iterator[_Template]:
    both = _mapping(spec, "leaderWorkerTemplate")
    groups, size = _count(spec, "replicas", 1), _count(both, "size", 1)
    leader = _mapping(both, "leaderTemplate")
    path = "spec.leaderWorkerTemplate"
    if leader:
        yield leader, f"{path}.leaderTemplate.spec", groups
        size -= 1
    yield _mapping(both, "workerTemplate"), f"{path}.workerTemplate.spec", groups * max(size, 0)


def _predictor(spec: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """KServe's predictor: a pod, whose model server stands under `model` or under its own name."""
    predictor = _mapping(spec, "predictor")
    servers = [v for v in predictor.values() if isinstance(v, Mapping) and "resources" in v]
    return {"spec": {**predictor, "containers": [*_list(predictor, "containers"), *servers]}}


def _run_of(kind: str, spec: Mapping[Any, Any]) -> dict[str, Any]:
    """How often a Job runs its pod, and how many at once; how many groups a LeaderWorkerSet has."""
    if kind == "LeaderWorkerSet":
        return {"groups": _count(spec, "replicas", 1)}
    job = _mapping(spec, "jobTemplate", "spec") if kind == "CronJob" else spec
    if kind not in {"Job", "CronJob"}:
        return {}
    done = _count(job, "completions", 0)
    return {
        "parallelism": _count(job, "parallelism", 1),
        "completions": done or None,
        "indexed": _text(job, "completionMode") == "Indexed",
    }


def _labels(kind: str, value: Any, spec: Mapping[Any, Any]) -> dict[str, str]:
    inner = [t for t, _, _ in _templates(kind, spec)]
    outer = _mapping(value, "metadata", "labels")
    job = _mapping(spec, "jobTemplate", "metadata", "labels")
    labels: dict[str, str] = {}
    for found in (*(_mapping(t, "metadata", "labels") for t in reversed(inner)), job, outer):
        labels |= _pairs(found)
    return labels


def _own_labels(kind: str, value: Any, spec: Mapping[Any, Any]) -> dict[str, str]:
    """A CronJob's jobs are the workloads: theirs are the labels that count."""
    if kind == "CronJob":
        return _pairs(_mapping(spec, "jobTemplate", "metadata", "labels"))
    return _pairs(_mapping(value, "metadata", "labels"))


def _pairs(found: Mapping[Any, Any]) -> dict[str, str]:
    return {k: v for k, v in found.items() if isinstance(k, str) and isinstance(v, str)}


def _pod(template: Mapping[Any, Any], path: str, count: int) -> PodRead:
    spec = _mapping(template, "spec")
    init = [c for c in _list(spec, "initContainers") if isinstance(c, Mapping)]
    main = [c for c in _list(spec, "containers") if isinstance(c, Mapping)]
    sidecars = [c for c in init if _text(c, "restartPolicy") == "Always"]
    asks, problems = ask_of_pod(init, main)
    return PodRead(
        path=path,
        count=count,
        containers=tuple(_container(c) for c in (*main, *sidecars)),
        asks=asks,
        claims=len(_list(spec, "resourceClaims")),
        restart_policy=_text(spec, "restartPolicy"),
        priority_class=_text(spec, "priorityClassName"),
        labels=_pairs(_mapping(template, "metadata", "labels")),
        annotations=_pairs(_mapping(template, "metadata", "annotations")),
        spec=spec,
        problems=problems,
    )


def _container(value: Mapping[Any, Any]) -> ContainerRead:
    return ContainerRead(
        name=_text(value, "name"),
        image=_text(value, "image"),
        command=(*_texts(value, "command"), *_texts(value, "args")),
        env=tuple(_text(e, "name") for e in _list(value, "env")),
        ports=bool(_list(value, "ports")),
        readiness=bool(_mapping(value, "readinessProbe")),
    )


def _mapping(value: Any, *keys: str) -> Mapping[Any, Any]:
    """What stands at the keys when it is a mapping, else an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _list(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, list) else []


def _text(value: Any, key: str) -> str:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def _texts(value: Any, key: str) -> tuple[str, ...]:
    return tuple(item for item in _list(value, key) if isinstance(item, str))


def _at_once(job: Any) -> int:
    """Pods of a Job that run at the same time: no more than it has to complete."""
    parallel = _count(job, "parallelism", 1)
    return min(parallel, _count(job, "completions", parallel))


def _count(value: Any, key: str, default: int) -> int:
    """A number of pods; what is no such number counts as if it were left out."""
    found = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= _COUNT_LIMIT:
        return found
    return default
