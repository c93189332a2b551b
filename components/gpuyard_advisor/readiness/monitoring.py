"""Monitoring: metrics, dashboards and alerts of a cluster, and whether they reach those of the stack."""

import re
from collections.abc import Iterable, Iterator, Mapping

from gpuyard_advisor.readiness.delivery import dashboards_loaded, secrets_exist
from gpuyard_advisor.readiness.evidence import (
    Observation,
    failing,
    not_applicable,
    observe,
    passing,
    unknown,
)
from gpuyard_advisor.readiness.infrastructure import MONITORS, is_exporter, monitors
from gpuyard_advisor.readiness.inputs import (
    ClusterCheck,
    ClusterObjects,
    K8sObject,
    Subject,
    at,
    listed,
    place_of,
)
from gpuyard_advisor.readiness.loading import loaded
from gpuyard_advisor.readiness.serving import rules_evaluated, targets_up
from gpuyard_core.names import KUEUE

RULES = ("PrometheusRule", "ClusterRules")
"""Kinds with rules for Prometheus, or for the managed Prometheus of Google Cloud."""
MOST_SECONDS = 30
_UNITS = {"s": 1, "m": 60, "h": 3600}
_ATTRIBUTION = "DCGM_EXPORTER_KUBERNETES"
"""Enables pod attribution of the exporter (NVIDIA/dcgm-exporter, `--kubernetes`)."""
_PANELS: Mapping[str, str] = {
    "utilisation": r"GPU_UTIL|GR_ENGINE_ACTIVE",
    "memory": r"FB_USED|FB_FREE|gpu_memory",
    "temperature": r"GPU_TEMP|MEMORY_TEMP",
    "NVLink": r"NVLINK",
    "throttle": r"THROTTLE|CLOCKS_EVENT|VIOLATION",
    "allocation": r"resource_requests|allocat",
    "queue": r"kueue_",
}
_ALERTS: Mapping[str, str] = {
    "XID": r"XID",
    "temperature": r"GPU_TEMP|MEMORY_TEMP|thermal",
    "memory": r"FB_USED|FB_FREE|gpu_memory",
    "idle": r"idle|GPU_UTIL|GR_ENGINE_ACTIVE",
    "NCCL stall": r"nccl|stall",
    "queue wait": r"kueue_",
}
"""Patterns of alert expressions, with metric names of DCGM exporter and Kueue, and series that gpuyard records."""
_CHARGEBACK = "gpuyard:cost:dollars_per_hour"
"""The recorded series whose parts sum to the price of the nodes."""


def _seconds(text: object) -> float | None:
    """Parse a Prometheus duration; None if invalid."""
    parts = re.findall(r"(\d+)(h|m|s)", str(text))
    return sum(int(n) * _UNITS[unit] for n, unit in parts) if parts else None


