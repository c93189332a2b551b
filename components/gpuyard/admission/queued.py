"""Queue labels of what asks for GPUs, so that it is counted."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.admission.bypass import requests_gpus
from gpuyard.admission.owner_references import controller_references, owner_kinds
from gpuyard.admission.parameters import TeamParameters
from gpuyard.admission.requirement import Violation, ViolationTemplate, Workload
from gpuyard.findings import Path
from gpuyard.manifests.fields import items, known_value, mapping, text
from gpuyard.manifests.pods import GPU_PREFIXES, Pod
from gpuyard.manifests.queued import QUEUED_KINDS
from gpuyard.manifests.templates import KINDS, count, templates_of
from gpuyard.names import POD_GROUP_LABEL, QUEUE_GATE, QUEUE_LABEL

QUEUE_FOR_THEIRS = tuple(
    kind
    for kind, found in QUEUED_KINDS.items()
    if found.by_default and "/" in kind and not kind.startswith("apps/")
)
"""Kinds, by group, that Kueue queues with all that they make. Each of them has to name a queue itself."""
OF_OTHER_PROJECTS = tuple(kind for kind in QUEUE_FOR_THEIRS if kind != "batch/Job")
"""Those of them that Kubernetes itself does not have."""
OF_ITSELF = ("Pod", *(kind.rpartition("/")[2] for kind in QUEUE_FOR_THEIRS))
"""Kinds whose own label Kueue reads; where the team has a queue called default, Kueue writes it there."""
UNSEEN = ("AppWrapper", "TrainJob")
"""Kinds of these whose pods stand elsewhere: what they ask for is not known when they are made."""
COUNTED_ONCE = ("LeaderWorkerSet", "StatefulSet")
"""Kinds whose pods Kueue counts when they are made: it looks at requests of a template after that, and a
template that has limits alone has none."""
CRON = "CronJob"
OF_PODS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
"""Kinds whose pods queue one by one, by the label of their template."""
PASSED_ON = ("Deployment", "StatefulSet")
"""Of these the kinds whose own label Kueue gives to their pods as well."""
LABELS_LATER = ("apps/v1", "StatefulSet")
"""A kind whose pods come without a label: Kueue holds them by its gate until it has labelled them."""
SUSPEND = (
    ("spec", "suspend"),
    ("spec", "runPolicy", "suspend"),
    ("spec", "rayClusterConfig", "suspend"),
)
"""Where kinds that queue are told to wait."""
NO_QUEUE = ViolationTemplate(
    "this {kind} asks for GPUs and names no queue", f"label {{place}} {QUEUE_LABEL}: {{queue}}"
)
UNKNOWN = ViolationTemplate(
    "what this {kind} runs stands elsewhere and may ask for GPUs, and it names no queue",
    f"label it {QUEUE_LABEL}: {{queue}}",
)
GROWS = ViolationTemplate(
    "what pods of this {kind} ask of GPUs was counted when it was made, and is not counted again",
    "delete it and make it anew with what it needs",
)
SCALED = ViolationTemplate(
    "{name} was counted with {counted} replicas and is not counted again, and {wanted} would run",
    "delete it and make it anew with as many as it needs",
)
"""Of a StatefulSet: the request says a number and a name, and no kind."""
OF_ANOTHER = ViolationTemplate(
    "{name} is a part of the LeaderWorkerSet {owner}, which was counted as a whole",
    "scale the LeaderWorkerSet",
)
CLAIMED = ViolationTemplate(
    "pods of workload {workload} claim devices by {name}, and were counted by what stands in it",
    "delete what uses it first",
)
"""Of a ResourceClaimTemplate that goes: one of its name with more devices could come in its place. Kueue
(v0.19.2, `pkg/dra`) reads it when it counts, and Kubernetes when it makes each pod's claim."""
RAISED = ViolationTemplate(
    "this Job runs and was counted with pods: {counted}, and {wanted} would run",
    "set suspend: true in the same change; it is counted anew and started again",
)
"""Of a Job that runs: Kueue looks at it some time after its controller has made the pods."""
RAISED_UNGATED = ViolationTemplate(
    "pods of this elastic Job wait by no gate: {counted} were counted at most, and {wanted} would run",
    "leave spec.parallelism and spec.completions as they are, or delete it and make it anew",
)
"""Also while it waits: Kueue stops no elastic Job that is ahead of its count."""
RUNS_JOBS = ("batch/v1", "Job")
COUNTED_ANEW = ("JobSet", "MPIJob", "RayCluster")
"""Kinds of other projects whose pods are counted here as they are written."""
KEPT = ("AppWrapper", "RayJob", "TrainJob")
"""Those that stay as they are while they run: what runs stands elsewhere, or is made anew when it fails."""
RERUN = ViolationTemplate(
    "this {kind} runs, and what it would run after this change was not counted",
    "set {field}: true in the same change; it is counted anew and started again",
)
"""Of kinds of other projects: their controllers may make pods before Kueue has seen the change."""
SUSPEND_OF = {"MPIJob": "spec.runPolicy.suspend"}
SUSPEND_OF_OTHERS = "spec.suspend"
DOUBLED = "RayService"
CLUSTER_OF: tuple[str, ...] = ("spec", "rayClusterConfig")
RENEWED = ViolationTemplate(
    "this {kind} runs, and for a changed cluster KubeRay makes a second one beside it: one was counted",
    "leave spec.rayClusterConfig as it is, or delete it and make it anew",
)
"""Of a RayService, also where it is told to wait: the first cluster would run on."""
RAY_GROUPS: Mapping[str, tuple[str, ...]] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": CLUSTER_OF,
}
"""Where kinds have a Ray cluster."""
LEAST = ViolationTemplate(
    "worker group {group} has replicas: {counted}, which queues count, and minReplicas: {least}, of which"
    " KubeRay makes as many",
    "write replicas: {least}",
)
"""Kueue (v0.19.2, `effectiveWorkerCount`) reads replicas, and KubeRay (1.6, `GetWorkerGroupDesiredReplicas`)
whichever is more."""
SUBMITS_TO = ("RayJob", "clusterSelector")
SUBMITS = ViolationTemplate(
    "this {kind} uses a Ray cluster that is there, so that no queue counts what it asks for itself",
    "let the pod that submits it ask for no GPU: the work runs in that cluster",
)
"""Kueue (v0.19.2, `Skip` of its RayJob) passes over such a RayJob, and over the Job that it makes as well."""
OUTLIVES = ViolationTemplate(
    "pods of this {kind} stay when it is over, and run on although no queue counts them any more",
    "write {field}",
)
"""Kueue (v0.19.2, `Finished`) gives back what was counted with the last word of the job."""
CLEANS: tuple[str, ...] = ("spec", "runPolicy", "cleanPodPolicy")
CLEANED = ("Running", "All")
STAYS_FOR: tuple[str, ...] = ("spec", "ttlSecondsAfterFinished")
LONGEST_STAY = 60
OUTLIVING: Mapping[str, tuple[tuple[str, ...], str]] = {
    "MPIJob": (CLEANS, f"{'.'.join(CLEANS)}: {CLEANED[0]}"),
    "RayJob": (STAYS_FOR, f"{'.'.join(STAYS_FOR)}: {LONGEST_STAY} at most"),
}
"""By kind where it says what becomes of its pods. Without a word the MPI operator (v0.8.2) leaves workers as
they are, and KubeRay (v1.6.2) keeps the whole cluster for so many seconds after the end."""
STRATEGY: tuple[str, ...] = ("spec", "deletionStrategy")
NO_STRATEGY = "spec.shutdownAfterJobFinishes: true, and remove spec.deletionStrategy"
"""With DeleteWorkers KubeRay (v1.6.2, `handleLegacyDeletionPolicy`) keeps the head of a RayJob, and with any
policy the whole cluster of one that is neither successful nor failed, as past activeDeadlineSeconds."""
RENUMBERED = ViolationTemplate(
    "pods of this {kind} were counted with the numbers that they have, and new ones would run beside them",
    "leave spec.ordinals as it is, or delete it and make it anew",
)
"""Of a StatefulSet: pods with other numbers come first, and those that have none any more go when all of
these are ready and have been for minReadySeconds. Kueue starts them all."""
NUMBERED = "StatefulSet"
PART = ViolationTemplate(
    "this {kind} is a part of {owner} {name}, which was counted as a whole",
    "leave its spec as it is, and make {owner} {name} anew with what it needs",
)
ELASTIC = "kueue.x-k8s.io/elastic-job"
"""The annotation of what Kueue counts anew when it grows; a RayCluster has it of the RayJob that made it.

Kueue (v0.19.2) then looks at how many pods there are, and never again at what each asks for
(`EnsureWorkloadSlices` in `pkg/workloadslicing`)."""
UNGATED = ViolationTemplate(
    "pods of this {kind} wait by the gate {gate} until they are counted, and would start without it",
    "leave spec.schedulingGates of its templates as they are",
)
"""Of what is elastic and waits: Kueue puts the gate in when it is made, and never again.

Kueue is told so itself, but for a Job that waits on. It finds workloads by their owner's name (v0.19.2,
`FindNotFinishedWorkloads`): that of a Job of this name which has just gone it takes for the new one's, and
writes the old template into the new Job before it lets the old workload go. Refused, it came back for
ever."""
MOST_TEMPLATES = 16
"""Of pods, in one object: Kueue counts no more than eight."""
ELASTIC_PART = "RayCluster"
JOINS = ViolationTemplate(
    "this {kind} names the workload {name}: it would run beside what that was counted for",
    "take out the label or annotation, or give the group a name of its own",
)
PREBUILT, GROUP = "kueue.x-k8s.io/prebuilt-workload-name", POD_GROUP_LABEL
"""Labels, and annotations since Kueue 0.18: the workload of something, and the group that a pod is of."""
OF_SETS = ("leaderworkerset-", "statefulset-")
"""How names of workloads begin that Kueue makes of several pods, and to which it lets pods come later."""
PARENT = "kueue.x-k8s.io/pod-suspending-parent"
"""The annotation of pods that says which kind of Kueue's holds them: it looks at such a pod no other way."""
GROUPS_NAME = "leaderworkerset.sigs.k8s.io/name"
"""The label of pods of a LeaderWorkerSet: where there is none of that name, Kueue takes out their gate."""
BY_GROUPS = "leaderworkerset.x-k8s.io/leaderworkerset"
HOLDS: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("deployment",),
    "ReplicaSet": ("deployment",),
    "StatefulSet": ("statefulset",),
    "LeaderWorkerSet": (BY_GROUPS,),
}
"""What Kueue writes there into templates of a kind."""
MAKES: Mapping[str, tuple[str, ...]] = {
    "ReplicaSet": ("deployment",),
    "StatefulSet": ("statefulset", BY_GROUPS),
}
"""What pods have there, by the kind that made them."""
MAKES_SETS = ("LeaderWorkerSet", "Pod")
"""What makes the StatefulSets of a LeaderWorkerSet: itself, and its leaders."""
HELD = ViolationTemplate(
    "this {kind} says that its pods wait for {parent}, which does not count them, and may start them",
    f"take out the annotation {PARENT} and the label {GROUPS_NAME}",
)
ROLE = "kueue.x-k8s.io/role-hash"
TIME = "kueue.x-k8s.io/max-exec-time-seconds"
TIMED = ViolationTemplate(
    "pods of group {group} set {time}: where they differ in it Kueue deletes their workload while they run",
    "remove the label and set spec.activeDeadlineSeconds in the pods",
)
"""Kueue (v0.19.2, `FindMatchingWorkloads`) compares the workload with one pod of the group, any of them."""
STARTS = ViolationTemplate(
    "this {kind} stands in a queue, which starts it when its turn comes", "leave suspend as it is"
)
ORPHAN = "orphan"
"""The finalizer by which what an object made stays when that goes."""
KEEPS_PODS = ViolationTemplate(
    "with the finalizer orphan pods of this {kind} run on when it is deleted, and no queue counts them",
    "remove the finalizer",
)
STAYS_ITSELF = ViolationTemplate(
    "with the finalizer {name} this {kind} stays when it is deleted, and its pods run on: Kueue takes it for"
    " gone",
    "remove the finalizer",
)
SECOND_OWNER = ViolationTemplate(
    "with a second owner this {kind} stays when {owner} {name} is deleted, and its pods run without being"
    " counted",
    "remove the owner that was added to metadata.ownerReferences",
)
"""Of a part: the garbage collector deletes what has several owners when all of them are gone."""
ENDS = "foregroundDeletion"
"""The finalizer with which an object goes after its pods."""
LEAVES_PODS = ViolationTemplate(
    "so deleted this {kind} leaves its pods behind: they run on, and no queue counts them",
    "delete them with it: propagationPolicy Background, which kubectl delete has by itself",
)
LEFT_BY_DEFAULT = "Job"
"""The kind whose pods stay where a deletion says nothing of them, as in the first versions of its API."""
ITSELF = "it"
ITS_JOBS = "its spec.jobTemplate"
ITS_PODS = "its spec.template"


