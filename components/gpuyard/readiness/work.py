"""MLOps and testing: what the stack was asked to bring for work, and what the platform itself has shown."""

from collections.abc import Iterable, Iterator, Mapping

from gpuyard.names import CHECK_RESULT_LABEL, CHECKED_LABEL
from gpuyard.plan.records import PoolPlan
from gpuyard.readiness.evidence import ThingSeen, judged, outside, unknown
from gpuyard.readiness.subject import (
    ClusterSeen,
    K8sObject,
    Looks,
    Subject,
    at,
    by_node,
    label,
    listed,
    place_of,
)
from gpuyard.spec.sections import Addon

_PIPELINES: Mapping[Addon, str] = {
    Addon.ARGO_WORKFLOWS: "WorkflowTemplate",
    Addon.KUBEFLOW_PIPELINES: "ScheduledWorkflow",
}
_DELIVERY: Mapping[Addon, str] = {Addon.ARGO_CD: "Application", Addon.TEKTON: "Pipeline"}
_SERVING: Mapping[Addon, str] = {Addon.KSERVE: "InferenceService"}


def _asked_for(asked: Iterable[str], what: str) -> Iterator[ThingSeen]:
    names = list(asked)
    if not names:
        yield outside(f"the stack asks for no {what}")
    for name in names:
        yield unknown("this release does not install it: add --live", name)


def _addons(subject: Subject, known: Mapping[Addon, str], what: str) -> Iterator[ThingSeen]:
    return _asked_for((each.value for each in subject.plan.spec.addons if each in known), what)


def _addons_there(
    subject: Subject, cluster: ClusterSeen, known: Mapping[Addon, str]
) -> Iterator[ThingSeen]:
    for each in subject.plan.spec.addons:
        if each in known:
            there = cluster.has(known[each])
            wrong = "" if there else "the cluster does not know its kinds"
            yield judged(each.value, "there" if there else "none", wrong)


def _runtimes(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    asked = subject.plan.spec.workloads
    names = (each.value for each in asked.training) if asked else ()
    return _asked_for(names, "training runtime")


def _runtimes_there(subject: Subject, cluster: ClusterSeen) -> Iterator[ThingSeen]:
    asked = subject.plan.spec.workloads
    found = [place_of(each) for each in cluster.all("ClusterTrainingRuntime")]
    for each in asked.training if asked else ():
        there = [name for name in found if each.value in name]
        wrong = "" if there else "no runtime is for it"
        yield judged(f"training runtime {each.value}", ", ".join(there) or "none", wrong)


def _pipelines(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    return _addons(subject, _PIPELINES, "pipelines")


def _pipelines_there(subject: Subject, cluster: ClusterSeen) -> Iterator[ThingSeen]:
    return _addons_there(subject, cluster, _PIPELINES)


def _delivery(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    return _addons(subject, _DELIVERY, "CI/CD or GitOps")


def _delivery_there(subject: Subject, cluster: ClusterSeen) -> Iterator[ThingSeen]:
    return _addons_there(subject, cluster, _DELIVERY)


def _serving(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    workloads = subject.plan.spec.workloads
    services = [each.name for each in workloads.services] if workloads else []
    addons = [each.value for each in subject.plan.spec.addons if each in _SERVING]
    return _asked_for([*addons, *services], "serving")


def _serving_there(subject: Subject, cluster: ClusterSeen) -> Iterator[ThingSeen]:
    yield from _addons_there(subject, cluster, _SERVING)
    workloads = subject.plan.spec.workloads
    wanted = {each.name for each in workloads.services} if workloads else set[str]()
    for pod in cluster.all("Pod"):
        service = label(pod, "app") or label(pod, "app.kubernetes.io/name")
        if service in wanted:
            probes = [at(c, "startupProbe") for c in listed(pod, "spec", "containers")]
            wrong = "" if any(probes) else "it has no startup probe, and weights take long"
            yield judged(place_of(pod), "startup probe" if any(probes) else "none", wrong)


def _checked(subject: Subject, cluster: ClusterSeen) -> Iterator[ThingSeen]:
    """The verdict that the check of the hardware leaves on nodes, passed or the check that failed."""

    def judge(_: PoolPlan, node: K8sObject) -> tuple[str, str]:
        result, digest = label(node, CHECK_RESULT_LABEL), label(node, CHECKED_LABEL)
        value = f"{result or 'no verdict'}, {digest or 'by nothing'}"
        return value, "" if result in {"passed", ""} else f"{result} did not pass"

    for each in by_node(subject.plan.pools, cluster, judge):
        unchecked = each.value.startswith("no verdict")
        yield unknown("never checked", each.where, each.value) if unchecked else each


PLANNED: Mapping[str, Looks] = {
    "MLO-01": _runtimes,
    "MLO-02": _pipelines,
    "MLO-03": _delivery,
    "MLO-04": _serving,
}
LIVE: Mapping[str, Looks] = {
    "MLO-01": _runtimes_there,
    "MLO-02": _pipelines_there,
    "MLO-03": _delivery_there,
    "MLO-04": _serving_there,
    "TST-02": _checked,
}
