"""Queue labels of workloads with GPU requests, so that Kueue counts them."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.admission.bypass import requests_gpus
from gpuyard_core.admission.owned_objects import controller_references, owner_kinds
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.admission.remaining_pods import check_remaining_pods
from gpuyard_core.admission.requirement import ViolationTemplate, Workload
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, known_value, mapping, text
from gpuyard_core.manifests.pods import GPU_PREFIXES, Pod
from gpuyard_core.manifests.quantities import Violation
from gpuyard_core.manifests.queued import INTEGRATIONS, OPTIONAL, QUEUED_KINDS, ROLES
from gpuyard_core.manifests.templates import KINDS, read_pod_count, templates_of
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
NO_QUEUE = ViolationTemplate(
    "this {kind} requests GPUs but names no queue", f"label {{place}} {QUEUE_LABEL}: {{queue}}"
)
UNKNOWN = ViolationTemplate(
    "this {kind} names no queue, and the pods it runs are defined elsewhere and may request GPUs",
    f"label it {QUEUE_LABEL}: {{queue}}",
)
GROWS = ViolationTemplate(
    "Kueue counted the GPUs of this {kind} at its creation and does not count a change",
    "delete it and create it again with the GPUs that it needs",
)
SCALED = ViolationTemplate(
    "Kueue counted {name} with {counted} replicas and does not count a change to {wanted}",
    "delete it and create it again with the replicas that it needs",
)
"""For a StatefulSet: a scale request has a number and a name, but no kind."""
OF_ANOTHER = ViolationTemplate(
    "{name} is part of LeaderWorkerSet {owner}, which Kueue counted as a whole",
    "scale the LeaderWorkerSet",
)
CLAIMED = ViolationTemplate(
    "pods of workload {workload} claim devices through {name}; Kueue counted them from its content",
    "delete the workload that uses it first",
)
"""Kueue (v0.19.2, `pkg/dra`) reads the template when it counts, Kubernetes when it creates each claim."""
RAISED = ViolationTemplate(
    "this running Job was counted with pods: {counted}; the change would run {wanted}",
    "set suspend: true in the same change; Kueue then counts it again and restarts it",
)
RAISED_UNGATED = ViolationTemplate(
    "pods of this elastic Job have no scheduling gate: Kueue counted at most {counted}, and "
    "{wanted} would run",
    "do not change spec.parallelism and spec.completions, or delete the Job and create it again",
)
RUNS_JOBS = ("batch/v1", "Job")
RECOUNTED_ON_CHANGE = ("JobSet", "MPIJob", "RayCluster", *IN_OPTION)
KEPT = ("AppWrapper", "RayJob", "TrainJob")
"""Kinds that must not change while they run: their pods are defined elsewhere, or created again after a failure."""
RERUN = ViolationTemplate(
    "this {kind} is running, and Kueue has not counted what the change would run",
    "set {field}: true in the same change; Kueue then counts it again and restarts it",
)
SUSPEND_OF = dict.fromkeys(("MPIJob", *IN_OPTION), "spec.runPolicy.suspend")
SUSPEND_OF_OTHERS = "spec.suspend"
DOUBLED = "RayService"
CLUSTER_OF: tuple[str, ...] = ("spec", "rayClusterConfig")
RENEWED = ViolationTemplate(
    "this {kind} is running, and KubeRay creates a second cluster for this change; Kueue counted "
    "only one",
    "do not change spec.rayClusterConfig, or delete the object and create it again",
)
RAY_GROUPS: Mapping[str, tuple[str, ...]] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": CLUSTER_OF,
}
LEAST = ViolationTemplate(
    "worker group {group} has replicas: {counted}, which Kueue counts, but KubeRay creates "
    "minReplicas: {least}",
    "set replicas: {least}",
)
"""Kueue (v0.19.2) reads replicas, KubeRay (1.6, `GetWorkerGroupDesiredReplicas`) uses the larger value."""
SUBMITS_TO = ("RayJob", "clusterSelector")
SUBMITS = ViolationTemplate(
    "this {kind} uses an existing Ray cluster, so Kueue does not count its own requests",
    "remove the GPU request of its submitter pod; the work runs in that cluster",
)
"""Kueue (v0.19.2, `Skip` of its RayJob) ignores such a RayJob, and the Job that it creates."""
RENUMBERED = ViolationTemplate(
    "Kueue counted pods of this {kind} by their ordinals; a change would run additional pods",
    "do not change spec.ordinals, or delete the object and create it again",
)
"""For a StatefulSet: pods with new ordinals are created first; old ones are deleted when all new ones have
been ready for minReadySeconds. Kueue starts all of them."""
NUMBERED = "StatefulSet"
PART = ViolationTemplate(
    "this {kind} is part of {owner} {name}, which Kueue counted as a whole",
    "do not change its spec; delete {owner} {name} and create it again with what it needs",
)
ELASTIC = ELASTIC_ANNOTATION
"""The annotation of workloads that Kueue counts again when they grow; a RayCluster inherits it from its RayJob.