def _scraped(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    result = monitors(cluster, "dcgm-exporter")
    if not result:
        yield failing("servicemonitors, podmonitors", 0, "none selects the exporter")
    for each in result:
        ends = (*listed(each, "spec", "endpoints"), *listed(each, "spec", "podMetricsEndpoints"))
        for end in ends:
            every = _seconds(at(end, "interval"))
            wrong = "no interval is set" if every is None else ""
            if every is not None and every > MOST_SECONDS:
                wrong = f"the maximum is {MOST_SECONDS} s"
            yield observe(
                place_of(each), f"every {at(end, 'interval') or 'default interval'}", wrong
            )
    pods = [pod for pod in cluster.all("Pod") if is_exporter(pod)]
    attributing = [pod for pod in pods if _attributes(pod)]
    if pods:
        wrong = "" if len(attributing) == len(pods) else "GPU metrics are not attributed to pods"
        yield observe(f"{_ATTRIBUTION} of exporters", f"{len(attributing)} of {len(pods)}", wrong)
    yield from _monitored(subject, cluster, queues=False)


def _monitored(subject: Subject, cluster: ClusterObjects, *, queues: bool) -> Iterator[Observation]:
    """Whether the monitors of the stack are loaded and have targets: those of Kueue, or the others."""
    for kind in MONITORS:
        names = {place_of(each) for each in subject.rendered.all(kind)}
        of_it = {name for name in names if (KUEUE in name) is queues}
        yield from loaded(subject, cluster, kind, of_it)
        yield from targets_up(subject, cluster, kind, of_it)


def _attributes(pod: K8sObject) -> bool:
    variables = [v for c in listed(pod, "spec", "containers") for v in listed(c, "env")]
    return any(
        at(v, "name") == _ATTRIBUTION and str(at(v, "value")).lower() == "true" for v in variables
    )


def _dashboards(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    result = cluster.all("Dashboard")
    text = " ".join(str(at(each, "data")) for each in result)
    yield from _topics(_PANELS, text, f"{len(result)} dashboards")
    yield from dashboards_loaded(subject, cluster)


def _topics(patterns: Mapping[str, str], text: str, where: str) -> Iterator[Observation]:
    for topic, pattern in patterns.items():
        match = re.search(pattern, text, re.IGNORECASE)
        yield observe(
            where, match.group() if match else "none", "" if match else f"no match for {topic}"
        )


def alerts(cluster: ClusterObjects) -> list[tuple[K8sObject, K8sObject]]:
    """Every alert, with the object that contains it."""
    return [(each, rule) for each, rule in _rules(cluster) if at(rule, "alert")]


def _rules(cluster: ClusterObjects) -> Iterator[tuple[K8sObject, K8sObject]]:
    for kind in RULES:
        for each in cluster.all(kind):
            for group in listed(each, "spec", "groups"):
                yield from ((each, rule) for rule in listed(group, "rules"))


def in_service(subject: Subject) -> list[Observation]:
    """Why rules and receivers are not in the cluster: a managed service without collectors of its own has them."""
    observed = subject.plan.observability
    managed = observed.managed if observed is not None else None
    if managed is None or managed.own_collectors:
        return []
    return [unknown(f"{managed.name} has the rules and receivers, and gpuyard does not query it")]


def alerts_with(cluster: ClusterObjects, *patterns: str) -> list[str]:
    """Names of alerts whose name or expression matches all patterns."""
    results = (
        (str(at(r, "alert")), f"{at(r, 'alert')} {at(r, 'expr')}") for _, r in alerts(cluster)
    )
    return [
        name
        for name, text in results
        if all(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
    ]


def _loaded(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    if elsewhere := in_service(subject):
        yield from elsewhere
        return
    result = alerts(cluster)
    text = " ".join(f"{at(rule, 'alert')} {at(rule, 'expr')}" for _, rule in result)
    yield from _topics(_ALERTS, text, f"{len(result)} alerts")
    for kind in RULES:
        yield from loaded(subject, cluster, kind)
    yield unknown("whether each alert has fired requires a test")
    yield from rules_evaluated(subject, cluster)


def _cost(subject: Subject, _: ClusterObjects) -> Iterator[Observation]:
    if subject.plan.simulated:
        yield not_applicable("simulated nodes cost nothing")


def _cost_there(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    named = ("opencost", "kubecost")
    results = [
        (pod, "runs") for pod in cluster.all("Pod") if any(n in place_of(pod) for n in named)
    ]
    results += [
        (each, _CHARGEBACK) for each, r in _rules(cluster) if at(r, "record") == _CHARGEBACK
    ]
    if not results:
        missing = "neither OpenCost nor Kubecost runs, and no rule records the cost"
        yield from in_service(subject) or [failing("pods, prometheusrules", 0, missing)]
    for each, value in results[:1]:
        yield unknown("whether it adds up to the bill requires a comparison", place_of(each), value)


def _queue_metrics(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    """Both Kueue metrics have a priority label (kueue v0.19.2 pkg/metrics/metrics.go)."""
    result = monitors(cluster, "kueue")
    yield from (passing(place_of(each), "scrapes Kueue") for each in result)
    if not result:
        yield failing("servicemonitors, podmonitors", 0, "none selects Kueue")
    yield from _monitored(subject, cluster, queues=True)


def _reach(subject: Subject, cluster: ClusterObjects) -> Iterator[Observation]:
    if elsewhere := in_service(subject):
        yield from elsewhere
        return
    silent = [str(at(r, "alert")) for _, r in alerts(cluster) if not _runbook(r)]
    count = len(alerts(cluster))
    yield observe("prometheusrules", f"{count} alerts", _missing(count, silent))
    receivers = [
        str(at(receiver, "name"))
        for each in cluster.all("AlertmanagerConfig")
        for receiver in listed(each, "spec", "receivers")
        if any(key.endswith("Configs") for key in receiver)
    ]
    if receivers:
        yield passing("alertmanagerconfigs", ", ".join(receivers))
    else:
        yield unknown(
            "a receiver may be in a Secret, which gpuyard does not read", "alertmanagerconfigs", 0
        )
    yield from loaded(subject, cluster, "AlertmanagerConfig")
    yield from secrets_exist(subject, cluster)


def _runbook(rule: K8sObject) -> bool:
    return bool(at(rule, "annotations", "runbook_url"))


def _missing(count: int, silent: Iterable[str]) -> str:
    first = next(iter(silent), "")
    if not count:
        return "there is no alert"
    return f"{first} names no runbook" if first else ""


PLANNED: Mapping[str, ClusterCheck] = {"MON-04": _cost}
LIVE: Mapping[str, ClusterCheck] = {
    "MON-01": _scraped,
    "MON-02": _dashboards,
    "MON-03": _loaded,
    "MON-04": _cost_there,
    "MON-05": _queue_metrics,
    "MON-06": _reach,
}
