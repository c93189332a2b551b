"""Pod templates inside Kubernetes kinds: their paths, and how many pods are created from each.

Shared by the rules, `classify` and `explain`: they do not see a kind that is missing here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial
from typing import Any

from gpuyard_core.catalogue.tables import read_keyed
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, known_value, mapping, text
from gpuyard_core.names import ELASTIC_ANNOTATION

EACH = "*"
"""In a path: every item of the list, or every value of the mapping, at this step."""
_COUNT_LIMIT = 1_000_000_000

Trail = Sequence[Any]
"""The values along a path: the object first, the template last."""


class PodsForm(Enum):
    """How a kind declares its pods."""

    TEMPLATE = auto()
    """As in Kubernetes: metadata and spec."""
    INLINE = auto()
    """The fields of a pod spec among the kind's own; a server may be declared next to
    `containers`."""
    PARTS = auto()
    """Some fields of one container; the rest of the pod is defined elsewhere."""


@dataclass(frozen=True, slots=True)
class PodTemplateLocation:
    """One place where a kind declares pods."""

    at: Path
    count_pods: Callable[[Trail], int]
    """How many pods are created from a template there, all at once."""
    form: PodsForm = PodsForm.TEMPLATE
    optional: bool = False
    """Whether the kind creates no such pod if the field is missing."""
    adapter: Callable[[Any, Mapping[Any, Any]], Mapping[Any, Any]] | None = None
    """Completes the template from the object that contains it; an empty result means no such
    pod."""
    inherited_volumes_path: Path = ()
    """Path of volumes that a pod also has if it mounts them by name and has none of that name."""

    @staticmethod
    def from_cell(cell: str) -> "PodTemplateLocation":
        """A path, how pods are counted, and properties, for tables: `spec.explainer:one:INLINE:optional`."""
        path, count, *words = cell.split(":")
        at: Path = tuple(path.split(".")) if path else ()
        adapters = [partial(_ADAPTERS[word], at) for word in words if word in _ADAPTERS]
        forms = [PodsForm[word] for word in words if word in PodsForm.__members__]
        lends = [word.removeprefix("lends=") for word in words if word.startswith("lends=")]
        return PodTemplateLocation(
            at,
            _POD_COUNTS[count],
            forms[0] if forms else PodsForm.TEMPLATE,
            "optional" in words,
            adapters[0] if adapters else None,
            tuple(lends[0].split(".")) if lends else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Where a kind declares pods."""

    name: str
    """Without the API group, unless another kind has the same name."""
    places: tuple[PodTemplateLocation, ...]
    makes_pods: bool = True
    """False: other kinds create pods from the template."""
    embedded_objects_path: Path = ()
    """Path of embedded objects whose pods belong to this object."""


@dataclass(frozen=True, slots=True)
class Template:
    """Pods of one template inside an object."""

    path: Path
    """The path of the pod spec."""
    metadata: Mapping[Any, Any]
    spec: Mapping[Any, Any]
    pod_count: int
    container_fields: tuple[str, ...] = ()
    """Fields of the spec that hold one container each, under their own name."""
    form: PodsForm = PodsForm.TEMPLATE
    is_written: bool = True
    """False: the controller of the kind adds the template."""
    inherited_volumes_path: Path = ()
    """Path of volumes that the pod also has if it mounts them."""


_COUNTS = ("parallelism", "completions", "replicas", "size", "numNodes", "numOfHosts")
"""Fields with the number of pods, or of groups of pods."""


def read_pod_count(value: Any, key: str, default: int) -> int:
    """A number of pods, also in quotes; any other value counts as if the field were missing."""
    result = mapping(value).get(key)
    if isinstance(result, str) and result.isdecimal():
        result = int(result)
    return int(result) if result is not None and _is_count(result) else default


def _is_count(result: Any) -> bool:
    number = isinstance(result, int | float) and not isinstance(result, bool)
    return number and 0 <= result <= _COUNT_LIMIT and result == int(result)


def template_count_errors(kind: Kind, value: Any) -> Iterator[tuple[Path, Any]]:
    """Where an object has a number of pods that the API server rejects, such as one in quotes."""
    results: dict[Path, Any] = {}
    for place in kind.places:
        for path, trail in _walk(place.at, (), (value,)):
            for depth, inner in enumerate(trail):
                written = {key: mapping(inner).get(key) for key in _COUNTS}
                results |= {(*path[:depth], key): value for key, value in written.items()}
    yield from (
        (at, wrong) for at, wrong in results.items() if wrong is not None and not _is_count(wrong)
    )


