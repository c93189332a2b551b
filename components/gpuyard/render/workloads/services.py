"""Inference services: a Deployment, LeaderWorkerSet or InferenceService, and what surrounds it.

Kueue admits each replica as a workload of its own. KEDA sets the number of replicas, so no manifest has it: server-side
apply would fight over the field.
"""

from collections.abc import Iterator
from typing import Any

from gpuyard.names import (
    GMP_NAMESPACE,
    HOSTNAME_LABEL,
    KEEP_IDLE_LABEL,
    NAMESPACE_LABEL,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    SERVICE_LABEL,
    ZONE_LABEL,
)
from gpuyard.plan.records import (
    ObservabilityPlan,
    PlatformPlan,
    ReplicaGroup,
    ServicePlan,
    TeamPlan,
)
from gpuyard.render.limits import gib
from gpuyard.render.objects import Object, managed_object
from gpuyard.render.workloads.pods import MainContainer, Purpose, pod_template
from gpuyard.render.workloads.resources import shape_resources
from gpuyard.render.workloads.scalers import scaler_objects
from gpuyard.spec.sections import ServiceKind

_PORT = "http"
_CACHE = "model-cache"
_PROBE_SECONDS = 10
_STOP_SECONDS = 5
"""Before a container stops, so that Services no longer route requests to it."""
_SKIP_AWAIT = {"pulumi.com/skipAwait": "true"}
"""Replicas may wait for quota or be scaled to zero: a deployment does not wait for them."""
_LEADER = {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
_POD_SET_GROUP = "kueue.x-k8s.io/podset-group-name"
_TOPOLOGY = "kueue.x-k8s.io/podset-"


def service_objects(plan: PlatformPlan) -> dict[str, list[Object]]:
    """The objects of each service, in the namespace of its team."""
    return {
        f"service-{service.spec.name}": [
            each for group in service.groups for each in _group_objects(plan, service, group)
        ]
        for service in plan.services
    }


def _group_objects(
    plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup
) -> Iterator[Object]:
    team = plan.team(service.spec.team)
    template = _template(plan, team, service, group)
    match group.kind:
        case ServiceKind.DEPLOYMENT:
            yield _deployment(plan, team, service, group, template)
        case ServiceKind.LEADER_WORKER_SET:
            yield _leader_worker_set(plan, team, service, group, template)
        case ServiceKind.INFERENCE_SERVICE:
            yield _inference_service(plan, team, service, group, template)
    if group.kind is not ServiceKind.INFERENCE_SERVICE:
        yield _service(plan, service, group)
    yield _disruption_budget(plan, service, group)
    observed = plan.observability
    yield _network_policy(plan, service, group, observed)
    if observed is not None and not plan.simulated:
        yield _monitor(plan, service, group, observed)
    yield from scaler_objects(plan, service, group)


def service_address(group: ReplicaGroup) -> str:
    """The name of the Service of a group; LeaderWorkerSet and KServe create others of their own."""
    suffix = {
        ServiceKind.LEADER_WORKER_SET: "-leader",
        ServiceKind.INFERENCE_SERVICE: "-predictor",
    }
    return f"{group.name}{suffix.get(group.kind, '')}"


# ── pods ──────────────────────────────────────────────────────────────────────────────────────────
def _template(
    plan: PlatformPlan, team: TeamPlan, service: ServicePlan, group: ReplicaGroup
) -> Object:
    spec = service.spec
    is_kserve = group.kind is ServiceKind.INFERENCE_SERVICE
    cached = spec.model is not None and spec.model.cache_gib is not None
    home = {"HF_HOME": spec.model.path} if spec.model and cached else {}
    container = MainContainer(
        image=spec.image,
        name="kserve-container" if is_kserve else "main",
        command=spec.command,
        args=group.args,
        env=tuple({"name": name, "value": value} for name, value in {**home, **spec.env}.items()),
        fields=_ports_and_probes(service),
    )
    template = pod_template(
        plan, [team], shape_resources(plan, group.shape), container, Purpose.SERVICE
    )
    metadata, pod = template["metadata"], template["spec"]
    metadata["labels"] |= {SERVICE_LABEL: group.name}
    pod["terminationGracePeriodSeconds"] = spec.drain_seconds
    pod["topologySpreadConstraints"] = [_spread(group, key) for key in (ZONE_LABEL, HOSTNAME_LABEL)]
    _mount_model(plan, service, pod)
    return template


def _ports_and_probes(service: ServicePlan) -> Object:
    spec = service.spec
    health = {"httpGet": {"path": spec.health_path, "port": _PORT}}
    probe = {**health, "periodSeconds": _PROBE_SECONDS, "timeoutSeconds": 5}
    return {
        "ports": [{"name": _PORT, "containerPort": spec.port, "protocol": "TCP"}],
        "startupProbe": {**probe, "failureThreshold": spec.load_minutes * 60 // _PROBE_SECONDS},
        "readinessProbe": {**probe, "failureThreshold": 3},
        "livenessProbe": {**probe, "failureThreshold": 6},
        "lifecycle": {"preStop": {"sleep": {"seconds": _STOP_SECONDS}}},
    }


def _spread(group: ReplicaGroup, key: str) -> Object:
    """Where there is room: Kueue chooses nodes by quota, not by zone."""
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {SERVICE_LABEL: group.name}},
    }


