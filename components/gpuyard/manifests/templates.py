"""Pod templates inside Kubernetes kinds: where each kind keeps them, and how many pods it makes of each.

One table for whoever looks for pods: rules, `classify` and `explain`. A kind that is missing here is seen
by none of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from gpuyard.findings import Path
from gpuyard.manifests.fields import items, known_value, mapping, text

EACH = "*"
"""In a path: every item of the list, or every value of the mapping, that stands there."""
_COUNT_LIMIT = 1_000_000_000

Trail = Sequence[Any]
"""What stands along a path: the object first, the template last."""


class PodsForm(Enum):
    """How a kind writes its pods down."""

    TEMPLATE = auto()
    """As Kubernetes has it: metadata and spec."""
    INLINE = auto()
    """The fields of a pod's spec among the kind's own; a server may stand beside `containers`."""
    PARTS = auto()
    """Some parts of one container; the rest of the pod is defined elsewhere."""


@dataclass(frozen=True, slots=True)
class PodsPlace:
    """One place where a kind keeps pods."""

    at: Path
    pods: Callable[[Trail], int]
    """How many are made of a template there, all at once."""
    form: PodsForm = PodsForm.TEMPLATE
    optional: bool = False
    """Whether the kind makes no such pod when nothing stands there."""
    adapter: Callable[[Any, Mapping[Any, Any]], Mapping[Any, Any]] | None = None
    """What becomes of the template there, by the object that it stands in; nothing: no such pod."""
    inherited_volumes_path: Path = ()
    """Where volumes stand that a pod has as well, if it mounts them by name and has none of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Where a kind keeps pods."""

    name: str
    """As people say it: without the group, unless that would be another kind."""
    places: tuple[PodsPlace, ...]
    makes_pods: bool = True
    """False: others make pods of what stands there."""
    embedded_objects_path: Path = ()
    """Where other objects stand in it, whose pods are its own."""


@dataclass(frozen=True, slots=True)
class Template:
    """Pods of one sort inside an object."""

    path: Path
    """Where the spec of the pods stands."""
    metadata: Mapping[Any, Any]
    spec: Mapping[Any, Any]
    pods: int
    container_fields: tuple[str, ...] = ()
    """Fields of the spec that are containers under a name of their own."""
    form: PodsForm = PodsForm.TEMPLATE
    is_written: bool = True
    """False: the kind's controller makes it up."""
    inherited_volumes_path: Path = ()
    """Where volumes stand that it has as well, if it mounts them."""


_COUNTS = ("parallelism", "completions", "replicas", "size", "numNodes", "numOfHosts")
"""Fields that say how many pods there are, or how many groups of them."""


def count(value: Any, key: str, default: int) -> int:
    """A number of pods, also one in quotes; what is no such number counts as if it were left out."""
    result = mapping(value).get(key)
    if isinstance(result, str) and result.isdecimal():
        result = int(result)
    return int(result) if result is not None and _is_count(result) else default


def _is_count(result: Any) -> bool:
    number = isinstance(result, int | float) and not isinstance(result, bool)
    return number and 0 <= result <= _COUNT_LIMIT and result == int(result)


def template_count_errors(kind: Kind, value: Any) -> Iterator[tuple[Path, Any]]:
    """Where an object writes a number of pods that the API server takes for none, such as one in quotes."""
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
    """Pods of a Job that run at the same time: no more than it has to complete."""
    parallel = count(job, "parallelism", 1)
    return min(parallel, count(job, "completions", parallel))


def _one(_: Trail) -> int:
    return 1


def _replicas(trail: Trail) -> int:
    return count(trail[-2], "replicas", 1)


def _of_job(trail: Trail) -> int:
    return parallel_pods(trail[-2])


def _of_jobs(trail: Trail) -> int:
    """A template of Jobs inside a list, each of them several times."""
    return count(trail[-4], "replicas", 1) * parallel_pods(trail[-2])


def _of_hosts(trail: Trail) -> int:
    """KubeRay's groups: a replica may be several hosts."""
    return count(trail[-2], "replicas", 1) * max(1, count(trail[-2], "numOfHosts", 1))


