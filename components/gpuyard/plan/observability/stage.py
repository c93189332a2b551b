"""Which Prometheus a platform uses, how large it is, and what its exporters must do.

Series: GPUs x copies of each (instances or shares) x counters, and those of nodes and the cluster. Memory is series x
bytes of a series; storage is samples per second x bytes of a sample x retention (catalogue/prometheus.py). Both have a
reserve of half as much again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil

from gpuyard.plan.draft import Draft
from gpuyard.plan.pools.gpu_operator import operator_parts
from gpuyard.plan.pools.machines import plan_allocatable, smallest_system, suggest_machine
from gpuyard.plan.records import ObservabilityPlan, PoolPlan
from gpuyard.plan.software.support import joins_operator
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import HostShape
from gpuyard.spec.sections import Alerts, Observability, Prometheus, Receiver
from gpuyard_core.catalogue.metrics import DCGM, PROMETHEUS_OPERATED, metrics_of
from gpuyard_core.catalogue.prometheus import (
    BYTES_PER_SAMPLE,
    BYTES_PER_SERIES,
    SERIES_OF_CLUSTER,
    SERIES_PER_NODE,
    SLOWEST_SCRAPE_SECONDS,
)
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning
from gpuyard_core.names import MONITORING_NAMESPACE, OPERANDS_LABEL
from gpuyard_core.suggestions import nearest_name

OUR_LABELS = {"gpuyard.dev/monitoring": "platform"}
"""The labels by which the installed Prometheus selects monitors and rules."""
_OPERATOR_RECEIVERS = frozenset({"slack", "pagerduty", "webhook", "email"})
_DESTINATIONS = _OPERATOR_RECEIVERS | {"sns"}
"""The fields of a receiver that name a destination."""
_RESERVE = 1.5
_GIB = 1024**3
_DAY_SECONDS = 86400
_PATH: Path = ("observability",)


def decide_observability(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The Prometheus of the platform; none without `observability`, and none with `none`."""
    given = draft.spec.observability
    if given is None or given.prometheus is Prometheus.NONE:
        return draft, []
    is_managed = given.prometheus is Prometheus.MANAGED
    managed = draft.provider.managed_prometheus if is_managed else None
    pools = [*draft.valid_pools.values()]
    installs = given.prometheus is not Prometheus.EXISTING
    gpus, others = (
        _gpu_series(pools),
        (SERIES_OF_CLUSTER + SERIES_PER_NODE * sum(pool.nodes.high for pool in pools)),
    )
    samples = gpus / given.scrape_seconds + others / SLOWEST_SCRAPE_SECONDS
    stored = samples * BYTES_PER_SAMPLE * given.retention_days * _DAY_SECONDS * _RESERVE
    plan = ObservabilityPlan(
        mode=given.prometheus,
        managed=managed,
        address=given.prometheus_address or ("" if managed else PROMETHEUS_OPERATED),
        namespace=MONITORING_NAMESPACE if installs else given.namespace,
        labels=OUR_LABELS if installs else given.labels,
        retention_days=given.retention_days,
        scrape_seconds=given.scrape_seconds,
        series=gpus + others,
        memory_gib=0
        if managed and managed.own_collectors
        else ceil((gpus + others) * BYTES_PER_SERIES * _RESERVE / _GIB),
        storage_gib=given.storage_gib or max(10, ceil(stored / _GIB)),
        storage_class=given.storage_class,
        grafana=given.grafana,
        alerts=given.alerts,
        virtual_gpus=any(pool.replicas > 1 for pool in pools),
        dra=any(pool.dra for pool in pools),
    )
    if not given.storage_class and not draft.spec.cluster_exists:
        plan = replace(plan, storage_class=draft.provider.storage_class or None)
    return replace(draft, observability=plan), []


