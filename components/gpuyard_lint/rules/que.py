"""Rules on queues and schedulers."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.fields import at, at_path, items, known_value, mapping, text
from gpuyard_core.manifests.placeholders import is_entirely_placeholder, is_placeholder
from gpuyard_core.manifests.queued import JOBS, OPTIONAL
from gpuyard_core.manifests.templates import RAY_CLUSTERS, fixed_size_path
from gpuyard_core.names import ELASTIC_ANNOTATION, QUEUE_LABEL
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.adm import parameters_by_namespace
from gpuyard_lint.rules.rule import Parameters, Resource, Stack, Violation, load_rule, read_table
from gpuyard_lint.rules.subjects.installed_versions import has_vendor_kueue, kueue_without_v1beta2
from gpuyard_lint.rules.subjects.pods import is_gpu_pod, pods_of
from gpuyard_lint.rules.subjects.tenants import CLUSTER_QUEUE, LOCAL_QUEUE, QUOTA, covers_gpus

# GPU-QUE-01
_LABEL: Path = ("metadata", "labels", QUEUE_LABEL)
_ANNOTATION: Path = ("metadata", "annotations", QUEUE_LABEL)
_DEFAULT = "default"
_READ_ONCE = f"only Kueue before 0.15 reads {QUEUE_LABEL} as an annotation"
_COUNTED = "requests.nvidia.com/"
_NOT_COUNTED = "no quota counts its GPUs"
_OPTIONAL = {kind: switch for switch, kind in OPTIONAL.items()}
"""The name of the integration by group and kind."""
_PODSET = "kueue.x-k8s.io/podset-"


def _check_queue_label(stack: Stack, _: Parameters) -> Iterator[Violation]:
    queues: dict[str, set[str]] = {}
    for queue in stack.resources_of_kinds(LOCAL_QUEUE):
        known_value(at(queue.properties, "metadata", "name"))
        queues.setdefault(queue.namespace, set()).add(queue.name)
    of_cluster = {queue.name for queue in stack.resources_of_kinds(CLUSTER_QUEUE)}
    older = bool(kueue_without_v1beta2(stack)) or has_vendor_kueue(stack)
    bounded = {  # namespaces with a ResourceQuota that counts GPUs
        quota.namespace
        for quota in stack.resources_of_kinds(QUOTA)
        if any(str(key).startswith(_COUNTED) for key in mapping(quota.properties, "spec", "hard"))
    }
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
            else:
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
    elif (
        job.namespace
        and here
        and _DEFAULT not in here
        and at(job.properties, "spec", "parallelism") != 0
        and any(map(is_gpu_pod, pods_of(job)))
    ):
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


# GPU-QUE-02
PRIORITY = "kueue.x-k8s.io/WorkloadPriorityClass"
_FLAVOR = "kueue.x-k8s.io/ResourceFlavor"
_NAMED = (CLUSTER_QUEUE, _FLAVOR, LOCAL_QUEUE, PRIORITY)
_KUSTOMIZATION = "kustomize.config.k8s.io/Kustomization"
_FLUX = "kustomize.toolkit.fluxcd.io/Kustomization"
_TOP = ("value", "description")
_SERVED = "kueue.x-k8s.io/v1beta2/"


def _check_kueue_fields(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == PRIORITY:
        for key in _TOP:
            if at(resource.properties, "spec", key) is not None:
                yield Violation(
                    ("spec", key),
                    f"a WorkloadPriorityClass has no spec: {key} is a top-level field",
                    f"move {key} to the top level",
                )
        if known_value(resource.properties.get("value")) is None and not at(
            resource.properties, "spec", "value"
        ):
            yield Violation(
                ("value",), "the API server rejects a class without value", "write value: 1000"
            )
        return
    if resource.group_kind == CLUSTER_QUEUE:
        yield from _covered(resource)
    if resource.kind.startswith(_SERVED) and at(resource.properties, "spec", "cohort"):
        yield Violation(
            ("spec", "cohort"),
            "the field is cohortName in v1beta2: this queue joins no cohort and borrows nothing",
            "write cohortName",
        )


def _covered(queue: Resource) -> Iterator[Violation]:
    """Every flavor of a group lists all covered resources in order: the API server rejects others."""
    for g, group in enumerate(items(at(queue.properties, "spec", "resourceGroups"))):
        covered = [text(each) for each in items(group, "coveredResources")]
        for f, flavor in enumerate(items(group, "flavors")):
            resource_names = [text(e, "name") for e in items(flavor, "resources")]
            if (
                covered
                and resource_names != covered
                and not any(map(is_entirely_placeholder, (*resource_names, *covered)))
            ):
                missing = [name for name in covered if name not in resource_names]
                what = (
                    f"no {' and no '.join(missing)}" if missing else "another order, or extra ones"
                )
                yield Violation(
                    ("spec", "resourceGroups", g, "flavors", f, "resources"),
                    f"the queue is rejected: a flavor must list the covered resources of its group in order; {what} here",
                    f"list {', '.join(covered)}, or create a separate group for this flavor",
                )


def _duplicates(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Two objects with one name in one file: the later one overwrites the earlier.

    In files of one kustomization neither applies: the build fails.
    """
    first: dict[tuple[str, ...], Resource] = {}
    listed = _listed(stack)
    for each in stack.resources_of_kinds(*_NAMED):
        name = at(each.properties, "metadata", "name")
        inside = each.namespace if each.group_kind == LOCAL_QUEUE else ""
        if not isinstance(name, str) or is_placeholder(name):
            continue
        for place in (each.source, *listed.get(each.source, ())):
            before = first.setdefault((place, each.kind, inside, name), each)
            if _without_metadata(before) != _without_metadata(each):
                where, then = "of this kustomization", "kustomize build fails"
                if before.source == each.source:
                    where, then = "here", "the last one applied overwrites the other"
                problem = f"another {_kind(each)} {where} has the same name {name}"
                problem += f" and different content: {then}"
                yield Violation(("metadata", "name"), problem, "use different names", each)
                break


