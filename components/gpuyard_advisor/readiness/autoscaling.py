"""Autoscaling: resources of pools at zero nodes, scale-down protection, metrics of services."""

from collections.abc import Iterable, Iterator, Mapping

from gpuyard.plan.capacity.failback import has_failback
from gpuyard.plan.records import PoolPlan
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import ScaleOn
from gpuyard_advisor.readiness.evidence import (
    Observation,
    failing,
    not_applicable,
    observe,
    unknown,
)
from gpuyard_advisor.readiness.inputs import (
    ClusterCheck,
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    listed,
    missing_object,
    place_of,
    planned_objects,
    space_of,
)
from gpuyard_core.catalogue.kubernetes.karpenter import EMPTY_ALONE
from gpuyard_core.catalogue.metrics import dcgm_default
from gpuyard_core.names import GPU, POOL_LABEL

_FROM_EXPORTER = "DCGM_"
_SPARING = 0.01
"""Cluster Autoscaler removes a node whose utilisation is below its threshold: below this value it is idle."""


def _scaled(subject: Subject) -> list[PoolPlan]:
    return [pool for pool in subject.plan.pools if pool.scaling is not Scaling.FIXED]


def _scales(subject: Subject, _: ClusterObjects | None = None) -> Iterator[Observation]:
    """The observation when no pool scales."""
    if not _scaled(subject):
        yield not_applicable("no pool scales")


