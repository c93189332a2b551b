"""Queue labels of workloads with GPU requests, so that Kueue counts them."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.admission.owned_objects import controller_references, owner_kinds
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.remaining_pods import check_remaining_pods
from gpuyard_core.admission.requirement import Workload, new_violation
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, known_value, mapping, text
from gpuyard_core.manifests.pods import GPU_PREFIXES, Pod
from gpuyard_core.manifests.quantities import Violation
from gpuyard_core.manifests.queued import INTEGRATIONS, OPTIONAL, QUEUED_KINDS, ROLES
from gpuyard_core.manifests.templates import KINDS, RAY_CLUSTERS, read_pod_count, templates_of
from gpuyard_core.names import ELASTIC_ANNOTATION, POD_GROUP_LABEL, QUEUE_GATE, QUEUE_LABEL

QUEUE_FOR_THEIRS = tuple(
    kind
    for kind, found in QUEUED_KINDS.items()
    if found.by_default and "/" in kind and not kind.startswith("apps/")
)
"""Kinds, by group, that Kueue queues with all their pods. Each object must name a queue."""
OF_OTHER_PROJECTS = (
    *(kind for kind in QUEUE_FOR_THEIRS if kind != "batch/Job"),
    *OPTIONAL.values(),
)
"""Those of them that are custom resources, and those that a platform may enable."""
IN_OPTION = tuple(INTEGRATIONS)
"""Kinds that Kueue ignores unless the platform enables their integration."""
OF_ITSELF = ("Pod", *(kind.rpartition("/")[2] for kind in QUEUE_FOR_THEIRS), *IN_OPTION)
"""Kinds whose own label Kueue reads; if the team has a queue called default, Kueue sets it there."""
UNSEEN = ("AppWrapper", "TrainJob")
"""Kinds whose pods are defined elsewhere: their requests are unknown when the object is created."""
COUNTED_ONCE = ("LeaderWorkerSet", "StatefulSet")
"""Kinds whose pods Kueue counts at creation: later it compares only the requests of a template, and a
template with only limits has none."""
CRON = "CronJob"
OF_PODS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
"""Kinds whose pods are queued individually, by the label of their template."""
PASSED_ON = ("Deployment", "StatefulSet")
"""Kinds whose own label Kueue copies to their pods."""
LABELS_LATER = ("apps/v1", "StatefulSet")
"""A kind whose pods start without a label: Kueue holds them with its scheduling gate until it has labelled them."""
SUSPEND = (
    ("spec", "suspend"),
    ("spec", "runPolicy", "suspend"),
    ("spec", "rayClusterConfig", "suspend"),
)
"""Fields that suspend kinds with a queue."""
RUNS_JOBS = ("batch/v1", "Job")
RECOUNTED_ON_CHANGE = ("JobSet", "MPIJob", "RayCluster", *IN_OPTION)
KEPT = ("AppWrapper", "RayJob", "TrainJob")
"""Kinds that must not change while they run: their pods are defined elsewhere, or created again after a failure."""
SUSPEND_OF = dict.fromkeys(("MPIJob", *IN_OPTION), "spec.runPolicy.suspend")
SUSPEND_OF_OTHERS = "spec.suspend"
DOUBLED = "RayService"
CLUSTER_OF = RAY_CLUSTERS["RayService"]
SUBMITS_TO = ("RayJob", "clusterSelector")
NUMBERED = "StatefulSet"
ELASTIC = ELASTIC_ANNOTATION
"""The annotation of workloads that Kueue counts again when they grow; a RayCluster inherits it from its RayJob.