def _listed(stack: Stack) -> Mapping[str, Sequence[str]]:
    """By file, the kustomizations that list it; Flux generates one for a folder without."""
    results: dict[str, list[str]] = {}
    folders: set[str] = set()
    for each in stack.resources_of_kinds(_KUSTOMIZATION):
        folders.add(folder := posixpath.dirname(each.source))
        for name in items(each.properties, "resources"):
            file = posixpath.normpath(posixpath.join(folder, text(name)))
            results.setdefault(file, []).append(each.source)
    flux_paths = {
        path for each in stack.resources_of_kinds(_FLUX) if (path := _folder(each)) != "."
    }
    for file in {each.source for each in stack.resources_of_kinds(*_NAMED)} if flux_paths else ():
        folder = posixpath.dirname(file)
        if folder not in folders and any(f"/{folder}".endswith(f"/{path}") for path in flux_paths):
            results.setdefault(file, []).append(f"{folder}/")
    return results


def _folder(flux: Resource) -> str:
    """The folder of a Flux Kustomization, "." if it names none or a placeholder."""
    path = at_path(flux.properties, ("spec", "path"))
    return posixpath.normpath(path).strip("/") if isinstance(path, str) else "."


def _without_metadata(resource: Resource) -> dict[str, object]:
    return {key: each for key, each in resource.properties.items() if key != "metadata"}


# GPU-QUE-03
QUEUE = "scheduling.volcano.sh/Queue"
FIELDS = frozenset(read_table("volcano_queue_fields"))
"""The fields of the spec of a Queue in v1.15."""
_PREEMPTION = (
    "add preempt and reclaim to the scheduler's actions; set reclaimable to allow reclaiming"
)
_STRATEGIES = ("fifo", "traverse")


def _check_volcano_fields(resource: Resource, _: Parameters) -> Iterator[Violation]:
    spec = mapping(resource.properties, "spec")
    for key in spec:
        if key not in FIELDS:
            suggestion = nearest_name(key, sorted(FIELDS))
            fix = f"write {suggestion}" if suggestion else "remove it"
            yield Violation(
                ("spec", key),
                f"a Queue has no field {key}: it is silently dropped",
                _PREEMPTION if key.lower().startswith("preempt") else fix,
            )
    strategy = text(spec, "dequeueStrategy")
    if strategy and strategy not in _STRATEGIES:
        yield Violation(
            ("spec", "dequeueStrategy"),
            f"{strategy} is rejected: dequeueStrategy must be {' or '.join(_STRATEGIES)}",
            f"write {_STRATEGIES[1]}, the default",
        )


# GPU-QUE-04
CLASS = "scheduling.k8s.io/PriorityClass"
_NOT_OF_PODS = (
    *("persistentvolumeclaims", "requests.storage", "services", "configmaps", "secrets"),
    *("replicationcontrollers", "resourcequotas", "count/"),
)
_BY_STORAGE = ".storageclass.storage.k8s.io/"
_SELECTED: Path = ("spec", "scopeSelector", "matchExpressions")


def _check_quota_scopes(stack: Stack, _: Parameters) -> Iterator[Violation]:
    of_kueue = {each.name for each in stack.resources_of_kinds(PRIORITY)}
    of_pods = {each.name for each in stack.resources_of_kinds(CLASS)}
    for quota in stack.resources_of_kinds(QUOTA):
        expressions = items(at(quota.properties, *_SELECTED))
        for index, each in enumerate(expressions):
            for v, name in enumerate(items(each, "values")):
                if text(name) in of_kueue - of_pods:
                    yield Violation(
                        (*_SELECTED, index, "values", v),
                        f"{text(name)} is a WorkloadPriorityClass: a quota scope matches PriorityClasses of pods only",
                        "set a PriorityClass on the pods and use it here, or limit it in the queue",
                        quota,
                    )
        if expressions or items(at(quota.properties, "spec", "scopes")):
            yield from _unscoped(quota)


def _unscoped(quota: Resource) -> Iterator[Violation]:
    for key in mapping(at(quota.properties, "spec", "hard")):
        if key.startswith(_NOT_OF_PODS) or _BY_STORAGE in key:
            yield Violation(
                ("spec", "hard", key),
                f"{key} supports no scope: the API server rejects the quota (unsupported scope applied to resource)",
                "move it to a separate quota without a scope",
                quota,
            )


# GPU-QUE-05
def _check_elastic_ray(resource: Resource, _: Parameters) -> Iterator[Violation]:
    path = fixed_size_path(resource.kind.rpartition("/")[2], resource.properties)
    if path and text(at(resource.properties, "metadata", "labels", QUEUE_LABEL)):
        yield Violation(
            path,
            "Kueue rejects it: a queued Ray cluster has a fixed size, or is an elastic job",
            f'annotate it {ELASTIC_ANNOTATION}: "true", or remove enableInTreeAutoscaling',
        )


RULES = (
    load_rule("GPU-QUE-01", kinds=JOBS, check_stack=_check_queue_label),
    load_rule("GPU-QUE-02", kinds=_NAMED, check=_check_kueue_fields, check_stack=_duplicates),
    load_rule("GPU-QUE-03", kinds=(QUEUE,), check=_check_volcano_fields),
    load_rule("GPU-QUE-04", kinds=(QUOTA,), check_stack=_check_quota_scopes),
    load_rule(
        "GPU-QUE-05",
        kinds=tuple(f"ray.io/{kind}" for kind in RAY_CLUSTERS),
        check=_check_elastic_ray,
    ),
)