def parallel_pods(job: Any) -> int:
    """Pods of a Job that run at the same time: at most as many as it has to complete."""
    parallel = read_pod_count(job, "parallelism", 1)
    return min(parallel, read_pod_count(job, "completions", parallel))


def _one(_: Trail) -> int:
    return 1


def _replicas(trail: Trail) -> int:
    return read_pod_count(trail[-2], "replicas", 1)


def _of_job(trail: Trail) -> int:
    return parallel_pods(trail[-2])


def _of_jobs(trail: Trail) -> int:
    """A template of Jobs in a list, each with a number of replicas."""
    return read_pod_count(trail[-4], "replicas", 1) * parallel_pods(trail[-2])


def _of_hosts(trail: Trail) -> int:
    """KubeRay's worker groups: a replica may have several hosts."""
    return read_pod_count(trail[-2], "replicas", 1) * max(
        1, read_pod_count(trail[-2], "numOfHosts", 1)
    )


def _leaders(trail: Trail) -> int:
    return read_pod_count(trail[1], "replicas", 1)


def _workers(trail: Trail) -> int:
    """The size of a group includes its leader, which has the workers' template by default."""
    both = trail[2]
    led = 1 if mapping(both, "leaderTemplate") else 0
    return _leaders(trail) * max(read_pod_count(both, "size", 1) - led, 0)


def _trainer_nodes(trail: Trail) -> int:
    return read_pod_count(trail[-1], "numNodes", 1)