def installs_monitoring(spec: PlatformSpec) -> bool:
    """Whether gpuyard installs kube-prometheus-stack; pods on simulated nodes run no program."""
    given = spec.observability
    return (
        given is not None
        and given.prometheus in {Prometheus.INSTALL, Prometheus.MANAGED}
        and spec.cloud is not Cloud.SIMULATED
    )


def _gpu_series(pools: Iterable[PoolPlan]) -> int:
    """With every counter of the metric table: at most that many are in the exporter's list."""
    counters = len(metrics_of(DCGM))
    return sum(
        # GPUs, instances or shares of a node, each with its own series
        max(pool.machine.gpus, sum(each.per_node for each in pool.advertised))
        * pool.nodes.high
        * counters
        for pool in pools
    )


def check_observability(draft: Draft) -> Iterator[Diagnostic]:
    """Settings that collect no metrics or send no alert."""
    given = draft.spec.observability
    if given is None:
        return
    if given.prometheus is Prometheus.EXISTING and not given.labels:
        yield info(
            "observability.labels",
            (*_PATH, "labels"),
            "monitors and rules get no label: a Prometheus that selects by a label, as that of"
            " kube-prometheus-stack does, ignores them without a message",
            fix=Fix(
                message="write its label: {release: RELEASE}, or ignore this if it selects all"
            ),
        )
    yield from _managed(draft, given)
    yield from _memory(draft)
    is_measured = draft.observability is not None and draft.spec.cloud is not Cloud.SIMULATED
    names = unmeasured_pools(draft) if is_measured else []
    if names and not draft.queueing.dispatch:
        yield warning(
            "observability.unmeasured",
            _PATH,
            "no DCGM exporter measures the GPUs of these pools, because the GPU Operator does not run on their nodes:"
            " they count as unavailable, and no alert covers them",
            given=format_list(names),
            allowed="pools with an image on which the GPU Operator runs, or an exporter of your own",
        )
    if given.alerts is not None:
        yield from _alerts(draft, given.prometheus, given.alerts)


def _managed(draft: Draft, given: Observability) -> Iterator[Diagnostic]:
    """A cloud without a managed service, and fields that the service does not have."""
    if given.prometheus is not Prometheus.MANAGED or draft.spec.cloud is Cloud.SIMULATED:
        return
    service = draft.provider.managed_prometheus
    if service is None:
        path = (*_PATH, "prometheus")
        yield error(
            "observability.managed",
            path,
            "your own cluster has no managed service for Prometheus",
            given="prometheus: managed",
            allowed="managed with cloud: aws or gcp; else install, existing or none",
            fix=Fix.write("install", path),
        )
        return
    for name in sorted(given.model_fields_set & service.ignored):
        yield info(
            "observability.ignored",
            (*_PATH, name),
            f"{service.name} does not read this field",
            fix=Fix.remove((*_PATH, name)),
        )


def unmeasured_pools(draft: Draft) -> list[str]:
    """Pools of GPUs without the DCGM exporter, which is a part of the GPU Operator."""
    pools = [pool for pool in draft.valid_pools.values() if pool.machine.gpu is not None]
    parts = operator_parts(draft.spec, pools)
    runs = joins_operator(draft.spec) or (parts is not None and parts.install)
    return [p.name for p in pools if not runs or p.labels.get(OPERANDS_LABEL) == "false"]