def check_queueing(workload: Workload, parameters: TeamParameters) -> Iterator[Violation]:
    """GPUs past every queue, and past what a queue has counted."""
    yield from _past_queues(workload, parameters)
    yield from _joins(workload)
    yield from _timed(workload)
    yield from _check_parents(workload)
    yield from _keeps_pods(workload)
    yield from _of_ray(workload)
    yield from _outlives(workload)
    if workload.was:
        yield from _part(workload, workload.was)
        yield from _past_count(workload, workload.was)


def _joins(workload: Workload) -> Iterator[Violation]:
    """Kueue starts whatever says that it is of a workload that was admitted, however many there are of it.

    Templates of kinds that nobody looks at become pods as well: a controller makes them, with a member's
    labels. Kueue itself labels pods that are there.
    """
    owned_pod = workload.kind == "Pod" and workload.was is None and owner_kinds(workload.metadata)
    if workload.by_controller and (not owned_pod or _owner_queues(workload.metadata)):
        return
    before = _named_workloads(workload.was) if workload.was else []
    for name in _named_workloads(workload):
        if name not in before:
            yield JOINS.violation(("metadata",), kind=workload.kind, name=name)


def _timed(workload: Workload) -> Iterator[Violation]:
    """Pods of a group with a maximum execution time of Kueue's; Kueue itself adds groups to pods of sets."""
    if workload.was and workload.by_controller:
        return
    for pod in workload.pods:
        labels = mapping(pod.metadata.get("labels"))
        group = text(mapping(pod.metadata.get("annotations")).get(GROUP)) or text(labels.get(GROUP))
        if group and text(labels.get(TIME)):
            yield TIMED.violation((*pod.path, "metadata", "labels", TIME), group=group, time=TIME)