Kueue (v0.19.2, `EnsureWorkloadSlices`) then compares only the number of pods, never the requests of each."""
UNGATED = ViolationTemplate(
    "scheduling gate {gate} holds pods of this {kind} until Kueue counts them; without it they "
    "start uncounted",
    "do not change spec.schedulingGates of its templates",
)
"""For elastic workloads that wait: Kueue adds the gate at creation, and never again.

The rule applies to Kueue's own changes as well, except for a Job that stays suspended. Kueue finds workloads
by their owner's name (v0.19.2, `FindNotFinishedWorkloads`): it takes the workload of a deleted Job of the same
name for the new Job's, and writes the old template into the new Job before it releases the old workload. If
that were denied, Kueue would retry forever."""
MOST_TEMPLATES = 16
"""Maximum pod templates of one object: Kueue counts at most eight."""
ELASTIC_PART = "RayCluster"
JOINS = ViolationTemplate(
    "this {kind} names workload {name}, which Kueue counted for other pods",
    "remove the label or annotation, or give the group a unique name",
)
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
HELD = ViolationTemplate(
    "this {kind} declares {parent} as its parent, which does not count its pods and may start them",
    f"remove the annotation {PARENT} and the label {GROUPS_NAME}",
)
ROLE = "kueue.x-k8s.io/role-hash"
TIME = "kueue.x-k8s.io/max-exec-time-seconds"
TIMED = ViolationTemplate(
    "pods of group {group} set {time}: if its values differ, Kueue deletes their workload while "
    "they run",
    "remove the label and set spec.activeDeadlineSeconds in the pods",
)
"""Kueue (v0.19.2, `FindMatchingWorkloads`) compares the workload with an arbitrary pod of the group."""
STARTS = ViolationTemplate(
    "this {kind} is queued, and Kueue starts it once admitted", "do not change suspend"
)
ORPHAN = "orphan"
"""The finalizer with which dependents stay when the object is deleted."""
KEEPS_PODS = ViolationTemplate(
    "with the finalizer orphan, pods of this {kind} continue to run uncounted after it is deleted",
    "remove the finalizer",
)
STAYS_ITSELF = ViolationTemplate(
    "with the finalizer {name}, this {kind} and its pods stay after its deletion, when Kueue no "
    "longer counts them",
    "remove the finalizer",
)
SECOND_OWNER = ViolationTemplate(
    "with a second owner, this {kind} stays after {owner} {name} is deleted, and its pods run "
    "uncounted",
    "remove the added owner from metadata.ownerReferences",
)
"""For parts of a workload: the garbage collector deletes an object with several owners only when all are gone."""
ENDS = "foregroundDeletion"
"""The finalizer with which an object is deleted after its pods."""
LEAVES_PODS = ViolationTemplate(
    "this deletion orphans the pods of this {kind}: they continue to run uncounted",
    "delete with propagationPolicy Background, the default of kubectl delete",
)
LEFT_BY_DEFAULT = "Job"
"""The kind whose pods stay if a deletion sets no policy, as in the first versions of its API."""
ROLE_FIELDS = {
    kind.rpartition("/")[2]: str(KINDS[kind].places[0].at[1]) for kind in OPTIONAL.values()
}
"""The field with the replicas of these kinds, by role."""
UNCOUNTED = ViolationTemplate(
    "Kueue counts no pods of role {role} of this {kind}", "name the role as one of {roles}"
)
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
            yield JOINS.fill_in(("metadata",), kind=workload.kind, name=name)


def _timed(workload: Workload) -> Iterator[Violation]:
    """Pods of a group with Kueue's maximum execution time; Kueue itself adds groups to pods of sets."""
    if workload.previous and workload.by_controller:
        return
    for pod in workload.pods:
        labels = mapping(pod.metadata.get("labels"))
        group = text(mapping(pod.metadata.get("annotations")).get(GROUP)) or text(labels.get(GROUP))
        if group and text(labels.get(TIME)):
            yield TIMED.fill_in((*pod.path, "metadata", "labels", TIME), group=group, time=TIME)


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
            yield HELD.fill_in(("metadata",), kind=workload.kind, parent=parent)


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
        message = KEEPS_PODS if name == ORPHAN else STAYS_ITSELF
        yield message.fill_in(("metadata", "finalizers"), kind=workload.kind, name=name)
    if part and workload.previous and _owners(workload) - _owners(workload.previous):
        for _, owner, name, _ in controller_references(workload.metadata).values():
            path = ("metadata", "ownerReferences")
            yield SECOND_OWNER.fill_in(path, kind=workload.kind, owner=owner, name=name)