def _from_zero(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from _scales(subject)
    for pool in _scaled(subject):
        lacks = ", ".join(pool.autoscaler_hints.undiscovered_resources)
        wrong = f"{lacks} is discovered only from a running node" if lacks else ""
        yield observe(
            f"plan.pools.{pool.name}.autoscaler_hints",
            f"configured in {pool.autoscaler_hints.source}",
            wrong,
        )


def _sparing(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    yield from _scales(subject)
    yield from _node_pools_spare(subject, objects)
    if any(pool.scaling is Scaling.AUTOSCALER for pool in _scaled(subject)):
        release = subject.plan.provider.autoscaler_release(subject.plan)
        where = "values of cluster-autoscaler"
        if release is None:
            yield unknown("the stack does not manage the autoscaler", where)
            return
        name = "scale-down-gpu-utilization-threshold"
        below = release.values["extraArgs"][name]
        wrong = "" if float(below) < _SPARING else "nodes in use may be removed"
        yield observe(f"{where}: {name}", below, wrong)


def _node_pools_spare(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    moving = {pool.stable_name for pool in subject.plan.pools if has_failback(pool)}
    for where, each in planned_objects(subject, objects, "NodePool"):
        if each is None:
            yield missing_object(where)
            continue
        rules = at(each, "spec", "disruption")
        policy, wait = at(rules, "consolidationPolicy"), at(rules, "consolidateAfter")
        meant = at(each, "spec", "template", "metadata", "labels", POOL_LABEL) in moving
        wrong = "" if policy == EMPTY_ALONE or meant else "nodes are drained for consolidation"
        if not wrong and not wait:
            wrong = "an empty node is removed immediately"
        yield observe(where, f"{policy}, after {wait or 'nothing'}", wrong)


def _bounded(subject: Subject, objects: ClusterObjects) -> Iterator[Observation]:
    if not any(pool.scaling is Scaling.KARPENTER for pool in subject.plan.pools):
        yield not_applicable("no pool uses Karpenter")
    for where, each in planned_objects(subject, objects, "NodePool"):
        most = at(each, "spec", "limits", GPU)
        budgets = listed(each, "spec", "disruption", "budgets")
        lack = [word for word, value in (("limit", most), ("budget", budgets)) if not value]
        wrong = f"no {' and no '.join(lack)}" if lack else ""
        yield observe(where, f"{most or 'any number of'} GPUs", wrong)
    for where, each in planned_objects(subject, objects, "EC2NodeClass"):
        if each is None:
            yield missing_object(where)
            continue
        terms = listed(each, "spec", "amiSelectorTerms")
        images = [str(at(term, "alias") or at(term, "id") or "any") for term in terms]
        loose = not images or any(i == "any" or i.endswith("@latest") for i in images)
        wrong = "its image is not pinned" if loose else ""
        yield observe(where, ", ".join(images) or "no image", wrong)


def _spot(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    yield from not_applicable_without_spot(subject)
    for pool in spot_pools(subject):
        words = ", then ".join(option.mode for option in pool.capacity_options)
        wrong = (
            "no capacity option follows spot" if pool.capacity_options[-1].mode == "spot" else ""
        )
        yield observe(f"plan.pools.{pool.name}.capacity_options", words, wrong)
        checkpoints = subject.plan.storage.checkpoints
        if checkpoints is None:
            yield failing(
                "plan.storage.checkpoints", "none", "jobs on spot have no checkpoint storage"
            )


def spot_pools(subject: Subject) -> list[PoolPlan]:
    """Pools with spot nodes."""
    return [
        p for p in subject.plan.pools if any(option.mode == "spot" for option in p.capacity_options)
    ]


def not_applicable_without_spot(subject: Subject) -> Iterator[Observation]:
    """The observation when no pool uses spot."""
    if not spot_pools(subject):
        yield not_applicable("no pool uses spot")


_OF_CLUSTER = frozenset({"cpu", "memory", "cron", "prometheus"})
"""Triggers that need no identity of a cloud."""


def _services(subject: Subject, *metrics: ScaleOn) -> Iterator[Observation]:
    """Services that scale on a metric; the plan checks that the metric exists."""
    names = " or ".join(metrics)
    groups = [
        (group, service.spec.scale_on)
        for service in subject.plan.services
        for group in service.groups
        if not group.is_fixed and {*metrics} & {*service.spec.scale_on}
    ]
    if not groups:
        yield not_applicable(f"no service of the stack scales on {names}")
    for group, scale_on in groups:
        never = "it never scales to zero" if ScaleOn.QUEUE in metrics and group.replicas.low else ""
        yield observe(f"service {group.name}", f"{group.replicas} on {', '.join(scale_on)}", never)


def _on_metrics(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    return _services(subject, *(metric for metric in ScaleOn if metric is not ScaleOn.QUEUE))


def _on_queues(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    return _services(subject, ScaleOn.QUEUE)


def _of_teams(subject: Subject, results: Iterable[K8sObject]) -> list[K8sObject]:
    spaces = {space for _, space in subject.team_spaces}
    return [each for each in results if space_of(each) in spaces]


def _metrics_there(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    result = _of_teams(subject, cluster.all("HorizontalPodAutoscaler"))
    if not result:
        yield failing("horizontalpodautoscalers", 0, "no service is autoscaled")
    for each in result:
        metrics = listed(each, "spec", "metrics")
        kinds = ("pods", "object", "external")
        names = [str(at(m, k, "metric", "name")) for m in metrics for k in kinds if at(m, k)]
        missing = [n for n in names if n.startswith(_FROM_EXPORTER) and n not in dcgm_default()]
        wrong = f"the exporter does not serve {', '.join(missing)}" if missing else ""
        if not names:
            wrong = "it scales on CPU or memory only"
        yield observe(place_of(each), ", ".join(names) or "no metric", wrong)


def _queues_there(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    result = _of_teams(subject, cluster.all("ScaledObject"))
    if not result:
        yield failing("scaledobjects.keda.sh", 0, "nothing scales on queue length")
    for each in result:
        triggers = [
            trigger
            for trigger in listed(each, "spec", "triggers")
            if at(trigger, "type") not in _OF_CLUSTER or at(trigger, "authenticationRef")
        ]
        if not triggers:
            continue
        unauthenticated = [str(at(t, "type")) for t in triggers if not at(t, "authenticationRef")]
        least = at(each, "spec", "minReplicaCount") or 0
        wrong = (
            f"queries {', '.join(unauthenticated)} without authentication"
            if unauthenticated
            else ""
        )
        if least:
            wrong = "it never scales to zero"
        yield observe(place_of(each), f"at least {least}", wrong)


PLANNED: Mapping[str, ClusterCheck] = {
    "AUT-01": _from_zero,
    "AUT-02": _sparing,
    "AUT-03": _bounded,
    "AUT-04": _spot,
    "AUT-05": _on_metrics,
    "AUT-06": _on_queues,
    "AUT-07": _scales,
}
LIVE: Mapping[str, ClusterCheck] = {
    "AUT-02": _node_pools_spare,
    "AUT-03": _bounded,
    "AUT-05": _metrics_there,
    "AUT-06": _queues_there,
}