def _leaders(trail: Trail) -> int:
    return count(trail[1], "replicas", 1)


def _workers(trail: Trail) -> int:
    """The size of a group counts its leader; a leader without a template is one of the workers."""
    both = trail[2]
    led = 1 if mapping(both, "leaderTemplate") else 0
    return _leaders(trail) * max(count(both, "size", 1) - led, 0)


def _trainer_nodes(trail: Trail) -> int:
    return count(trail[-1], "numNodes", 1)


def _plain(name: str, pods: Callable[[Trail], int] = _replicas) -> Kind:
    return Kind(name=name, places=(PodsPlace(("spec", "template"), pods),))


def _by_role(name: str, field: str) -> Kind:
    """The older training kinds: by role, how many and a template."""
    return Kind(name=name, places=(PodsPlace(("spec", field, EACH, "template"), _replicas),))


def _submitter() -> Mapping[str, Any]:
    """What KubeRay makes of a RayJob that says nothing of it, where Kueue counts it."""
    resources = {
        "requests": {"cpu": "500m", "memory": "200Mi"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }
    return {"name": "ray-job-submitter", "resources": resources}


def _submits(value: Any, results: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The pod that submits a RayJob: only where a Job of Kubernetes does, with a template or without."""
    spec = mapping(value, "spec")
    if (text(spec, "submissionMode") or "K8sJobMode") != "K8sJobMode":
        return {}
    head = mapping(spec, "rayClusterSpec", "headGroupSpec", "template", "spec")
    image = text((items(head, "containers") or [{}])[0], "image")
    pod_spec = {"restartPolicy": "Never", "containers": [{**_submitter(), "image": image}]}
    return results or {"spec": pod_spec}


def _with_sidecars(*cluster: str) -> Callable[[Any, Mapping[Any, Any]], Mapping[Any, Any]]:
    """The head of a Ray cluster, with what KubeRay puts beside it."""

    def adapted(value: Any, results: Mapping[Any, Any]) -> Mapping[Any, Any]:
        more: list[Mapping[str, Any]] = []
        ray = mapping(value, *cluster)
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

    return adapted


def _ray(*cluster: str) -> tuple[PodsPlace, ...]:
    head = (*cluster, "headGroupSpec", "template")
    return (
        PodsPlace(head, _one, adapter=_with_sidecars(*cluster)),
        PodsPlace((*cluster, "workerGroupSpecs", EACH, "template"), _of_hosts),
    )


_JOBS: Path = ("replicatedJobs", EACH, "template", "spec", "template")
_RUNTIME = (PodsPlace(("spec", "template", "spec", *_JOBS), _of_jobs),)
_GROUPS: Path = ("spec", "leaderWorkerTemplate")


def _controller_kind(
    name: str, *at: Path, form: PodsForm = PodsForm.INLINE, lends: Path = ()
) -> Kind:
    """A kind of which another controller makes pods, in ways that nobody counts here."""
    places = tuple(
        PodsPlace(each, _one, form, optional=True, inherited_volumes_path=lends) for each in at
    )
    return Kind(name=name, places=places, makes_pods=False)


def _steps(name: str, *spec: str) -> Kind:
    """A workflow of Argo's: each of its steps has the fields of a pod, and its container under a name."""
    step = (*spec, "templates", EACH)
    lends: Path = (*spec, "volumes")  # (argo-workflows workflow/controller/workflowpod.go)
    return _controller_kind(name, step, (*step, "containerSet"), lends=lends)


def _models(name: str) -> Kind:
    """What KServe serves large models by: leaders and workers, and those that read the prompts."""
    each = (("template",), ("worker",), ("prefill", "template"), ("prefill", "worker"))
    return _controller_kind(name, *(("spec", *path) for path in each))


def _spark(name: str, *spec: str) -> Kind:
    roles = (("driver", "template"), ("executor", "template"))
    return _controller_kind(name, *((*spec, *role) for role in roles), form=PodsForm.TEMPLATE)


KINDS: Mapping[str, Kind] = {
    "Pod": Kind(name="Pod", places=(PodsPlace((), _one),)),
    "batch/CronJob": Kind(
        name="CronJob", places=(PodsPlace(("spec", "jobTemplate", "spec", "template"), _of_job),)
    ),
    "batch/Job": _plain("Job", _of_job),
    "apps/Deployment": _plain("Deployment"),
    "apps/StatefulSet": _plain("StatefulSet"),
    "apps/DaemonSet": _plain("DaemonSet"),
    "apps/ReplicaSet": _plain("ReplicaSet"),
    "kubeflow.org/Notebook": _plain("Notebook"),
    "jobset.x-k8s.io/JobSet": Kind(name="JobSet", places=(PodsPlace(("spec", *_JOBS), _of_jobs),)),
    "trainer.kubeflow.org/TrainJob": Kind(
        name="TrainJob", places=(PodsPlace(("spec", "trainer"), _trainer_nodes, PodsForm.PARTS),)
    ),
    "kubeflow.org/PyTorchJob": _by_role("PyTorchJob", "pytorchReplicaSpecs"),
    "kubeflow.org/TFJob": _by_role("TFJob", "tfReplicaSpecs"),
    "kubeflow.org/MPIJob": _by_role("MPIJob", "mpiReplicaSpecs"),
    "kubeflow.org/XGBoostJob": _by_role("XGBoostJob", "xgbReplicaSpecs"),
    "kubeflow.org/PaddleJob": _by_role("PaddleJob", "paddleReplicaSpecs"),
    "kubeflow.org/JAXJob": _by_role("JAXJob", "jaxReplicaSpecs"),
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": Kind(
        name="LeaderWorkerSet",
        places=(
            PodsPlace((*_GROUPS, "leaderTemplate"), _leaders, optional=True),
            PodsPlace((*_GROUPS, "workerTemplate"), _workers),
        ),
    ),
    "serving.kserve.io/InferenceService": Kind(
        name="InferenceService",
        places=(
            PodsPlace(("spec", "predictor"), _one, PodsForm.INLINE),
            PodsPlace(("spec", "transformer"), _one, PodsForm.INLINE, optional=True),
            PodsPlace(("spec", "explainer"), _one, PodsForm.INLINE, optional=True),
        ),
    ),
    "ReplicationController": _plain("ReplicationController"),
    "ray.io/RayCluster": Kind(name="RayCluster", places=_ray("spec")),
    "ray.io/RayJob": Kind(
        name="RayJob",
        places=(
            *_ray("spec", "rayClusterSpec"),
            PodsPlace(("spec", "submitterPodTemplate"), _one, optional=True, adapter=_submits),
        ),
    ),
    "ray.io/RayService": Kind(name="RayService", places=_ray("spec", "rayClusterConfig")),
    "workload.codeflare.dev/AppWrapper": Kind(
        name="AppWrapper", places=(), embedded_objects_path=("spec", "components", EACH, "template")
    ),
    "batch.volcano.sh/Job": Kind(
        name="Job.batch.volcano.sh",
        places=(PodsPlace(("spec", "tasks", EACH, "template"), _replicas),),
    ),
    "serving.knative.dev/Service": _plain("Service.serving.knative.dev", _one),
    "PodTemplate": Kind(
        name="PodTemplate", places=(PodsPlace(("template",), _one),), makes_pods=False
    ),
    "argoproj.io/Rollout": _controller_kind(
        "Rollout", ("spec", "template"), form=PodsForm.TEMPLATE
    ),
    "argoproj.io/Workflow": _steps("Workflow", "spec"),
    "argoproj.io/WorkflowTemplate": _steps("WorkflowTemplate", "spec"),
    "argoproj.io/ClusterWorkflowTemplate": _steps("ClusterWorkflowTemplate", "spec"),
    "argoproj.io/CronWorkflow": _steps("CronWorkflow", "spec", "workflowSpec"),
    "serving.kserve.io/LLMInferenceService": _models("LLMInferenceService"),
    "serving.kserve.io/LLMInferenceServiceConfig": _models("LLMInferenceServiceConfig"),
    "serving.kserve.io/ServingRuntime": _controller_kind(
        "ServingRuntime", ("spec",), ("spec", "workerSpec")
    ),
    "serving.kserve.io/ClusterServingRuntime": _controller_kind(
        "ClusterServingRuntime", ("spec",), ("spec", "workerSpec")
    ),
    "sparkoperator.k8s.io/SparkApplication": _spark("SparkApplication", "spec"),
    "sparkoperator.k8s.io/ScheduledSparkApplication": _spark(
        "ScheduledSparkApplication", "spec", "template"
    ),
    "kaito.sh/Workspace": _controller_kind(
        "Workspace", ("inference", "template"), form=PodsForm.TEMPLATE
    ),
    "sagemaker.amazonaws.com/HyperPodPyTorchJob": _controller_kind(
        "HyperPodPyTorchJob", ("spec", "replicaSpecs", EACH, "template"), form=PodsForm.TEMPLATE
    ),
    "trainer.kubeflow.org/TrainingRuntime": Kind(
        name="TrainingRuntime", places=_RUNTIME, makes_pods=False
    ),
    "trainer.kubeflow.org/ClusterTrainingRuntime": Kind(
        name="ClusterTrainingRuntime", places=_RUNTIME, makes_pods=False
    ),
}
"""By group and kind, whatever the version."""
UNREAD: Mapping[str, str] = {
    "sparkoperator.k8s.io/SparkApplication": (
        "Kueue queues it only where its integration is switched on, which it is not here; ask about a pod"
        " of its executors, labelled with a queue in spec.executor.labels"
    ),
    "argoproj.io/Workflow": (
        "Kueue sees its pods alone: label them with a queue in spec.podMetadata.labels, and ask about one"
        " of its steps as a Pod"
    ),
    "argoproj.io/CronWorkflow": (
        "Kueue sees the pods of its workflows alone: label them with a queue in"
        " spec.workflowSpec.podMetadata.labels, and ask about one step as a Pod"
    ),
}
"""Kinds that run pods and are not read, and what to do instead; by group and kind."""
_BY_NAME = {kind.name: kind for kind in KINDS.values()}
WORKLOADS = tuple(kind.name for kind in KINDS.values() if kind.makes_pods)
"""What makes pods, by the names that people say."""
POD_KINDS = tuple(
    sorted(
        k
        for k, kind in KINDS.items()
        if kind.embedded_objects_path or any(p.form is not PodsForm.PARTS for p in kind.places)
    )
)
"""Every kind in which a pod, or a template of pods, stands as Kubernetes has it; by group and kind."""


def workload_kind(value: Any) -> Kind | None:
    """The kind of an object that makes pods; a group that is left out, or unknown, does not hide it."""
    kind = text(value, "kind")
    group = text(value, "apiVersion").rpartition("/")[0]
    result = KINDS.get(f"{group}/{kind}" if group else kind) or _BY_NAME.get(kind)
    return result if result is not None and result.makes_pods else None


def unread_kind(value: Any) -> tuple[str, str] | None:
    """The kind of an object whose pods are not read, and what to do instead."""
    group = text(value, "apiVersion").rpartition("/")[0]
    result = UNREAD.get(f"{group}/{text(value, 'kind')}")
    return (text(value, "kind"), result) if result else None


def templates_of(kind: Kind, value: Any) -> Iterator[Template]:
    """All pods of an object of this kind, also where nothing says what they run."""
    for place in kind.places:
        for path, trail in _walk(place.at, (), (value,)):
            written = mapping(trail[-1])
            result = place.adapter(value, written) if place.adapter else written
            if result or not place.optional:
                template = _template(place, path, result, place.pods(trail))
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


def _template(place: PodsPlace, path: Path, results: Mapping[Any, Any], pods: int) -> Template:
    if place.form is PodsForm.TEMPLATE:
        metadata, spec = mapping(results, "metadata"), mapping(results, "spec")
        return Template((*path, "spec"), metadata, spec, pods)
    servers = tuple(key for key, inner in results.items() if "resources" in mapping(inner))
    return Template(path, {}, results, pods, servers, place.form)
