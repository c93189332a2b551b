"""GPU-QUE-01: jobs name an existing queue."""

from collections.abc import Iterator, Mapping

from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.placeholders import is_placeholder
from gpuyard_core.manifests.queued import JOBS, OPTIONAL
from gpuyard_core.names import QUEUE_LABEL
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    known_value,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.admission import parameters_by_namespace
from gpuyard_lint.rules.subjects.installed_versions import (
    composes_queues,
    has_vendor_kueue,
    kueue_without_v1beta2,
)
from gpuyard_lint.rules.subjects.pods import is_gpu_pod, pods_of
from gpuyard_lint.rules.subjects.tenants import LOCAL_QUEUE, QUOTA, covers_gpus

CLUSTER_QUEUE = "kueue.x-k8s.io/ClusterQueue"
_LABEL: Path = ("metadata", "labels", QUEUE_LABEL)
_ANNOTATION: Path = ("metadata", "annotations", QUEUE_LABEL)
_DEFAULT = "default"
_READ_ONCE = f"only Kueue before 0.15 reads {QUEUE_LABEL} as an annotation"
_COUNTED = "requests.nvidia.com/"
_NOT_COUNTED = "no quota counts its GPUs"
_OPTIONAL = {kind: switch for switch, kind in OPTIONAL.items()}
"""The name of the integration by group and kind."""
_PODSET = "kueue.x-k8s.io/podset-"


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    queues: dict[str, set[str]] = {}
    for queue in stack.resources_of_kinds(LOCAL_QUEUE):
        known_value(at(queue.properties, "metadata", "name"))
        queues.setdefault(queue.namespace, set()).add(queue.name)
    of_cluster = {queue.name for queue in stack.resources_of_kinds(CLUSTER_QUEUE)}
    older = bool(kueue_without_v1beta2(stack)) or has_vendor_kueue(stack)
    composed = composes_queues(stack)
    bounded = {quota.namespace for quota in stack.resources_of_kinds(QUOTA) if _binds(quota)}
    teams = parameters_by_namespace(stack)
    for job in stack.resources_of_kinds(*JOBS):
        team = teams.get(job.namespace)
        if team and job.group_kind in _OPTIONAL and job.group_kind not in team.integrations:
            yield from _not_integrated(job)
            continue
        here = _reached(job, queues)
        for violation in _job_violations(job, here, of_cluster, counted=job.namespace in bounded):
            if older and violation.path == _ANNOTATION:
                if _is_about_gpus(job, stack):
                    yield Violation(violation.path, _READ_ONCE, violation.fix, job, Severity.INFO)
            elif not (composed and violation.path == _LABEL and text(at(job.properties, *_LABEL))):
                yield violation
        yield from _topology(job)


def _not_integrated(job: Resource) -> Iterator[Violation]:
    """A queue on a kind that Kueue ignores on this platform, which queues its pods instead."""
    if text(at(job.properties, *_LABEL)):
        switch = _OPTIONAL[job.group_kind]
        yield Violation(
            _LABEL,
            f"the platform does not enable Kueue's integration of {_kind(job)}: Kueue ignores the label",
            f"write queueing.integrations: [{switch}] in the stack file, or a TrainJob instead",
            job,
        )


def _binds(quota: Resource) -> bool:
    """Whether a ResourceQuota of a namespace counts GPUs."""
    return any(str(key).startswith(_COUNTED) for key in mapping(quota.properties, "spec", "hard"))


def _is_about_gpus(job: Resource, stack: Stack) -> bool:
    """Whether the job requests GPUs, or its queue covers some."""
    name = text(at(job.properties, *_ANNOTATION))
    leads = {
        text(at(queue.properties, "spec", "clusterQueue"))
        for queue in stack.resources_named(name, LOCAL_QUEUE)
    }
    is_gpu_queue = any(
        covers_gpus(each) for lead in leads for each in stack.resources_named(lead, CLUSTER_QUEUE)
    )
    return is_gpu_queue or any(map(is_gpu_pod, pods_of(job)))


def _topology(job: Resource) -> Iterator[Violation]:
    """Topology annotations belong on the pods of a Job."""
    if job.group_kind != "batch/Job":
        return
    for key in mapping(at(job.properties, "metadata", "annotations")):
        if str(key).startswith(_PODSET):
            yield Violation(
                ("metadata", "annotations", str(key)),
                f"{key} is a pod annotation: Kueue ignores it on the Job itself",
                "move it to spec.template.metadata.annotations",
                job,
                Severity.WARNING,
            )


def _reached(job: Resource, queues: Mapping[str, set[str]]) -> set[str]:
    """Queues of its namespace. Without a namespace it may be any."""
    if not job.namespace:
        return {name for names in queues.values() for name in names}
    return queues.get(job.namespace, set()) | queues.get("", set())


def _job_violations(
    job: Resource, here: set[str], of_cluster: set[str], *, counted: bool
) -> Iterator[Violation]:
    """The problem; `counted` if a ResourceQuota of the namespace counts GPUs."""
    name = text(at(job.properties, *_LABEL))
    elsewhere = list(_other_places(job))
    if is_placeholder(name):
        return
    if name:
        yield from _queue(job, name, here, of_cluster)
    elif elsewhere:
        problem = f"{QUEUE_LABEL} is a label of the {_kind(job)} itself: Kueue ignores it here"
        yield Violation(
            elsewhere[0], problem, f"move it to metadata.labels of the {_kind(job)}", job
        )
    elif job.namespace and here and _DEFAULT not in here and _asks_for_gpus(job):
        who = (
            "the namespace's ResourceQuota counts its GPUs, but Kueue does not"
            if counted
            else _NOT_COUNTED
        )
        yield Violation(
            _LABEL,
            f"the job names no queue, and {job.namespace} has no default: {who}",
            f"label it {QUEUE_LABEL}: {min(here)}",
            job,
            is_advisory=counted,
        )


def _asks_for_gpus(job: Resource) -> bool:
    makes_pods = at(job.properties, "spec", "parallelism") != 0
    return makes_pods and any(map(is_gpu_pod, pods_of(job)))


def _queue(job: Resource, name: str, here: set[str], of_cluster: set[str]) -> Iterator[Violation]:
    if name in here or not (here or name in of_cluster):
        return
    sort = "a ClusterQueue" if name in of_cluster else "not a LocalQueue of its namespace"
    known = f"one of {', '.join(sorted(here))}" if here else "a LocalQueue of its namespace"
    yield Violation(_LABEL, f"{name} is {sort}: the job never starts", f"name {known}", job)


def _other_places(job: Resource) -> Iterator[Path]:
    if at(job.properties, *_ANNOTATION):
        yield _ANNOTATION
    for pod in pods_of(job):
        for field in ("labels", "annotations"):
            if mapping(pod.metadata.get(field)).get(QUEUE_LABEL):
                yield (*pod.path, "metadata", field, QUEUE_LABEL)


def _kind(job: Resource) -> str:
    return job.kind.rpartition("/")[2]


RULE = Rule(
    id="GPU-QUE-01",
    title="A GPU job names a queue of its namespace in its own labels",
    severity=Severity.ERROR,
    why="A job outside the queues uses GPUs guaranteed to others; a job in a missing queue never starts.",
    fix=f"Set label {QUEUE_LABEL} on the job itself to a LocalQueue of its namespace.",
    sources=("kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework and constants",),
    kinds=JOBS,
    check_stack=_check,
)
