"""What scales inference services: ScaledObjects of KEDA, or HorizontalPodAutoscalers for CPU alone.

Queries of a service select its own pods: those of GPUs by their names, those of a model server by the label `job`,
which its monitor sets to the name of the replicas.
"""

from collections.abc import Iterator, Mapping

from gpuyard.plan.capacity.cron import kubernetes_cron
from gpuyard.plan.records import PlatformPlan, ReplicaGroup, ServicePlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.workloads.service_checks import scales_with_keda
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.observability.contract import check_query, metric_names
from gpuyard.render.observability.rules import query_scope
from gpuyard.render.observability.scope import PROFILING, metered_pools
from gpuyard.spec.sections import ScaleOn, ServiceKind
from gpuyard_core.catalogue.metrics import DCGM, DEV, PROF, exporters, metric_of_series
from gpuyard_core.findings import Diagnostic, Fix, Path, error
from gpuyard_core.names import QUERY_URL, REMOTE_REGION

DEFAULT_TARGETS = {
    ScaleOn.GPU: 70.0,
    ScaleOn.CPU: 70.0,
    ScaleOn.REQUESTS: 16.0,
    ScaleOn.QUEUE: 5.0,
}
"""Percent, and requests or messages for each replica."""
_KEDA = "keda.sh/v1alpha1"
_POLLING_SECONDS = 15
_FAILURES = 3
"""Failed queries in a row after which the fallback applies."""
_POD_NAMES = {
    ServiceKind.DEPLOYMENT: "{}-[a-z0-9]+-[a-z0-9]{{5}}",
    ServiceKind.LEADER_WORKER_SET: "{}-[0-9]+(-[0-9]+)?",
    ServiceKind.INFERENCE_SERVICE: "{}-predictor-[a-z0-9]+-[a-z0-9]{{5}}",
}
"""The names of the pods that the controllers of each kind create."""
_PUBSUB = "pubsub_googleapis_com:subscription_num_undelivered_messages"
MONITORING = "https://monitoring.googleapis.com/v1/projects/{}/location/global/prometheus"
"""Cloud Monitoring answers PromQL for metrics of Google Cloud; KEDA's own Pub/Sub scaler uses MQL, which Google
retires (KEDA 2.21 marks it as deprecated)."""


def scaled_target(group: ReplicaGroup) -> Object:
    """The object whose replicas an autoscaler sets."""
    if group.kind is ServiceKind.LEADER_WORKER_SET:
        version, kind = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"
        return {"apiVersion": version, "kind": kind, "name": group.name}
    suffix = "-predictor" if group.kind is ServiceKind.INFERENCE_SERVICE else ""
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"{group.name}{suffix}"}


def scaler_objects(plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup) -> list[Object]:
    """The autoscaler of a group, and the identity with which it queries; none for fixed replicas."""
    if group.is_fixed:
        return []
    if not scales_with_keda(service.spec):
        return [_autoscaler(plan, service, group)]
    triggers = list(_triggers(plan, service, group))
    spec = {
        "scaleTargetRef": scaled_target(group),
        "minReplicaCount": group.replicas.low,
        "maxReplicaCount": group.replicas.high,
        "pollingInterval": _POLLING_SECONDS,
        "cooldownPeriod": service.spec.cooldown_seconds,
        "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _behavior(service)}},
        **_fallback(group, triggers),
        "triggers": triggers,
    }
    objects = [service_object(plan, service, _KEDA, "ScaledObject", group.name, spec)]
    provider = plan.provider.pod_identity
    if provider and any("authenticationRef" in trigger for trigger in triggers):
        # KEDA's own identity; the cloud allows it to read exactly these queues and metrics.
        identity = {"podIdentity": {"provider": provider}}
        kind = "TriggerAuthentication"
        objects.insert(0, service_object(plan, service, _KEDA, kind, group.name, identity))
    return objects