def _check_parents(workload: Workload) -> Iterator[Violation]:
    """Where what is said to hold a pod is not there, Kueue takes its gate out (`UngateAndFinalizePod`)."""
    before = _parents(workload.was) if workload.was else []
    makers = [kind for _, kind in owner_kinds(workload.metadata)] if workload.by_controller else []
    if workload.kind == "Pod":
        mine = [parent for kind in makers for parent in MAKES.get(kind, ())]
    else:
        mine = [*HOLDS.get(workload.kind, ())]
        if workload.kind == "StatefulSet" and any(kind in MAKES_SETS for kind in makers):
            mine.append(BY_GROUPS)
    for parent in _parents(workload):
        if parent not in mine and parent not in before:
            yield HELD.violation(("metadata",), kind=workload.kind, parent=parent)


def _parents(workload: Workload) -> list[str]:
    metadata = [pod.metadata for pod in workload.pods]
    annotated = [text(mapping(each.get("annotations")).get(PARENT)) for each in metadata]
    groups = [BY_GROUPS for each in metadata if GROUPS_NAME in mapping(each.get("labels"))]
    return [*filter(None, annotated), *groups]


def _named_workloads(workload: Workload) -> list[str]:
    """Of Kueue, by itself, by its jobs and by its pods."""
    own = () if workload.kind == "Pod" else (workload.metadata, workload.jobs_metadata)
    label_maps = [
        mapping(metadata.get(part))
        for part in ("labels", "annotations")
        for metadata in (*own, *(pod.metadata for pod in workload.pods))
    ]
    prebuilt = (text(each.get(PREBUILT)) for each in label_maps)
    groups = (text(each.get(GROUP)) for each in label_maps)
    return [*filter(None, prebuilt), *(name for name in groups if name.startswith(OF_SETS))]