def _owners(workload: Workload) -> set[str]:
    owners = items(workload.metadata.get("ownerReferences"))
    return {text(mapping(each).get("uid")) for each in owners}


def _finalizers(workload: Workload) -> list[str]:
    return [text(each) for each in items(workload.metadata.get("finalizers"))]


def _of_ray(workload: Workload) -> Iterator[Violation]:
    """Pods that KubeRay creates for a Ray cluster in addition to those that Kueue counts."""
    before = workload.previous.body.get("spec") if workload.previous else None
    same = before is not None and before == workload.body.get("spec")
    if workload.by_controller or same or workload.kind not in RAY_GROUPS:
        return
    cluster = RAY_GROUPS[workload.kind]
    for index, each in enumerate(items(mapping(workload.body, *cluster).get("workerGroupSpecs"))):
        group = mapping(each)
        path: Path = (*cluster, "workerGroupSpecs", index)
        known_value(group.get("replicas"))
        counted = read_pod_count(group, "replicas", 1)
        least = read_pod_count(group, "minReplicas", 0)
        of_group = (pod for pod in workload.pods if pod.path[:-1] == path)
        if counted < least and any(map(requests_gpus, of_group)):
            values = {"counted": str(counted), "least": str(least)}
            yield LEAST.fill_in((*path, "replicas"), group=text(group.get("groupName")), **values)
    kind, selector = SUBMITS_TO
    chosen = workload.kind == kind and mapping(workload.body, "spec", selector)
    if chosen and any(map(requests_gpus, workload.pods)):
        yield SUBMITS.fill_in(("spec", selector), kind=workload.kind)


def _in_unknown_roles(workload: Workload) -> Iterator[Violation]:
    field, known = ROLE_FIELDS.get(workload.kind, ""), ROLES.get(workload.kind, ())
    for role in mapping(workload.body, "spec", field) if field else ():
        if role not in known:
            values = {"role": str(role), "kind": workload.kind, "roles": ", ".join(known)}
            yield UNCOUNTED.fill_in(("spec", field, str(role)), **values)


def _past_count(
    workload: Workload, was: Workload, parameters: TeamParameters
) -> Iterator[Violation]:
    queues = _names_queue(workload.metadata) or _names_queue(was.metadata)
    elastic = workload.kind != "Pod" and (_elastic(workload) or _elastic(was))
    once = elastic or (queues and workload.kind in COUNTED_ONCE)
    claims = queues and not workload.by_controller and _claims_others(workload, was)
    if claims or (once and _requested(workload) != _requested(was)):
        yield GROWS.fill_in(("spec",), kind=workload.kind)
    if elastic and _gated(workload) < _gated(was) and not _taken_back(workload, was):
        yield UNGATED.fill_in(("spec",), kind=workload.kind, gate=ELASTIC)
    if not queues:
        return
    if _renumbered(workload, was):
        yield RENUMBERED.fill_in(("spec", "ordinals"), kind=workload.kind)
    if not workload.by_controller:
        yield from _raised(workload, was, elastic=elastic)
        if not was.suspended:
            yield from _changed_while_it_runs(workload, was, parameters)
    started = was.suspended and not workload.suspended and not workload.by_controller
    if started and workload.kind in OF_ITSELF:
        yield STARTS.fill_in(("spec",), kind=workload.kind)


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
            yield RENEWED.fill_in(CLUSTER_OF, kind=workload.kind)
    if workload.suspended:
        return
    if _reruns(workload, was, parameters):
        field = SUSPEND_OF.get(workload.kind, SUSPEND_OF_OTHERS)
        yield RERUN.fill_in(("spec",), kind=workload.kind, field=field)


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
        sentence = RAISED_UNGATED if elastic else RAISED
        yield sentence.fill_in(
            ("spec", "parallelism"), counted=str(counted), wanted=str(parallelism)
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
                yield PART.fill_in(("spec",), kind=workload.kind, owner=owner, name=name)


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
        yield (UNKNOWN if unseen else NO_QUEUE).fill_in(
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
