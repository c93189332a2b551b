"""Kubernetes workloads, reduced to the fields that identify their workload class.

Input is untrusted: any mapping is read, and what cannot be parsed is excluded or reported as a
problem. The classification itself is in `gpuyard_advisor.job_classes`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.findings import show_path
from gpuyard_core.manifests.fields import items, mapping, mappings, text
from gpuyard_core.manifests.gpu_requests import pod_gpu_request
from gpuyard_core.manifests.templates import (
    Kind,
    PodsForm,
    Template,
    read_pod_count,
    template_count_errors,
    templates_of,
    workload_kind,
)

MAX_ITEMS = 10_000
"""Objects in one file, with Lists expanded."""
MAX_LIST_DEPTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedContainer:
    """One container: what it runs and its readiness probe."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    """Command and arguments, one after the other."""
    env: tuple[str, ...] = ()
    """Names of environment variables, without values."""
    ports: bool = False
    readiness: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPodTemplate:
    """One pod template and the number of pods created from it."""

    path: str
    count: int = 1
    containers: tuple[ParsedContainer, ...] = ()
    """The main containers and sidecars, without init containers."""
    requests: Mapping[str, int] = field(default_factory=dict[str, int])
    """GPU resources that one pod needs, by resource name."""
    claims: int = 0
    """Resource claims (DRA) of the pod; their device requests are defined elsewhere."""
    restart_policy: str = ""
    priority_class: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of the pods only."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Annotations of the pods only."""
    spec: Mapping[Any, Any] = field(default_factory=dict[Any, Any])
    """The unparsed template, for callers that need other fields."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedWorkload:
    """One workload."""

    kind: str
    name: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the workload and its pods; those of the workload take precedence."""
    own_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the workload only: Kueue reads no others."""
    pods: tuple[ParsedPodTemplate, ...] = ()
    parallelism: int = 1
    completions: int | None = None
    indexed: bool = False
    groups: int = 1
    """Groups of a LeaderWorkerSet: a leader with its workers, which start together or not at
    all."""
    schedule: str = ""
    runtime: str = ""
    """The training runtime of a TrainJob."""
    problems: tuple[str, ...] = ()
    body: Mapping[Any, Any] = field(default_factory=dict[Any, Any], repr=False)
    """The unparsed object, for callers that need other fields."""
    count_errors: tuple[tuple[str, Any, int], ...] = ()
    """Numbers of pods that the API server rejects: path, written value, and number used instead."""


def objects_of(value: Any, most: int = MAX_ITEMS) -> list[Any]:
    """The objects of one document: itself, or the items of a List, including nested Lists."""
    results: list[Any] = []
    todo: list[tuple[Any, int]] = [(value, 0)]
    while todo and len(results) < most:
        item, depth = todo.pop()
        inner = item.get("items") if isinstance(item, Mapping) else None
        if depth < MAX_LIST_DEPTH and isinstance(inner, list) and text(item, "kind")[-4:] == "List":
            todo += [(each, depth + 1) for each in reversed(inner)]
        else:
            results.append(item)
    return results


def read_job(value: Any) -> ParsedWorkload | None:
    """A workload, None if the kind creates no pods."""
    kind = workload_kind(value)
    if kind is None:
        return None
    spec = mapping(value, "spec")
    results = tuple(templates_of(kind, value))
    pods = tuple(_pod(template) for template in results)
    wrong_counts = tuple(_miscounts(kind, value))
    return ParsedWorkload(
        kind=kind.name,
        name=_name(mapping(value, "metadata")),
        namespace=text(value, "metadata", "namespace"),
        labels=_labels(results, value),
        own_labels=_own_labels(kind.name, value),
        pods=pods,
        schedule=text(spec, "schedule"),
        runtime=text(spec, "runtimeRef", "name"),
        problems=(
            *_problems(kind.name, pods),
            *(f"{at}: {wrong!r} is not a whole number" for at, wrong, _ in wrong_counts),
        ),
        body=value,
        count_errors=wrong_counts,
        **_run_of(kind.name, spec),
    )


def _miscounts(kind: Kind, value: Any) -> Iterator[tuple[str, Any, int]]:
    for path, wrong in template_count_errors(kind, value):
        yield show_path(path), wrong, read_pod_count({"n": wrong}, "n", 1)


def _problems(kind: str, pods: tuple[ParsedPodTemplate, ...]) -> tuple[str, ...]:
    own = () if any(p.containers for p in pods) or kind == "TrainJob" else ("it has no container",)
    return (*own, *(f"{p.path}: {text}" for p in pods for text in p.problems))


def _name(metadata: Mapping[Any, Any]) -> str:
    return text(metadata, "name") or text(metadata, "generateName")


def _run_of(kind: str, spec: Mapping[Any, Any]) -> dict[str, Any]:
    """How often a Job runs its pod, and how many at once; a LeaderWorkerSet's number of groups."""
    if kind == "LeaderWorkerSet":
        return {"groups": read_pod_count(spec, "replicas", 1)}
    job = mapping(spec, "jobTemplate", "spec") if kind == "CronJob" else spec
    if kind not in {"Job", "CronJob"}:
        return {}
    done = read_pod_count(job, "completions", 0)
    return {
        "parallelism": read_pod_count(job, "parallelism", 1),
        "completions": done or None,
        "indexed": text(job, "completionMode") == "Indexed",
    }