def _submitter() -> Mapping[str, Any]:
    """The container that submits a RayJob without a submitter template, as in KubeRay and Kueue."""
    resources = {
        "requests": {"cpu": "500m", "memory": "200Mi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }
    return {"name": "ray-job-submitter", "resources": resources}


def _submits(_: Path, value: Any, results: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The pod that submits a RayJob, with or without a template; only in K8sJobMode."""
    spec = mapping(value, "spec")
    if (text(spec, "submissionMode") or "K8sJobMode") != "K8sJobMode":
        return {}
    head = mapping(spec, "rayClusterSpec", "headGroupSpec", "template", "spec")
    image = text((items(head, "containers") or [{}])[0], "image")
    pod_spec = {"restartPolicy": "Never", "containers": [{**_submitter(), "image": image}]}
    return results or {"spec": pod_spec}


RAY_CLUSTERS: Mapping[str, tuple[str, ...]] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
}
"""The path of the Ray cluster of a kind."""


def _with_sidecars(head: Path, value: Any, results: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The head of a Ray cluster, with the sidecars that KubeRay adds."""
    more: list[Mapping[str, Any]] = []
    ray = mapping(value, *map(str, head[:-2]))
    if ray.get("enableInTreeAutoscaling") is True:
        own = mapping(ray, "autoscalerOptions").get("resources")
        same = {"cpu": "500m", "memory": "512Mi"}
        resources = own or {"requests": same, "limits": same}
        more.append({"name": "autoscaler", "resources": resources})
    if text(value, "spec", "submissionMode") == "SidecarMode":
        more.append(_submitter())
    if not more or not results:
        return results
    spec = mapping(results, "spec")
    return {**results, "spec": {**spec, "containers": [*items(spec, "containers"), *more]}}


_ADAPTERS = {"submitter": _submits, "sidecars": _with_sidecars}
_POD_COUNTS: Mapping[str, Callable[[Trail], int]] = {
    "one": _one,
    "replicas": _replicas,
    "job": _of_job,
    "jobs": _of_jobs,
    "hosts": _of_hosts,
    "leaders": _leaders,
    "workers": _workers,
    "nodes": _trainer_nodes,
}
KINDS: Mapping[str, Kind] = dict(read_keyed("kinds", Kind))
"""By group and kind, for every version. A kind that makes no pods has a template from which other kinds create
them, or a controller that creates them in ways that gpuyard does not count."""
UNREAD: Mapping[str, str] = {
    "sparkoperator.k8s.io/SparkApplication": (
        "Kueue queues it only if its integration is enabled, which it is not here; explain a pod "
        "of its executors instead, with a queue label in spec.executor.labels"
    ),
    "argoproj.io/Workflow": (
        "Kueue queues only its pods: set a queue label in spec.podMetadata.labels, and explain "
        "one of its steps as a Pod"
    ),
    "argoproj.io/CronWorkflow": (
        "Kueue queues only the pods of its workflows: set a queue label in "
        "spec.workflowSpec.podMetadata.labels, and explain one step as a Pod"
    ),
}
"""Kinds that run pods but are not read, and what to do instead; by group and kind."""
_BY_NAME = {kind.name: kind for kind in KINDS.values()}
WORKLOADS = tuple(kind.name for kind in KINDS.values() if kind.makes_pods)
"""Kinds that create pods, by their usual names."""
POD_KINDS = tuple(
    sorted(
        k
        for k, kind in KINDS.items()
        if kind.embedded_objects_path or any(p.form is not PodsForm.PARTS for p in kind.places)
    )
)
"""Every kind with a pod, or a pod template, in the form of Kubernetes; by group and kind."""


def workload_kind(value: Any) -> Kind | None:
    """The kind of an object that creates pods, also if its API group is missing or unknown."""
    kind = text(value, "kind")
    group = text(value, "apiVersion").rpartition("/")[0]
    result = KINDS.get(f"{group}/{kind}" if group else kind) or _BY_NAME.get(kind)
    return result if result is not None and result.makes_pods else None


def fixed_size_path(kind: str, value: Any) -> Path:
    """Where a Ray cluster enables its autoscaler, although Kueue would queue it with a fixed size.

    Empty otherwise. Kueue (v0.19.2, webhooks of its Ray integrations) accepts an autoscaler only in
    elastic jobs: it restarts any other cluster as a whole when `replicas` change.
    """
    cluster = RAY_CLUSTERS.get(kind, ())
    scales = bool(cluster) and mapping(value, *cluster).get("enableInTreeAutoscaling") is True
    elastic = text(value, "metadata", "annotations", ELASTIC_ANNOTATION) == "true"
    return (*cluster, "enableInTreeAutoscaling") if scales and not elastic else ()


def unread_kind(value: Any) -> tuple[str, str] | None:
    """The kind of an object whose pods are not read, and what to do instead."""
    group = text(value, "apiVersion").rpartition("/")[0]
    result = UNREAD.get(f"{group}/{text(value, 'kind')}")
    return (text(value, "kind"), result) if result else None


def templates_of(kind: Kind, value: Any) -> Iterator[Template]:
    """All pod templates of an object of this kind, also those that its controller adds."""
    for place in kind.places:
        for path, trail in _walk(place.at, (), (value,)):
            written = mapping(trail[-1])
            result = place.adapter(value, written) if place.adapter else written
            if result or not place.optional:
                template = _template(place, path, result, place.count_pods(trail))
                yield replace(
                    template,
                    is_written=bool(written),
                    inherited_volumes_path=place.inherited_volumes_path,
                )
    for path, trail in (
        _walk(kind.embedded_objects_path, (), (value,)) if kind.embedded_objects_path else ()
    ):
        inner = workload_kind(trail[-1])
        for each in (
            templates_of(inner, trail[-1]) if inner and not inner.embedded_objects_path else ()
        ):
            yield replace(each, path=(*path, *each.path))


def _walk(steps: Path, path: Path, trail: tuple[Any, ...]) -> Iterator[tuple[Path, Trail]]:
    if not steps:
        yield path, trail
        return
    step, *rest = steps
    if step != EACH:
        yield from _walk((*rest,), (*path, step), (*trail, mapping(trail[-1]).get(step)))
        return
    here = known_value(trail[-1])
    each = here.items() if isinstance(here, Mapping) else enumerate(items(here))
    for key, inner in each:
        if isinstance(known_value(inner), Mapping):
            yield from _walk((*rest,), (*path, key), (*trail, inner))


def _template(
    place: PodTemplateLocation, path: Path, results: Mapping[Any, Any], pods: int
) -> Template:
    if place.form is PodsForm.TEMPLATE:
        metadata, spec = mapping(results, "metadata"), mapping(results, "spec")
        return Template((*path, "spec"), metadata, spec, pods)
    servers = tuple(key for key, inner in results.items() if "resources" in mapping(inner))
    return Template(path, {}, results, pods, servers, place.form)


def is_release(value: Any) -> bool:
    """Whether a value has the fields of a release in `release.yaml`, and no others."""
    words = {"release", "namespace", "chart", "version"}
    return isinstance(value, Mapping) and set(value) - {"repository"} == words