def _memory(draft: Draft) -> Iterator[Diagnostic]:
    """Prometheus runs on a system node; the memory of a machine that only the stack file names is unknown."""
    plan, machine = draft.observability, draft.system
    if plan is None or machine is None or not machine.memory_gib:
        return
    if not plan.has_operator or not installs_monitoring(draft.spec):
        return
    free = plan_allocatable(machine).memory_gib
    if plan.memory_gib <= free:
        return
    shape = HostShape(cpu=machine.vcpus, memory_gib=plan.memory_gib * 5 // 4 + 4)
    larger = smallest_system(shape, draft.spec.cloud) if draft.provider.sells_machines else None
    yield error(
        "observability.memory",
        ("system", "machine"),
        f"Prometheus needs {plan.memory_gib} GiB for the {plan.series:,} series of the whole fleet, and runs on"
        " a system node",
        given=f"{machine.name}, with {free} GiB for pods",
        allowed=f"a machine with {plan.memory_gib} GiB for pods, or fewer nodes",
        fix=suggest_machine(larger, ("system", "machine"))
        or Fix(message="use larger system nodes, or observability: {prometheus: existing}"),
    )


def _alerts(draft: Draft, mode: Prometheus, alerts: Alerts) -> Iterator[Diagnostic]:
    path = (*_PATH, "alerts")
    if mode is Prometheus.NONE:
        yield error(
            "alerts.unsent",
            path,
            "gpuyard configures no Alertmanager here, so no alert is sent",
            given=f"prometheus: {mode.value}",
            allowed="alerts with prometheus: install, existing or managed",
            fix=Fix.remove(path),
        )
        return
    if mode is Prometheus.EXISTING:
        yield info(
            "alerts.matcher",
            path,
            "prometheus-operator sends an AlertmanagerConfig only alerts of its own namespace",
            fix=Fix(
                message="set alertmanagerConfigMatcherStrategy:"
                " {type: OnNamespaceExceptForAlertmanagerNamespace} in the Alertmanager of that namespace"
            ),
        )
    known = [team.name for team in draft.spec.teams]
    for name in alerts.teams:
        if name not in known:
            near = nearest_name(name, known)
            yield error(
                "alerts.team",
                (*path, "teams", name),
                "no team has this name",
                given=name,
                allowed=format_list(known) or "no team; the platform has none",
                fix=Fix(message=f"write {near}") if near else Fix.remove((*path, "teams", name)),
            )
    yield from _destinations(draft, mode, alerts, path)


def _destinations(
    draft: Draft, mode: Prometheus, alerts: Alerts, path: Path
) -> Iterator[Diagnostic]:
    """Receivers without a destination, and destinations that the Alertmanager of this mode does not have."""
    service = draft.provider.managed_prometheus if mode is Prometheus.MANAGED else None
    name = "the Alertmanager of prometheus-operator, as gpuyard configures it,"
    has, nowhere = _OPERATOR_RECEIVERS, ""
    if service:
        name, has = service.name, service.receivers
        nowhere = f"no receiver; alerts go to {service.where}"
    for at, each in _named_receivers(alerts).items():
        yield from _receiver((*path, *at), each, has_smtp=alerts.smtp is not None)
        for field in each.model_fields_set & _DESTINATIONS - has:
            yield error(
                "alerts.receiver",
                (*path, *at, field),
                f"{name} sends no alerts to it",
                allowed=format_list(sorted(has)) or nowhere,
                fix=Fix.remove((*path, *at, field)),
            )


def _named_receivers(alerts: Alerts) -> dict[tuple[str, ...], Receiver]:
    severities = {"critical": alerts.critical, "warning": alerts.warning, "info": alerts.info}
    found: dict[tuple[str, ...], Receiver] = {(n,): each for n, each in severities.items() if each}
    return found | {("teams", name): each for name, each in alerts.teams.items()}


def _receiver(path: Path, receiver: Receiver, *, has_smtp: bool) -> Iterator[Diagnostic]:
    if receiver.email and not has_smtp:
        yield error(
            "alerts.smtp",
            (*path, "email"),
            "Alertmanager needs a mail server to send e-mail",
            given=receiver.email,
            allowed="email with observability.alerts.smtp",
            fix=Fix(message="write smtp: {host: HOST:PORT, sender: ADDRESS}"),
        )
    elif not any(getattr(receiver, name) for name in _DESTINATIONS):
        yield warning(
            "alerts.empty",
            path,
            "a receiver without a destination sends nothing",
            allowed="slack, pagerduty, webhook, email or sns",
            fix=Fix.remove(path),
        )