def service_object(
    plan: PlatformPlan,
    service: ServicePlan,
    api_version: str,
    kind: str,
    name: str,
    spec: Object,
    **metadata: Mapping[str, str],
) -> Object:
    """An object in the namespace of a service."""
    space = service.namespace
    return managed_object(
        plan.name, api_version, kind, name, namespace=space, **metadata, spec=spec
    )


def _behavior(service: ServicePlan) -> Object:
    return {
        "scaleUp": {"stabilizationWindowSeconds": service.spec.scale_up_seconds},
        "scaleDown": {"stabilizationWindowSeconds": service.spec.scale_down_seconds},
    }


def _fallback(group: ReplicaGroup, triggers: list[Object]) -> Object:
    """Without an answer, replicas stay, and at least one runs; CPU and time need no answer."""
    if all(trigger["type"] in {"cpu", "cron"} for trigger in triggers):
        return {}
    return {
        "fallback": {
            "failureThreshold": _FAILURES,
            "replicas": max(1, group.replicas.low),
            "behavior": "currentReplicasIfHigher",
        }
    }


def _autoscaler(plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup) -> Object:
    target = {"type": "Utilization", "averageUtilization": round(_target(service, ScaleOn.CPU))}
    spec = {
        "scaleTargetRef": scaled_target(group),
        "minReplicas": group.replicas.low,
        "maxReplicas": group.replicas.high,
        "behavior": _behavior(service),
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    kind = "HorizontalPodAutoscaler"
    return service_object(plan, service, "autoscaling/v2", kind, group.name, spec)


# ── triggers ──────────────────────────────────────────────────────────────────────────────────────
def _target(service: ServicePlan, metric: ScaleOn) -> float:
    return service.spec.targets.get(metric, DEFAULT_TARGETS[metric])


def _triggers(plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup) -> Iterator[Object]:
    for metric in service.spec.scale_on:
        if metric is ScaleOn.SCHEDULE:
            yield from _cron(service, group)
        elif metric is ScaleOn.CPU:
            value = f"{_target(service, metric):.0f}"
            yield {"type": "cpu", "metricType": "Utilization", "metadata": {"value": value}}
        elif metric is ScaleOn.QUEUE:
            yield _queue(service, group)
        else:
            yield _prometheus(plan, service, group, metric)


def _cron(service: ServicePlan, group: ReplicaGroup) -> Iterator[Object]:
    for window in service.spec.schedule:
        metadata = {
            "timezone": window.time_zone,
            "start": kubernetes_cron(window.start),
            "end": kubernetes_cron(window.end),
            "desiredReplicas": str(min(window.replicas, group.replicas.high)),
        }
        yield {"type": "cron", "metadata": metadata}


def _queue(service: ServicePlan, group: ReplicaGroup) -> Object:
    queue, target = service.spec.queue, f"{_target(service, ScaleOn.QUEUE):g}"
    identity = {"authenticationRef": {"name": group.name}}
    if queue is not None and queue.sqs is not None:
        metadata = {
            "queueURL": queue.sqs,
            "queueLength": f"{max(1, round(float(target)))}",
            "awsRegion": queue.region,
        }
        return {"type": "aws-sqs-queue", "metadata": metadata, **identity}
    project = queue.pubsub.split("/")[1] if queue and queue.pubsub else ""
    metadata = {
        "serverAddress": MONITORING.format(project),
        "query": queue_query(service),
        "threshold": target,
    }
    return {"type": "prometheus", "metadata": metadata, **identity}


def _prometheus(
    plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup, metric: ScaleOn
) -> Object:
    """A lost metric is an error, and the fallback applies; without replicas there may be no metric."""
    observed = plan.observability
    managed = observed.managed if observed else None
    is_signed = managed is not None and not managed.own_collectors
    region = {"awsRegion": plan.region or UnresolvedOutput(REMOTE_REGION)} if is_signed else {}
    address = (observed.address if observed else "") or UnresolvedOutput(QUERY_URL)
    return {
        "type": "prometheus",
        **({"metricType": "Value"} if metric is ScaleOn.GPU else {}),
        "metadata": {
            "serverAddress": address,
            "query": metric_query(plan, service, group, metric),
            "threshold": f"{_target(service, metric):g}",
            "ignoreNullValues": "true" if group.replicas.low == 0 else "false",
            **region,
        },
        **({"authenticationRef": {"name": group.name}} if managed else {}),
    }


# ── queries ───────────────────────────────────────────────────────────────────────────────────────
def metric_query(
    plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup, metric: ScaleOn
) -> str:
    """The query for GPU activity or for requests."""
    if metric is ScaleOn.GPU:
        return _gpu_query(plan, service, group)
    if service.spec.query is not None:
        return service.spec.query
    own = f'namespace="{service.namespace}", job="{group.name}"'
    parts = (f"sum(vllm:num_requests_{state}{{{own}}})" for state in ("running", "waiting"))
    return " + ".join(parts)


def _gpu_query(plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup) -> str:
    """The mean activity in percent: first by GPU or slice, whose pods all repeat its value."""
    pools = metered_pools([plan.pool(group.shape.pool)])
    is_profiled = all(PROFILING in pool.products for pool in pools)
    metric, factor = (
        (f"{PROF}GR_ENGINE_ACTIVE", "100 * ") if is_profiled else (f"{DEV}GPU_UTIL", "")
    )
    pods = _POD_NAMES[group.kind].format(group.name)
    own = f'exported_namespace="{service.namespace}", exported_pod=~"{pods}"'
    return f"{factor}avg(max by (UUID, GPU_I_ID) ({metric}{{{own}}}))"


def queue_query(service: ServicePlan) -> str:
    """The number of messages of a Pub/Sub subscription that no subscriber has acknowledged."""
    queue = service.spec.queue
    name = queue.pubsub.rpartition("/")[2] if queue and queue.pubsub else ""
    own = f'monitored_resource="pubsub_subscription", subscription_id="{name}"'
    return f"sum({_PUBSUB}{{{own}}})"


def scaler_queries(plan: PlatformPlan) -> dict[tuple[int, str], str]:
    """The queries that Prometheus answers, by the number of their service and their metric."""
    found: dict[tuple[int, str], str] = {}
    for number, service in enumerate(plan.services):
        for group in service.groups:
            for metric in service.spec.scale_on:
                if metric in {ScaleOn.GPU, ScaleOn.REQUESTS} and not group.is_fixed:
                    found[number, metric] = metric_query(plan, service, group, metric)
    return found


def queries_managed_prometheus(plan: PlatformPlan) -> bool:
    """Whether KEDA queries a managed service for Prometheus, for which it needs permissions."""
    observed = plan.observability
    return observed is not None and observed.managed is not None and bool(scaler_queries(plan))


def check_scalers(plan: PlatformPlan) -> Iterator[Diagnostic]:
    """Queries of scalers that would return nothing, or that only replicas answer that do not run."""
    scope = query_scope(plan)
    for (number, metric), query in scaler_queries(plan).items():
        service = plan.services[number].spec
        custom = metric == ScaleOn.REQUESTS and service.query is not None
        path: Path = ("workloads", "services", number, "query" if custom else "scale_on")
        yield from check_query(query, scope, path)
        if custom and service.replicas.low == 0:
            yield from _own_metrics(query, path)
    for number, each in enumerate(plan.services):
        if each.spec.queue and each.spec.queue.pubsub:
            of_queue: Path = ("workloads", "services", number, "queue", "pubsub")
            yield from check_query(queue_query(each), scope, of_queue)


def _own_metrics(query: str, path: Path) -> Iterator[Diagnostic]:
    found = {name: metric_of_series(name) for name in sorted(metric_names(query))}
    own = [
        name
        for name, each in found.items()
        if each and (each.exporter == DCGM or exporters()[each.exporter].is_about_target)
    ]
    if own and len(own) == len(found):
        yield error(
            "service.wakes",
            path,
            "without replicas, only pods of the service serve these metrics, so it would stay at zero",
            given=", ".join(own),
            allowed="a metric that exists without replicas, such as that of a gateway",
            fix=Fix(
                message="write replicas: 1..N, or scale_on: queue",
            ),
        )
