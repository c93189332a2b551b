"""MLOps and testing: requested runtimes and tools, and the validation of the platform."""

from collections.abc import Iterable, Iterator, Mapping

from gpuyard.plan.records import PoolPlan
from gpuyard.plan.workloads.addons import installed_addons
from gpuyard.spec.sections import AddonName
from gpuyard_advisor.readiness.evidence import Observation, not_applicable, observe, unknown
from gpuyard_advisor.readiness.inputs import (
    ClusterCheck,
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    by_node,
    label,
    listed,
    place_of,
)
from gpuyard_core.names import CHECK_RESULT_LABEL, CHECKED_LABEL

_PIPELINES: Mapping[AddonName, str] = {
    AddonName.ARGO_WORKFLOWS: "WorkflowTemplate",
    AddonName.KUBEFLOW_PIPELINES: "ScheduledWorkflow",
}
_DELIVERY: Mapping[AddonName, str] = {
    AddonName.ARGO_CD: "Application",
    AddonName.TEKTON: "Pipeline",
}
_SERVING: Mapping[AddonName, str] = {AddonName.KSERVE: "InferenceService"}


def _asked_for(values: Iterable[str], what: str) -> Iterator[Observation]:
    names = list(values)
    if not names:
        yield not_applicable(f"the stack requests no {what}")
    for name in names:
        yield unknown("gpuyard does not install it: add --live", name)


def _addons(subject: Subject, known: Mapping[AddonName, str], what: str) -> Iterator[Observation]:
    asked = [each.name for each in subject.plan.spec.addons if each.name in known]
    ours = installed_addons(subject.plan.spec)
    if not asked:
        yield not_applicable(f"the stack requests no {what}")
    for name in asked:
        if name in ours:
            yield observe(name.value, "installed by gpuyard", "")
        else:
            yield unknown("gpuyard does not install it: add --live", name.value)


def _addons_there(
    subject: Subject, cluster: ClusterObjects, known: Mapping[AddonName, str]
) -> Iterator[Observation]:
    for each in subject.plan.spec.addons:
        if each.name in known:
            is_installed = cluster.has(known[each.name])
            wrong = "" if is_installed else "the cluster does not have its CRDs"
            yield observe(each.name.value, "there" if is_installed else "none", wrong)


def _runtimes(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    if not subject.plan.runtimes:
        yield not_applicable("the stack requests no training runtime")
    for each in subject.plan.runtimes:
        yield observe(each.name, "installed by gpuyard", "")


def _runtimes_there(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    results = [at(each, "metadata", "name") for each in cluster.all("ClusterTrainingRuntime")]
    for each in subject.plan.runtimes:
        is_there = each.name in results
        wrong = "" if is_there else "the cluster does not have it"
        yield observe(f"training runtime {each.name}", "there" if is_there else "none", wrong)


def _pipelines(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    return _addons(subject, _PIPELINES, "pipelines")


def _pipelines_there(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    return _addons_there(subject, cluster, _PIPELINES)


def _delivery(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    return _addons(subject, _DELIVERY, "CI/CD or GitOps")


def _delivery_there(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    return _addons_there(subject, cluster, _DELIVERY)


def _serving(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    workloads = subject.plan.spec.workloads
    services = [each.name for each in workloads.services] if workloads else []
    addons = [each.name.value for each in subject.plan.spec.addons if each.name in _SERVING]
    return _asked_for([*addons, *services], "serving")


def _serving_there(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    yield from _addons_there(subject, cluster, _SERVING)
    workloads = subject.plan.spec.workloads
    planned = {each.name for each in workloads.services} if workloads else set[str]()
    for pod in cluster.all("Pod"):
        service = label(pod, "app") or label(pod, "app.kubernetes.io/name")
        if service in planned:
            probes = [at(c, "startupProbe") for c in listed(pod, "spec", "containers")]
            wrong = "" if any(probes) else "it has no startup probe, and loading weights takes long"
            yield observe(place_of(pod), "startup probe" if any(probes) else "none", wrong)


def _checked(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    """The verdict of the hardware validation in node labels: passed, or the failed check."""

    def judge(_: PoolPlan, node: K8sObject) -> tuple[str, str]:
        result, digest = label(node, CHECK_RESULT_LABEL), label(node, CHECKED_LABEL)
        value = f"{result or 'no verdict'}, {digest or 'no validator'}"
        return value, "" if result in {"passed", ""} else f"{result} did not pass"

    for each in by_node(subject.plan.pools, cluster, judge):
        unchecked = each.value.startswith("no verdict")
        yield unknown("never validated", each.location, each.value) if unchecked else each


PLANNED: Mapping[str, ClusterCheck] = {
    "MLO-01": _runtimes,
    "MLO-02": _pipelines,
    "MLO-03": _delivery,
    "MLO-04": _serving,
}
LIVE: Mapping[str, ClusterCheck] = {
    "MLO-01": _runtimes_there,
    "MLO-02": _pipelines_there,
    "MLO-03": _delivery_there,
    "MLO-04": _serving_there,
    "TST-02": _checked,
}
