"""What Prometheus itself answers about the targets and rules of the stack."""

from collections.abc import Container, Iterator, Sequence

from gpuyard_advisor.readiness.evidence import Observation, failing, format_some, passing, unknown
from gpuyard_advisor.readiness.infrastructure import is_exporter
from gpuyard_advisor.readiness.inputs import (
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    listed,
    name_of,
    planned_objects,
    space_of,
)

_EXPORTER = "dcgm-exporter"


def targets_up(
    subject: Subject, cluster: ClusterObjects, kind: str, only: Container[str]
) -> Iterator[Observation]:
    """Whether Prometheus scrapes what the planned monitors with these names select.

    prometheus-operator calls the scrape pools of a ServiceMonitor serviceMonitor/NAMESPACE/NAME/NUMBER. The managed
    Prometheus of Google Cloud shows no targets.
    """
    if kind not in {"ServiceMonitor", "PodMonitor"} or not cluster.was_asked("Target"):
        return
    targets = cluster.all("Target")
    for where, live in planned_objects(subject, cluster, kind):
        if live is not None and where in only:
            pool = f"{kind[0].lower()}{kind[1:]}/{space_of(live)}/{name_of(live)}/"
            of_it = [each for each in targets if str(at(each, "scrapePool")).startswith(pool)]
            yield from _targets(where, of_it, _exporters(cluster) if _EXPORTER in where else None)


def _exporters(cluster: ClusterObjects) -> int | None:
    """The number of running exporters; None if each Prometheus has a part of the targets."""
    if any(at(each, "spec", "shards") not in (None, 0, 1) for each in cluster.all("Prometheus")):
        return None
    pods = [each for each in cluster.all("Pod") if is_exporter(each)]
    return len([each for each in pods if at(each, "status", "phase") == "Running"])


def _targets(
    where: str, targets: Sequence[K8sObject], exporters: int | None
) -> Iterator[Observation]:
    down = [each for each in targets if at(each, "health") == "down"]
    count = f"{len(targets)} targets"
    for each in down:
        yield failing(where, "down", f"{at(each, 'scrapeUrl')}: {at(each, 'lastError')}")
    if exporters == 0:
        yield unknown("no exporter runs", where, count)
    elif not targets:
        yield failing(
            where, count, "Prometheus finds no Service that it selects, or may not list its pods"
        )
    elif exporters is not None and len(targets) < exporters:
        yield failing(where, count, f"{exporters} exporters run")
    elif not down:
        yield passing(where, count)


def rules_evaluated(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    """Whether Prometheus has loaded the planned groups of rules and evaluates them."""
    if not cluster.was_asked("RuleGroup"):
        return
    groups = {str(at(each, "name")): each for each in cluster.all("RuleGroup")}
    for where, live in planned_objects(subject, cluster, "PrometheusRule"):
        if live is None:
            continue
        names = [str(at(each, "name")) for each in listed(live, "spec", "groups")]
        missing = [name for name in names if name not in groups]
        if missing:
            yield failing(where, "not loaded", f"Prometheus has no group {format_some(missing)}")
        rules = [each for name in names for each in listed(groups.get(name), "rules")]
        broken = [each for each in rules if at(each, "health") == "err"]
        for each in broken:
            yield failing(where, at(each, "name"), str(at(each, "lastError")))
        if not missing and not broken:
            yield passing(where, f"{len(rules)} rules evaluated")
