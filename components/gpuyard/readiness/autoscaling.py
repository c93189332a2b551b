"""Autoscaling: what is known of nodes that do not run, whom a scale-down spares, what services scale on."""

from collections.abc import Iterable, Iterator, Mapping

from gpuyard.catalogue.kubernetes.karpenter import EMPTY_ALONE
from gpuyard.catalogue.metrics import DCGM_DEFAULT
from gpuyard.names import GPU, POOL_LABEL
from gpuyard.plan.capacity.moving_up import moves
from gpuyard.plan.records import PoolPlan
from gpuyard.readiness.evidence import ThingSeen, bad, judged, outside, unknown
from gpuyard.readiness.subject import (
    ClusterSeen,
    K8sObject,
    Looks,
    Subject,
    at,
    listed,
    not_there,
    place_of,
    planned_ones,
    space_of,
)
from gpuyard.render.platform import autoscaler_release
from gpuyard.spec.pools import Scaling
from gpuyard.spec.sections import ScaleOn

_FROM_EXPORTER = "DCGM_"
_SPARING = 0.01
"""Cluster Autoscaler takes a node away whose use is below its threshold: below this nothing runs on it."""


def _scaled(subject: Subject) -> list[PoolPlan]:
    return [pool for pool in subject.plan.pools if pool.scaling is not Scaling.FIXED]


def _scales(subject: Subject, _: ClusterSeen | None = None) -> Iterator[ThingSeen]:
    """What there is to say where every pool keeps its nodes."""
    if not _scaled(subject):
        yield outside("no pool scales")