Kueue (v0.19.2, `EnsureWorkloadSlices`) then compares only the number of pods, never the requests of each."""
MOST_TEMPLATES = 16
"""Maximum pod templates of one object: Kueue counts at most eight."""
ELASTIC_PART = "RayCluster"
PREBUILT, GROUP = "kueue.x-k8s.io/prebuilt-workload-name", POD_GROUP_LABEL
"""Labels, and annotations since Kueue 0.18: the workload of an object, and the group of a pod."""
OF_SETS = ("leaderworkerset-", "statefulset-")
"""Name prefixes of workloads that Kueue creates for several pods, and to which it admits later pods."""
PARENT = "kueue.x-k8s.io/pod-suspending-parent"
"""The annotation of pods that names the Kueue-managed kind that holds them: Kueue does not check such a pod
in any other way."""
GROUPS_NAME = "leaderworkerset.sigs.k8s.io/name"
"""The label of pods of a LeaderWorkerSet: if none of that name exists, Kueue removes their gate."""
BY_GROUPS = "leaderworkerset.x-k8s.io/leaderworkerset"
HOLDS: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("deployment",),
    "ReplicaSet": ("deployment",),
    "StatefulSet": ("statefulset",),
    "LeaderWorkerSet": (BY_GROUPS,),
}
"""The values that Kueue sets there in templates, by kind."""
MAKES: Mapping[str, tuple[str, ...]] = {
    "ReplicaSet": ("deployment",),
    "StatefulSet": ("statefulset", BY_GROUPS),
}
"""The values that pods have there, by the kind that created them."""
MAKES_SETS = ("LeaderWorkerSet", "Pod")
"""Owners of the StatefulSets of a LeaderWorkerSet: itself and its leaders."""
ROLE = "kueue.x-k8s.io/role-hash"
TIME = "kueue.x-k8s.io/max-exec-time-seconds"
ORPHAN = "orphan"
"""The finalizer with which dependents stay when the object is deleted."""
ENDS = "foregroundDeletion"
"""The finalizer with which an object is deleted after its pods."""
ROLE_FIELDS = {
    kind.rpartition("/")[2]: str(KINDS[kind].places[0].at[1]) for kind in OPTIONAL.values()
}
"""The field with the replicas of these kinds, by role."""
ITSELF = "it"
ITS_JOBS = "its spec.jobTemplate"
ITS_PODS = "its spec.template"


def check_queueing(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """GPUs that bypass every queue, or exceed what a queue has counted."""
    integrated = {f"kubeflow.org/{workload.kind}"} & {*parameters.integrations}
    by_pod = workload.kind in IN_OPTION and not integrated  # each of its pods is queued by itself
    if not by_pod:
        yield from _past_queues(workload, parameters)
    yield from _joins(workload, parameters)
    yield from _timed(workload)
    yield from _check_parents(workload)
    if by_pod:
        return
    yield from _keeps_pods(workload, parameters)
    yield from _of_ray(workload)
    yield from _in_unknown_roles(workload)
    yield from check_remaining_pods(workload)
    if workload.previous:
        yield from _part(workload, workload.previous, parameters)
        yield from _past_count(workload, workload.previous, parameters)


def _joins(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Objects that name an admitted workload: Kueue starts them, however many there are.

    Templates of kinds that Kueue ignores become pods as well: a controller creates them with the
    labels of a member. Kueue itself labels existing pods.
    """
    owned_pod = (
        workload.kind == "Pod" and workload.previous is None and owner_kinds(workload.metadata)
    )
    if workload.by_controller and (not owned_pod or _owner_queues(workload.metadata, parameters)):
        return
    before = _named_workloads(workload.previous) if workload.previous else []
    for name in _named_workloads(workload):
        if name not in before:
            yield new_violation("queued.JOINS", ("metadata",), kind=workload.kind, name=name)


def _timed(workload: Workload) -> Iterator[Violation]:
    """Pods of a group with Kueue's maximum execution time; Kueue itself adds groups to pods of sets."""
    if workload.previous and workload.by_controller:
        return
    for pod in workload.pods:
        labels = mapping(pod.metadata.get("labels"))
        group = text(mapping(pod.metadata.get("annotations")).get(GROUP)) or text(labels.get(GROUP))
        if group and text(labels.get(TIME)):
            yield new_violation(
                "queued.TIMED", (*pod.path, "metadata", "labels", TIME), group=group, time=TIME
            )


def _check_parents(workload: Workload) -> Iterator[Violation]:
    """If the declared parent of a pod does not exist, Kueue removes the pod's gate (`UngateAndFinalizePod`)."""
    before = _parents(workload.previous) if workload.previous else []
    makers = [kind for _, kind in owner_kinds(workload.metadata)] if workload.by_controller else []
    if workload.kind == "Pod":
        mine = [parent for kind in makers for parent in MAKES.get(kind, ())]
    else:
        mine = [*HOLDS.get(workload.kind, ())]
        if workload.kind == "StatefulSet" and any(kind in MAKES_SETS for kind in makers):
            mine.append(BY_GROUPS)
    for parent in _parents(workload):
        if parent not in mine and parent not in before:
            yield new_violation("queued.HELD", ("metadata",), kind=workload.kind, parent=parent)


def _parents(workload: Workload) -> list[str]:
    metadata = [pod.metadata for pod in workload.pods]
    annotated = [text(mapping(each.get("annotations")).get(PARENT)) for each in metadata]
    groups = [BY_GROUPS for each in metadata if GROUPS_NAME in mapping(each.get("labels"))]
    return [*filter(None, annotated), *groups]