def _keeps_pods(workload: Workload) -> Iterator[Violation]:
    """Pods of a gang are counted with it alone: nobody counts those that stay when it goes, or is to go."""
    has_queue_label = workload.kind in OF_ITSELF[1:]
    part = workload.kind != "Pod" and _owner_queues(workload.metadata)
    if not (has_queue_label or part) or workload.by_controller:
        return
    before = _finalizers(workload.was) if workload.was else []
    for name in _finalizers(workload):
        if name == ENDS or name in before:
            continue
        message = KEEPS_PODS if name == ORPHAN else STAYS_ITSELF
        yield message.violation(("metadata", "finalizers"), kind=workload.kind, name=name)
    if part and workload.was and _owners(workload) - _owners(workload.was):
        for _, owner, name, _ in controller_references(workload.metadata).values():
            path = ("metadata", "ownerReferences")
            yield SECOND_OWNER.violation(path, kind=workload.kind, owner=owner, name=name)


def _owners(workload: Workload) -> set[str]:
    owners = items(workload.metadata.get("ownerReferences"))
    return {text(mapping(each).get("uid")) for each in owners}


def _finalizers(workload: Workload) -> list[str]:
    return [text(each) for each in items(workload.metadata.get("finalizers"))]


def _of_ray(workload: Workload) -> Iterator[Violation]:
    """What KubeRay makes of a Ray cluster beyond what Kueue counts of it."""
    before = workload.was.body.get("spec") if workload.was else None
    same = before is not None and before == workload.body.get("spec")
    if workload.by_controller or same or workload.kind not in RAY_GROUPS:
        return
    cluster = RAY_GROUPS[workload.kind]
    for index, each in enumerate(items(mapping(workload.body, *cluster).get("workerGroupSpecs"))):
        group = mapping(each)
        path: Path = (*cluster, "workerGroupSpecs", index)
        known_value(group.get("replicas"))
        counted, least = count(group, "replicas", 1), count(group, "minReplicas", 0)
        of_group = (pod for pod in workload.pods if pod.path[:-1] == path)
        if counted < least and any(map(requests_gpus, of_group)):
            values = {"counted": str(counted), "least": str(least)}
            yield LEAST.violation((*path, "replicas"), group=text(group.get("groupName")), **values)
    kind, selector = SUBMITS_TO
    chosen = workload.kind == kind and mapping(workload.body, "spec", selector)
    if chosen and any(map(requests_gpus, workload.pods)):
        yield SUBMITS.violation(("spec", selector), kind=workload.kind)