def _mount_model(plan: PlatformPlan, service: ServicePlan, pod: Object) -> None:
    """Of the team's datasets only that of the model, read-only; or a cache that is deleted with the pod."""
    model, container = service.spec.model, pod["containers"][0]
    claims = {
        each["name"]: each["persistentVolumeClaim"]["claimName"]
        for each in pod["volumes"]
        if "persistentVolumeClaim" in each
    }
    kept = {name for name, claim in claims.items() if model and claim == model.dataset}
    pod["volumes"] = [each for each in pod["volumes"] if each["name"] not in claims.keys() - kept]
    mounts = [each for each in container["volumeMounts"] if each["name"] not in claims]
    if model is None:
        container["volumeMounts"] = mounts
        return
    mounts += [{"name": name, "mountPath": model.path, "readOnly": True} for name in kept]
    if model.cache_gib is not None:
        mounts.append({"name": _CACHE, "mountPath": model.path})
        pod["volumes"].append(_cache(plan, model.cache_gib))
    container["volumeMounts"] = mounts


def _cache(plan: PlatformPlan, size_gib: int) -> Object:
    created = not plan.spec.cluster_exists and plan.provider.storage_class
    spec = {
        "accessModes": ["ReadWriteOnce"],
        **({"storageClassName": created} if created else {}),
        "resources": {"requests": {"storage": gib(size_gib)}},
    }
    return {"name": _CACHE, "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


# ── workloads ─────────────────────────────────────────────────────────────────────────────────────
def _labels(team: TeamPlan, service: ServicePlan, group: ReplicaGroup, template: Object) -> Object:
    """Labels of the workload: its queue and priority, and no suspension when it is idle, because it scales."""
    return {
        **template["metadata"]["labels"],
        QUEUE_LABEL: team.local_queue,
        PRIORITY_LABEL: service.priority,
        KEEP_IDLE_LABEL: "true",
    }


def _replicas(group: ReplicaGroup) -> Object:
    return {"replicas": group.replicas.high} if group.is_fixed else {}


def _rollout(group: ReplicaGroup) -> Object:
    """One more replica during a rollout where the quota has room for it, otherwise one less."""
    surge = 1 if group.has_room_for_surge else 0
    return {"maxSurge": surge, "maxUnavailable": 1 - surge}


def _workload(
    plan: PlatformPlan,
    team: TeamPlan,
    service: ServicePlan,
    group: ReplicaGroup,
    template: Object,
    api_version: str,
    kind: str,
    spec: Object,
    **annotations: str,
) -> Object:
    return managed_object(
        plan.name,
        api_version,
        kind,
        group.name,
        namespace=service.namespace,
        labels=_labels(team, service, group, template),
        annotations={**_SKIP_AWAIT, **annotations},
        spec=spec,
    )


def _deployment(
    plan: PlatformPlan,
    team: TeamPlan,
    service: ServicePlan,
    group: ReplicaGroup,
    template: Object,
) -> Object:
    spec = {
        **_replicas(group),
        "selector": {"matchLabels": {SERVICE_LABEL: group.name}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": _rollout(group)},
        "progressDeadlineSeconds": 60 * (service.spec.load_minutes + plan.queueing.start_minutes),
        "template": template,
    }
    return _workload(plan, team, service, group, template, "apps/v1", "Deployment", spec)


def _leader_worker_set(
    plan: PlatformPlan,
    team: TeamPlan,
    service: ServicePlan,
    group: ReplicaGroup,
    template: Object,
) -> Object:
    """Only the leader serves requests: workers have no port and no probes."""
    leader, worker = template, _worker(template)
    for each in (leader, worker):
        notes = each["metadata"].get("annotations", {})
        if any(key.startswith(_TOPOLOGY) for key in notes) and group.shape.nodes > 1:
            each["metadata"]["annotations"] = {**notes, _POD_SET_GROUP: "replica"}
    pods: Object = {
        "size": group.shape.nodes,
        "restartPolicy": "RecreateGroupOnPodRestart",
        **({"leaderTemplate": leader} if group.shape.nodes > 1 else {}),
        "workerTemplate": worker if group.shape.nodes > 1 else leader,
    }
    spec = {
        **_replicas(group),
        "startupPolicy": "LeaderCreated",
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": _rollout(group),
        },
        "leaderWorkerTemplate": pods,
    }
    version, kind = "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"
    return _workload(plan, team, service, group, template, version, kind, spec)


def _worker(template: Object) -> Object:
    pod, (main, *others) = template["spec"], template["spec"]["containers"]
    serving = {"ports", "startupProbe", "readinessProbe", "livenessProbe"}
    container = {key: value for key, value in main.items() if key not in serving}
    return {
        "metadata": dict(template["metadata"]),
        "spec": {**pod, "containers": [container, *others]},
    }


def _inference_service(
    plan: PlatformPlan,
    team: TeamPlan,
    service: ServicePlan,
    group: ReplicaGroup,
    template: Object,
) -> Object:
    """KServe creates a Deployment with the labels of the InferenceService, and no autoscaler of its own."""
    fixed = group.is_fixed
    predictor = {
        "minReplicas": group.replicas.low,
        "maxReplicas": max(1, group.replicas.high),
        "deploymentStrategy": {"type": "RollingUpdate", "rollingUpdate": _rollout(group)},
        **template["metadata"],
        **template["spec"],
    }
    annotations: dict[str, Any] = {
        "serving.kserve.io/deploymentMode": "Standard",
        "serving.kserve.io/autoscalerClass": "none" if fixed else "external",
    }
    result = _workload(
        plan,
        team,
        service,
        group,
        template,
        "serving.kserve.io/v1beta1",
        "InferenceService",
        {"predictor": predictor},
        **annotations,
    )
    result["metadata"]["labels"] |= {"networking.kserve.io/visibility": "cluster-local"}
    return result


# ── what surrounds it ─────────────────────────────────────────────────────────────────────────────
def _service(plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup) -> Object:
    leader = _LEADER if group.kind is ServiceKind.LEADER_WORKER_SET else {}
    return managed_object(
        plan.name,
        "v1",
        "Service",
        service_address(group),
        namespace=service.namespace,
        annotations=_SKIP_AWAIT,
        spec={
            "selector": {SERVICE_LABEL: group.name, **leader},
            "ports": [{"name": _PORT, "port": service.spec.port, "targetPort": _PORT}],
        },
    )


def _disruption_budget(plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup) -> Object:
    return managed_object(
        plan.name,
        "policy/v1",
        "PodDisruptionBudget",
        group.name,
        namespace=service.namespace,
        spec={
            "maxUnavailable": 1,
            "selector": {"matchLabels": {SERVICE_LABEL: group.name}},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    )


def _network_policy(
    plan: PlatformPlan,
    service: ServicePlan,
    group: ReplicaGroup,
    observed: ObservabilityPlan | None,
) -> Object:
    """Callers of other namespaces and Prometheus; the policy of the namespace allows its own pods."""
    collectors: set[str] = set()
    if observed is not None and not plan.simulated:
        collectors = {observed.namespace if observed.has_operator else GMP_NAMESPACE}
    spaces = sorted({*service.spec.callers, *collectors})
    peers = [{"namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: space}}} for space in spaces]
    ports = [{"protocol": "TCP", "port": service.spec.port}]
    return managed_object(
        plan.name,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        group.name,
        namespace=service.namespace,
        spec={
            "podSelector": {"matchLabels": {SERVICE_LABEL: group.name}},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": peers, "ports": ports}] if peers else [],
        },
    )


def _monitor(
    plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup, observed: ObservabilityPlan
) -> Object:
    """Its series have the label `job` with the name of the replicas."""
    own = plan.provider.pod_monitor(plan, observed, service, group.name)
    if own is not None:
        return own
    endpoint = {
        "port": _PORT,
        "path": service.spec.metrics_path,
        "interval": f"{observed.scrape_seconds}s",
    }
    return managed_object(
        plan.name,
        "monitoring.coreos.com/v1",
        "PodMonitor",
        f"gpuyard-service-{group.name}",
        namespace=observed.namespace,
        labels=observed.labels,
        spec={
            "jobLabel": SERVICE_LABEL,
            "namespaceSelector": {"matchNames": [service.namespace]},
            "selector": {"matchLabels": {SERVICE_LABEL: group.name}},
            "podMetricsEndpoints": [endpoint],
        },
    )