def _from_zero(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    yield from _scales(subject)
    for pool in _scaled(subject):
        lacks = ", ".join(pool.scale.hidden)
        wrong = f"{lacks} is known of a node that runs alone" if lacks else ""
        yield judged(f"plan.pools.{pool.name}.scale", f"told by {pool.scale.by}", wrong)


def _sparing(subject: Subject, objects: ClusterSeen) -> Iterator[ThingSeen]:
    yield from _scales(subject)
    yield from _node_pools_spare(subject, objects)
    if any(pool.scaling is Scaling.AUTOSCALER for pool in _scaled(subject)):
        release = autoscaler_release(subject.plan)
        where = "values of cluster-autoscaler"
        if release is None:
            yield unknown("the autoscaler is not the stack's own", where)
            return
        name = "scale-down-gpu-utilization-threshold"
        below = release.values["extraArgs"][name]
        wrong = "" if float(below) < _SPARING else "nodes that are in use may be taken"
        yield judged(f"{where}: {name}", below, wrong)


def _node_pools_spare(subject: Subject, objects: ClusterSeen) -> Iterator[ThingSeen]:
    moving = {pool.stable_name for pool in subject.plan.pools if moves(pool)}
    for where, each in planned_ones(subject, objects, "NodePool"):
        if each is None:
            yield not_there(where)
            continue
        rules = at(each, "spec", "disruption")
        policy, wait = at(rules, "consolidationPolicy"), at(rules, "consolidateAfter")
        meant = at(each, "spec", "template", "metadata", "labels", POOL_LABEL) in moving
        wrong = "" if policy == EMPTY_ALONE or meant else "nodes are emptied to save others"
        if not wrong and not wait:
            wrong = "an empty node goes at once"
        yield judged(where, f"{policy}, after {wait or 'nothing'}", wrong)


def _bounded(subject: Subject, objects: ClusterSeen) -> Iterator[ThingSeen]:
    if not any(pool.scaling is Scaling.KARPENTER for pool in subject.plan.pools):
        yield outside("no pool is Karpenter's")
    for where, each in planned_ones(subject, objects, "NodePool"):
        most = at(each, "spec", "limits", GPU)
        budgets = listed(each, "spec", "disruption", "budgets")
        lack = [word for word, value in (("limit", most), ("budget", budgets)) if not value]
        wrong = f"it has no {' and no '.join(lack)}" if lack else ""
        yield judged(where, f"{most or 'any number of'} GPUs", wrong)
    for where, each in planned_ones(subject, objects, "EC2NodeClass"):
        if each is None:
            yield not_there(where)
            continue
        terms = listed(each, "spec", "amiSelectorTerms")
        images = [str(at(term, "alias") or at(term, "id") or "any") for term in terms]
        loose = not images or any(i == "any" or i.endswith("@latest") for i in images)
        wrong = "its image changes by itself" if loose else ""
        yield judged(where, ", ".join(images) or "no image", wrong)


def _spot(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    yield from no_spot(subject)
    for pool in spot_pools(subject):
        words = ", then ".join(rung.mode for rung in pool.ladder)
        wrong = "nothing is below spot" if pool.ladder[-1].mode == "spot" else ""
        yield judged(f"plan.pools.{pool.name}.ladder", words, wrong)
        kept = subject.plan.storage.checkpoints
        if kept is None:
            yield bad(
                "plan.storage.checkpoints", "none", "work on spot has nowhere to keep its state"
            )


def spot_pools(subject: Subject) -> list[PoolPlan]:
    """Pools with nodes that may be taken away."""
    return [p for p in subject.plan.pools if any(rung.mode == "spot" for rung in p.ladder)]


def no_spot(subject: Subject) -> Iterator[ThingSeen]:
    """What there is to say where no node may be taken away."""
    if not spot_pools(subject):
        yield outside("no pool has spot")


def _services(subject: Subject, on: ScaleOn) -> Iterator[ThingSeen]:
    workloads = subject.plan.spec.workloads
    asked = [each.name for each in (workloads.services if workloads else ()) if each.scale_on is on]
    if not asked:
        yield outside(f"no service of the stack scales on {on.value}")
    for name in asked:
        yield unknown("this release makes no autoscaler of it: add --live", f"service {name}")


def _on_metrics(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    return _services(subject, ScaleOn.GPU)


def _on_queues(subject: Subject, _: ClusterSeen) -> Iterator[ThingSeen]:
    return _services(subject, ScaleOn.QUEUE)


def _of_teams(subject: Subject, found: Iterable[K8sObject]) -> list[K8sObject]:
    spaces = {space for _, space in subject.team_spaces}
    return [each for each in found if space_of(each) in spaces]


def _metrics_there(subject: Subject, cluster: ClusterSeen) -> Iterator[ThingSeen]:
    found = _of_teams(subject, cluster.all("HorizontalPodAutoscaler"))
    if not found:
        yield bad("horizontalpodautoscalers", 0, "no service scales")
    for each in found:
        metrics = listed(each, "spec", "metrics")
        kinds = ("pods", "object", "external")
        names = [str(at(m, k, "metric", "name")) for m in metrics for k in kinds if at(m, k)]
        lost = [n for n in names if n.startswith(_FROM_EXPORTER) and n not in DCGM_DEFAULT]
        wrong = f"the exporter does not serve {', '.join(lost)}" if lost else ""
        if not names:
            wrong = "it scales on CPU or memory alone"
        yield judged(place_of(each), ", ".join(names) or "no metric", wrong)


def _queues_there(subject: Subject, cluster: ClusterSeen) -> Iterator[ThingSeen]:
    found = _of_teams(subject, cluster.all("ScaledObject"))
    if not found:
        yield bad("scaledobjects.keda.sh", 0, "nothing scales on the length of a queue")
    for each in found:
        triggers = listed(each, "spec", "triggers")
        strange = [str(at(t, "type")) for t in triggers if not at(t, "authenticationRef")]
        least = at(each, "spec", "minReplicaCount") or 0
        wrong = f"asks {', '.join(strange)} without a name" if strange else ""
        if least:
            wrong = "it never reaches zero"
        yield judged(place_of(each), f"at least {least}", wrong)


PLANNED: Mapping[str, Looks] = {
    "AUT-01": _from_zero,
    "AUT-02": _sparing,
    "AUT-03": _bounded,
    "AUT-04": _spot,
    "AUT-05": _on_metrics,
    "AUT-06": _on_queues,
    "AUT-07": _scales,
}
LIVE: Mapping[str, Looks] = {
    "AUT-02": _node_pools_spare,
    "AUT-03": _bounded,
    "AUT-05": _metrics_there,
    "AUT-06": _queues_there,
}