def _outlives(workload: Workload) -> Iterator[Violation]:
    """What is over and keeps its pods; one that was so before may still be stopped and changed."""
    was = workload.was if workload.was and any(map(requests_gpus, workload.was.pods)) else None
    needs_gpus = any(map(requests_gpus, workload.pods))
    if workload.by_controller or not needs_gpus or workload.kind not in OUTLIVING:
        return
    path, fix = OUTLIVING[workload.kind]
    policy = _field(workload, path)
    short = not isinstance(policy, int) or policy <= LONGEST_STAY
    cleans = policy in CLEANED if path == CLEANS else short
    if not (cleans or (was and _field(was, path) == policy)):
        yield OUTLIVES.violation(path, kind=workload.kind, field=fix)
    strategy = mapping(workload.body, *STRATEGY)
    if strategy and not (was and mapping(was.body, *STRATEGY) == strategy):
        yield OUTLIVES.violation(STRATEGY, kind=workload.kind, field=NO_STRATEGY)


def _field(workload: Workload, path: tuple[str, ...]) -> Any:
    return known_value(mapping(workload.body, *path[:-1]).get(path[-1]))


def _past_count(workload: Workload, was: Workload) -> Iterator[Violation]:
    queues = _names_queue(workload.metadata) or _names_queue(was.metadata)
    elastic = workload.kind != "Pod" and (_elastic(workload) or _elastic(was))
    once = elastic or (queues and workload.kind in COUNTED_ONCE)
    claims = queues and not workload.by_controller and _claims_others(workload, was)
    if claims or (once and _requested(workload) != _requested(was)):
        yield GROWS.violation(("spec",), kind=workload.kind)
    if elastic and _gated(workload) < _gated(was) and not _taken_back(workload, was):
        yield UNGATED.violation(("spec",), kind=workload.kind, gate=ELASTIC)
    if not queues:
        return
    if _renumbered(workload, was):
        yield RENUMBERED.violation(("spec", "ordinals"), kind=workload.kind)
    if not workload.by_controller:
        yield from _raised(workload, was, elastic=elastic)
        if not was.suspended:
            yield from _changed_while_it_runs(workload, was)
    started = was.suspended and not workload.suspended and not workload.by_controller
    if started and workload.kind in OF_ITSELF:
        yield STARTS.violation(("spec",), kind=workload.kind)