def _named_workloads(workload: Workload) -> list[str]:
    """Kueue workloads that the object, its jobs and its pods name."""
    own = () if workload.kind == "Pod" else (workload.metadata, workload.jobs_metadata)
    label_maps = [
        mapping(metadata.get(part))
        for part in ("labels", "annotations")
        for metadata in (*own, *(pod.metadata for pod in workload.pods))
    ]
    prebuilt = (text(each.get(PREBUILT)) for each in label_maps)
    groups = (text(each.get(GROUP)) for each in label_maps)
    return [*filter(None, prebuilt), *(name for name in groups if name.startswith(OF_SETS))]


def _keeps_pods(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Pods of a gang are counted only with it: they run uncounted if they stay after its deletion."""
    has_queue_label = workload.kind in OF_ITSELF[1:]
    part = workload.kind != "Pod" and _owner_queues(workload.metadata, parameters)
    if not (has_queue_label or part) or workload.by_controller:
        return
    before = _finalizers(workload.previous) if workload.previous else []
    for name in _finalizers(workload):
        if name == ENDS or name in before:
            continue
        problem = "queued.KEEPS_PODS" if name == ORPHAN else "queued.STAYS_ITSELF"
        yield new_violation(problem, ("metadata", "finalizers"), kind=workload.kind, name=name)
    if part and workload.previous and _owners(workload) - _owners(workload.previous):
        for _, owner, name, _ in controller_references(workload.metadata).values():
            path = ("metadata", "ownerReferences")
            yield new_violation(
                "queued.SECOND_OWNER", path, kind=workload.kind, owner=owner, name=name
            )


def _owners(workload: Workload) -> set[str]:
    owners = items(workload.metadata.get("ownerReferences"))
    return {text(mapping(each).get("uid")) for each in owners}


def _finalizers(workload: Workload) -> list[str]:
    return [text(each) for each in items(workload.metadata.get("finalizers"))]


def _of_ray(workload: Workload) -> Iterator[Violation]:
    """Pods that KubeRay creates for a Ray cluster in addition to those that Kueue counts."""
    before = workload.previous.body.get("spec") if workload.previous else None
    same = before is not None and before == workload.body.get("spec")
    if workload.by_controller or same or workload.kind not in RAY_CLUSTERS:
        return
    cluster = RAY_CLUSTERS[workload.kind]
    for index, each in enumerate(items(mapping(workload.body, *cluster).get("workerGroupSpecs"))):
        group = mapping(each)
        path: Path = (*cluster, "workerGroupSpecs", index)
        known_value(group.get("replicas"))
        counted = read_pod_count(group, "replicas", 1)
        least = read_pod_count(group, "minReplicas", 0)
        of_group = (pod for pod in workload.pods if pod.path[:-1] == path)
        if counted < least and any(map(requests_gpus, of_group)):
            values = {"counted": str(counted), "least": str(least)}
            yield new_violation(
                "queued.LEAST", (*path, "replicas"), group=text(group.get("groupName")), **values
            )
    kind, selector = SUBMITS_TO
    chosen = workload.kind == kind and mapping(workload.body, "spec", selector)
    if chosen and any(map(requests_gpus, workload.pods)):
        yield new_violation("queued.SUBMITS", ("spec", selector), kind=workload.kind)


def _in_unknown_roles(workload: Workload) -> Iterator[Violation]:
    field, known = ROLE_FIELDS.get(workload.kind, ""), ROLES.get(workload.kind, ())
    for role in mapping(workload.body, "spec", field) if field else ():
        if role not in known:
            values = {"role": str(role), "kind": workload.kind, "roles": ", ".join(known)}
            yield new_violation("queued.UNCOUNTED", ("spec", field, str(role)), **values)


def _past_count(
    workload: Workload, was: Workload, parameters: TeamParameters
) -> Iterator[Violation]:
    queues = _names_queue(workload.metadata) or _names_queue(was.metadata)
    elastic = workload.kind != "Pod" and (_elastic(workload) or _elastic(was))
    once = elastic or (queues and workload.kind in COUNTED_ONCE)
    claims = queues and not workload.by_controller and _claims_others(workload, was)
    if claims or (once and _requested(workload) != _requested(was)):
        yield new_violation("queued.GROWS", ("spec",), kind=workload.kind)
    if elastic and _gated(workload) < _gated(was) and not _taken_back(workload, was):
        yield new_violation("queued.UNGATED", ("spec",), kind=workload.kind, gate=ELASTIC)
    if not queues:
        return
    if _renumbered(workload, was):
        yield new_violation("queued.RENUMBERED", ("spec", "ordinals"), kind=workload.kind)
    if not workload.by_controller:
        yield from _raised(workload, was, elastic=elastic)
        if not was.suspended:
            yield from _changed_while_it_runs(workload, was, parameters)
    started = was.suspended and not workload.suspended and not workload.by_controller
    if started and workload.kind in OF_ITSELF:
        yield new_violation("queued.STARTS", ("spec",), kind=workload.kind)


def _claims_others(workload: Workload, was: Workload) -> bool:
    """Whether the pods of a workload use other claims: Kueue (v0.19.2, `comparePodTemplate`) ignores claims."""
    now, before = (
        [items(pod.spec.get("resourceClaims")) for pod in each.pods] for each in (workload, was)
    )
    return workload.kind in OF_ITSELF[1:] and len(now) == len(before) and now != before


def _taken_back(workload: Workload, was: Workload) -> bool:
    """Whether Kueue restores a suspended Job that stays suspended; without a gate it gets no more pods."""
    waits = was.suspended and workload.suspended
    return waits and workload.by_controller and _version_and_kind(workload) == RUNS_JOBS


def _renumbered(workload: Workload, was: Workload) -> bool:
    first = [mapping(each.body.get("spec"), "ordinals").get("start", 0) for each in (workload, was)]
    counted = any(map(requests_gpus, (*workload.pods, *was.pods)))
    return workload.kind == NUMBERED and counted and first[0] != first[1]


def _changed_while_it_runs(
    workload: Workload, was: Workload, parameters: TeamParameters
) -> Iterator[Violation]:
    if workload.kind == DOUBLED and any(map(requests_gpus, (*workload.pods, *was.pods))):
        before, after = (_without_suspend(each) for each in (was, workload))
        if before != after:
            yield new_violation("queued.RENEWED", CLUSTER_OF, kind=workload.kind)
    if workload.suspended:
        return
    if _reruns(workload, was, parameters):
        field = SUSPEND_OF.get(workload.kind, SUSPEND_OF_OTHERS)
        yield new_violation("queued.RERUN", ("spec",), kind=workload.kind, field=field)


def _without_suspend(service: Workload) -> dict[str, Any]:
    cluster = mapping(service.body, *CLUSTER_OF)
    return {key: value for key, value in cluster.items() if key != "suspend"}


def _reruns(workload: Workload, was: Workload, parameters: TeamParameters) -> bool:
    """Whether a kind of another project would run pods that were not counted."""
    if _owner_queues(was.metadata, parameters):
        return False
    if workload.kind in KEPT:
        needs_gpus = workload.kind in UNSEEN or any(map(requests_gpus, (*workload.pods, *was.pods)))
        return needs_gpus and workload.body.get("spec") != was.body.get("spec")
    if workload.kind not in RECOUNTED_ON_CHANGE or (_elastic(was) and _gated(was)):
        return False
    before, after = _requests_by_template(was), _requests_by_template(workload)
    return any(
        path not in before or _is_more(result, before[path]) for path, result in after.items()
    )


def _requests_by_template(workload: Workload) -> dict[Path, tuple[int, Any]]:
    """The number of pods of each template with GPU requests, and the requests."""
    kind = next(name for name in OF_OTHER_PROJECTS if name.endswith(f"/{workload.kind}"))
    many = {each.path[:-1]: each.pod_count for each in templates_of(KINDS[kind], workload.body)}
    return {
        pod.path: (many[pod.path], _asked_of(pod)) for pod in filter(requests_gpus, workload.pods)
    }


def _is_more(results: tuple[int, Any], before: tuple[int, Any]) -> bool:
    return results[0] > before[0] or results[1] != before[1]


def _raised(workload: Workload, was: Workload, *, elastic: bool) -> Iterator[Violation]:
    """More pods of a Job that runs, or is elastic without a gate, which would hold them until they are counted."""
    queues = _names_queue(was.metadata) and not (_elastic(was) and _gated(was))
    waits = (was.suspended or workload.suspended) and not elastic
    if _version_and_kind(workload) != RUNS_JOBS or not queues or waits:
        return
    counted, parallelism = _runs_at_once(was), _runs_at_once(workload)
    if parallelism > counted and any(map(requests_gpus, workload.pods)):
        problem = "queued.RAISED_UNGATED" if elastic else "queued.RAISED"
        yield new_violation(
            problem, ("spec", "parallelism"), counted=str(counted), wanted=str(parallelism)
        )


def _version_and_kind(workload: Workload) -> tuple[str, str]:
    return text(workload.body.get("apiVersion")), workload.kind


def _runs_at_once(job: Workload) -> int:
    """Maximum pods of a Job at the same time."""
    spec = mapping(job.body.get("spec"))
    parallelism = int(spec.get("parallelism", 1))
    return min(parallelism, int(spec.get("completions", parallelism)))


def _part(workload: Workload, was: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """Changes to a part of a workload: Kueue counts only the whole, and does not see how many pods its parts run."""
    elastic = [_elastic(each) for each in (workload, was)]
    same = workload.body.get("spec") == was.body.get("spec") and elastic[0] == elastic[1]
    is_recounted = workload.kind == ELASTIC_PART and all(elastic)
    if workload.by_controller or workload.kind == "Pod" or same or is_recounted:
        return
    if any(map(requests_gpus, (*workload.pods, *was.pods))):
        for version, owner, name, _ in controller_references(was.metadata).values():
            if _queues_for_theirs(version, owner, parameters):
                yield new_violation(
                    "queued.PART", ("spec",), kind=workload.kind, owner=owner, name=name
                )


def _elastic(workload: Workload) -> bool:
    return text(mapping(workload.metadata.get("annotations")).get(ELASTIC)) == "true"


def _gated(workload: Workload) -> int:
    """Number of its templates with Kueue's scheduling gate."""
    gates = (items(pod.spec.get("schedulingGates")) for pod in workload.pods if requests_gpus(pod))
    return sum(ELASTIC in [text(mapping(gate).get("name")) for gate in each] for each in gates)


def _requested(workload: Workload) -> list[Any]:
    """What Kueue would have to count: the GPU requests by container, and which containers run in parallel."""
    return [_asked_of(pod) if requests_gpus(pod) else () for pod in workload.pods]


def _asked_of(pod: Pod) -> Any:
    return _first_ones(pod), _gpus(pod)


def _first_ones(pod: Pod) -> list[str]:
    return [text(mapping(each).get("name")) for each in items(pod.spec.get("initContainers"))]


def _gpus(pod: Pod) -> dict[str, Any]:
    return {
        text(container.get("name")): (
            text(container.get("restartPolicy")),
            {
                (part, str(key)): str(known_value(value))
                for part in ("limits", "requests")
                for key, value in mapping(container.get("resources"), part).items()
                if str(key).startswith(GPU_PREFIXES)
            },
        )
        for _, container in pod.containers()
    }


def _past_queues(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    if workload.kind not in (*OF_ITSELF, CRON, *OF_PODS) or parameters.has_default:
        return
    unseen = workload.kind in UNSEEN
    if _owner_queues(workload.metadata, parameters) or not (
        unseen or any(map(requests_gpus, workload.pods))
    ):
        return
    path, metadata, place = _label(workload)
    if not (_names_queue(metadata) or _passed_on(workload) or _held_by_kueue(workload)):
        yield new_violation(
            "queued.UNKNOWN" if unseen else "queued.NO_QUEUE",
            (*path, "metadata", "labels", QUEUE_LABEL),
            kind=workload.kind,
            place=place,
            queue=parameters.queues[0],
        )


def _names_queue(metadata: Mapping[str, Any]) -> bool:
    return bool(text(mapping(metadata.get("labels")).get(QUEUE_LABEL)))


def _passed_on(workload: Workload) -> bool:
    return workload.kind in PASSED_ON and _names_queue(workload.metadata)


def _held_by_kueue(workload: Workload) -> bool:
    """Whether it is a pod that cannot start before Kueue has labelled it."""
    if workload.kind != "Pod":
        return False
    gates = (mapping(each) for each in items(workload.pods[0].spec.get("schedulingGates")))
    return LABELS_LATER in owner_kinds(workload.metadata) and any(
        text(gate.get("name")) == QUEUE_GATE for gate in gates
    )


def _label(workload: Workload) -> tuple[Path, Mapping[str, Any], str]:
    if workload.kind in OF_PODS:
        pod = workload.pods[0]
        return pod.path, pod.metadata, ITS_PODS
    if workload.kind == CRON:
        return ("spec", "jobTemplate"), workload.jobs_metadata, ITS_JOBS
    return (), workload.metadata, ITSELF


def _owner_queues(metadata: Mapping[str, Any], parameters: TeamParameters) -> bool:
    """Whether its controller is a kind that Kueue queues as a whole."""
    return any(
        _queues_for_theirs(version, kind, parameters) for version, kind in owner_kinds(metadata)
    )


def _queues_for_theirs(version: str, kind: str, parameters: TeamParameters) -> bool:
    return f"{version.partition('/')[0]}/{kind}" in (
        *QUEUE_FOR_THEIRS,
        *parameters.integrations,
    )