def _labels(results: Sequence[Template], value: Any) -> dict[str, str]:
    """The labels of all levels; those of the outer level take precedence."""
    outer = mapping(value, "metadata", "labels")
    job = mapping(value, "spec", "jobTemplate", "metadata", "labels")
    labels: dict[str, str] = {}
    for one in (*(mapping(t.metadata, "labels") for t in reversed(results)), job, outer):
        labels |= _pairs(one)
    return labels


def _own_labels(kind: str, value: Any) -> dict[str, str]:
    """For a CronJob, the labels of its job template: the jobs are the workloads."""
    if kind == "CronJob":
        return _pairs(mapping(value, "spec", "jobTemplate", "metadata", "labels"))
    return _pairs(mapping(value, "metadata", "labels"))


def _pairs(results: Mapping[Any, Any]) -> dict[str, str]:
    return {k: v for k, v in results.items() if isinstance(k, str) and isinstance(v, str)}


def _pod(template: Template) -> ParsedPodTemplate:
    spec = _spec(template)
    init, main = mappings(spec, "initContainers"), mappings(spec, "containers")
    sidecars = [c for c in init if text(c, "restartPolicy") == "Always"]
    asks, problems = pod_gpu_request(init, main)
    # for a Pod, its labels are the labels of the workload
    labels = {} if template.path == ("spec",) else mapping(template.metadata, "labels")
    return ParsedPodTemplate(
        path=show_path(template.path),
        count=template.pod_count,
        containers=tuple(_container(c) for c in (*main, *sidecars)),
        requests=asks,
        claims=len(items(spec, "resourceClaims")),
        restart_policy=text(spec, "restartPolicy"),
        priority_class=text(spec, "priorityClassName"),
        labels=_pairs(labels),
        annotations=_pairs(mapping(template.metadata, "annotations")),
        spec=spec,
        problems=problems,
    )


def _spec(template: Template) -> Mapping[Any, Any]:
    """The spec of the pod that is created from a template."""
    spec = template.spec
    if template.form is PodsForm.INLINE:
        servers = [spec[key] for key in template.container_fields]
        return {**spec, "containers": [*items(spec, "containers"), *servers]}
    if template.form is PodsForm.PARTS and spec:  # one container; the training runtime has the rest
        container = {**spec, "name": "node", "resources": spec.get("resourcesPerNode")}
        return {"containers": [container]}
    return spec


def _container(value: Mapping[Any, Any]) -> ParsedContainer:
    return ParsedContainer(
        name=text(value, "name"),
        image=text(value, "image"),
        command=(*_texts(value, "command"), *_texts(value, "args")),
        env=tuple(text(e, "name") for e in items(value, "env")),
        ports=bool(items(value, "ports")),
        readiness=bool(mapping(value, "readinessProbe")),
    )


def _texts(value: Any, key: str) -> tuple[str, ...]:
    return tuple(item for item in items(value, key) if isinstance(item, str))