def _claims_others(workload: Workload, was: Workload) -> bool:
    """Whether pods of a whole claim others: Kueue (v0.19.2, `comparePodTemplate`) compares no claims."""
    now, before = (
        [items(pod.spec.get("resourceClaims")) for pod in each.pods] for each in (workload, was)
    )
    return workload.kind in OF_ITSELF[1:] and len(now) == len(before) and now != before


def _taken_back(workload: Workload, was: Workload) -> bool:
    """Whether Kueue writes a Job that waits before and after; what waits by no gate gets no more pods."""
    waits = was.suspended and workload.suspended
    return waits and workload.by_controller and _version_and_kind(workload) == RUNS_JOBS


def _renumbered(workload: Workload, was: Workload) -> bool:
    """Whether pods of a StatefulSet get other numbers."""
    first = [mapping(each.body.get("spec"), "ordinals").get("start", 0) for each in (workload, was)]
    counted = any(map(requests_gpus, (*workload.pods, *was.pods)))
    return workload.kind == NUMBERED and counted and first[0] != first[1]


def _changed_while_it_runs(workload: Workload, was: Workload) -> Iterator[Violation]:
    if workload.kind == DOUBLED and any(map(requests_gpus, (*workload.pods, *was.pods))):
        before, after = (_without_suspend(each) for each in (was, workload))
        if before != after:
            yield RENEWED.violation(CLUSTER_OF, kind=workload.kind)
    if workload.suspended:
        return
    if _reruns(workload, was):
        field = SUSPEND_OF.get(workload.kind, SUSPEND_OF_OTHERS)
        yield RERUN.violation(("spec",), kind=workload.kind, field=field)


def _without_suspend(service: Workload) -> dict[str, Any]:
    cluster = mapping(service.body, *CLUSTER_OF)
    return {key: value for key, value in cluster.items() if key != "suspend"}


def _reruns(workload: Workload, was: Workload) -> bool:
    """Whether a kind of another project would run what was not counted."""
    if _owner_queues(was.metadata):
        return False
    if workload.kind in KEPT:
        needs_gpus = workload.kind in UNSEEN or any(map(requests_gpus, (*workload.pods, *was.pods)))
        return needs_gpus and workload.body.get("spec") != was.body.get("spec")
    if workload.kind not in COUNTED_ANEW or (_elastic(was) and _gated(was)):
        return False
    before, after = _requests_by_template(was), _requests_by_template(workload)
    return any(
        path not in before or _is_more(result, before[path]) for path, result in after.items()
    )


def _requests_by_template(workload: Workload) -> dict[Path, tuple[int, Any]]:
    """How many pods of each template that asks for GPUs, and what they ask for."""
    kind = next(name for name in OF_OTHER_PROJECTS if name.endswith(f"/{workload.kind}"))
    many = {each.path[:-1]: each.pods for each in templates_of(KINDS[kind], workload.body)}
    return {
        pod.path: (many[pod.path], _asked_of(pod)) for pod in filter(requests_gpus, workload.pods)
    }


def _is_more(results: tuple[int, Any], before: tuple[int, Any]) -> bool:
    return results[0] > before[0] or results[1] != before[1]


def _raised(workload: Workload, was: Workload, *, elastic: bool) -> Iterator[Violation]:
    """More pods of a Job that runs, or is elastic and has no gate: that holds them until they are counted."""
    queues = _names_queue(was.metadata) and not (_elastic(was) and _gated(was))
    waits = (was.suspended or workload.suspended) and not elastic
    if _version_and_kind(workload) != RUNS_JOBS or not queues or waits:
        return
    counted, parallelism = _runs_at_once(was), _runs_at_once(workload)
    if parallelism > counted and any(map(requests_gpus, workload.pods)):
        sentence = RAISED_UNGATED if elastic else RAISED
        yield sentence.violation(
            ("spec", "parallelism"), counted=str(counted), wanted=str(parallelism)
        )


def _version_and_kind(workload: Workload) -> tuple[str, str]:
    return text(workload.body.get("apiVersion")), workload.kind


def _runs_at_once(job: Workload) -> int:
    """Pods of a Job at the same time, at most."""
    spec = mapping(job.body.get("spec"))
    parallelism = int(spec.get("parallelism", 1))
    return min(parallelism, int(spec.get("completions", parallelism)))


def _part(workload: Workload, was: Workload) -> Iterator[Violation]:
    """What makes pods for a whole: Kueue looks at the whole alone, and nobody at how many its parts run."""
    elastic = [_elastic(each) for each in (workload, was)]
    same = workload.body.get("spec") == was.body.get("spec") and elastic[0] == elastic[1]
    counted_anew = workload.kind == ELASTIC_PART and all(elastic)
    if workload.by_controller or workload.kind == "Pod" or same or counted_anew:
        return
    if any(map(requests_gpus, (*workload.pods, *was.pods))):
        for version, owner, name, _ in controller_references(was.metadata).values():
            if _queues_for_theirs(version, owner):
                yield PART.violation(("spec",), kind=workload.kind, owner=owner, name=name)


def _elastic(workload: Workload) -> bool:
    return text(mapping(workload.metadata.get("annotations")).get(ELASTIC)) == "true"


def _gated(workload: Workload) -> int:
    """How many of its templates wait for their count."""
    gates = (items(pod.spec.get("schedulingGates")) for pod in workload.pods if requests_gpus(pod))
    return sum(ELASTIC in [text(mapping(gate).get("name")) for gate in each] for each in gates)


def _requested(workload: Workload) -> list[Any]:
    """What Kueue would have to count: which containers ask for which GPUs, and which run side by side."""
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
    if _owner_queues(workload.metadata) or not (unseen or any(map(requests_gpus, workload.pods))):
        return
    path, metadata, place = _label(workload)
    if not (_names_queue(metadata) or _passed_on(workload) or _held_by_kueue(workload)):
        sentence = UNKNOWN if unseen else NO_QUEUE
        yield sentence.violation(
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


def _owner_queues(metadata: Mapping[str, Any]) -> bool:
    """Whether a job that queues as a whole made it."""
    return any(_queues_for_theirs(version, kind) for version, kind in owner_kinds(metadata))


def _queues_for_theirs(version: str, kind: str) -> bool:
    return f"{version.partition('/')[0]}/{kind}" in QUEUE_FOR_THEIRS
