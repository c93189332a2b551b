"""Inference services: a Deployment, LeaderWorkerSet or InferenceService, and what surrounds it.

Kueue admits each replica as a workload of its own. KEDA sets the number of replicas, so no manifest has it: server-side
apply would fight over the field.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gpuyard.plan.records import (
    ObservabilityPlan,
    PlatformPlan,
    ReplicaGroup,
    ServicePlan,
)
from gpuyard.render.limits import gib
from gpuyard.render.objects import SKIP_AWAIT, Object, managed_object
from gpuyard.render.workloads.pods import MainContainer, Purpose, pod_template
from gpuyard.render.workloads.resources import shape_resources
from gpuyard.render.workloads.scalers import scaler_objects, service_object
from gpuyard.spec.sections import ServiceKind
from gpuyard_core.names import (
    GMP_NAMESPACE,
    HOSTNAME_LABEL,
    KEEP_IDLE_LABEL,
    NAMESPACE_LABEL,
    PRIORITY_LABEL,
    QUEUE_LABEL,
    SERVICE_LABEL,
    ZONE_LABEL,
)

_PORT = "http"
_CACHE = "model-cache"
_PROBE_SECONDS = 10
_STOP_SECONDS = 5
"""Before a container stops, so that Services no longer route requests to it."""
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
    template = _template(plan, service, group)
    yield _KINDS[group.kind](_Workload(plan, service, group, template))
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
def _template(plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup) -> Object:
    spec, team = service.spec, plan.team(service.spec.team)
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
@dataclass(frozen=True, slots=True)
class _Workload:
    """The object that creates the pods of a group, without its kind and spec."""

    plan: PlatformPlan
    service: ServicePlan
    group: ReplicaGroup
    template: Object

    def as_object(self, api_version: str, kind: str, spec: Object, **annotations: str) -> Object:
        """With its queue and priority, and no suspension when it is idle, because it scales.

        Its replicas may wait for quota or be scaled to zero.
        """
        team = self.plan.team(self.service.spec.team)
        labels = {
            **self.template["metadata"]["labels"],
            QUEUE_LABEL: team.local_queue,
            PRIORITY_LABEL: self.service.priority,
            KEEP_IDLE_LABEL: "true",
        }
        return service_object(
            self.plan,
            self.service,
            api_version,
            kind,
            self.group.name,
            spec,
            labels=labels,
            annotations={**SKIP_AWAIT, **annotations},
        )


def _replicas(group: ReplicaGroup) -> Object:
    return {"replicas": group.replicas.high} if group.is_fixed else {}


def _rollout(group: ReplicaGroup) -> Object:
    """One more replica during a rollout where the guarantee has room for it, otherwise one less."""
    surge = 1 if group.has_room_for_surge else 0
    return {"maxSurge": surge, "maxUnavailable": 1 - surge}


def _deployment(workload: _Workload) -> Object:
    service, group = workload.service, workload.group
    minutes = service.spec.load_minutes + workload.plan.queueing.start_minutes
    spec = {
        **_replicas(group),
        "selector": {"matchLabels": {SERVICE_LABEL: group.name}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": _rollout(group)},
        "progressDeadlineSeconds": 60 * minutes,
        "template": workload.template,
    }
    return workload.as_object("apps/v1", "Deployment", spec)


def _leader_worker_set(workload: _Workload) -> Object:
    """Only the leader serves requests: workers have no port and no probes."""
    group, leader = workload.group, workload.template
    size = group.shape.nodes
    pods: Object = {"size": size, "restartPolicy": "RecreateGroupOnPodRestart"}
    if size > 1:
        notes = leader["metadata"].get("annotations", {})
        if any(key.startswith(_TOPOLOGY) for key in notes):
            leader["metadata"]["annotations"] = {**notes, _POD_SET_GROUP: "replica"}
        pods |= {"leaderTemplate": leader, "workerTemplate": _worker(leader)}
    else:
        pods["workerTemplate"] = leader
    rollout = {"type": "RollingUpdate", "rollingUpdateConfiguration": _rollout(group)}
    spec = {
        **_replicas(group),
        "startupPolicy": "LeaderCreated",
        "rolloutStrategy": rollout,
        "leaderWorkerTemplate": pods,
    }
    return workload.as_object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)


def _worker(leader: Object) -> Object:
    pod, (main, *others) = leader["spec"], leader["spec"]["containers"]
    serving = {"ports", "startupProbe", "readinessProbe", "livenessProbe"}
    container = {key: value for key, value in main.items() if key not in serving}
    return {
        "metadata": dict(leader["metadata"]),
        "spec": {**pod, "containers": [container, *others]},
    }


def _inference_service(workload: _Workload) -> Object:
    """KServe creates a Deployment with these labels, and leaves its replicas to the ScaledObject."""
    group, template = workload.group, workload.template
    predictor = {
        "minReplicas": group.replicas.low,
        "maxReplicas": max(1, group.replicas.high),
        "deploymentStrategy": {"type": "RollingUpdate", "rollingUpdate": _rollout(group)},
        **template["metadata"],
        **template["spec"],
    }
    annotations = {
        "serving.kserve.io/deploymentMode": "Standard",
        "serving.kserve.io/autoscalerClass": "none" if group.is_fixed else "external",
    }
    api, kind = "serving.kserve.io/v1beta1", "InferenceService"
    result = workload.as_object(api, kind, {"predictor": predictor}, **annotations)
    result["metadata"]["labels"] |= {"networking.kserve.io/visibility": "cluster-local"}
    return result


_KINDS: Mapping[ServiceKind, Callable[[_Workload], Object]] = {
    ServiceKind.DEPLOYMENT: _deployment,
    ServiceKind.LEADER_WORKER_SET: _leader_worker_set,
    ServiceKind.INFERENCE_SERVICE: _inference_service,
}


# ── what surrounds it ─────────────────────────────────────────────────────────────────────────────
def _service(plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup) -> Object:
    leader = _LEADER if group.kind is ServiceKind.LEADER_WORKER_SET else {}
    spec = {
        "selector": {SERVICE_LABEL: group.name, **leader},
        "ports": [{"name": _PORT, "port": service.spec.port, "targetPort": _PORT}],
    }
    name = service_address(group)
    return service_object(plan, service, "v1", "Service", name, spec, annotations=SKIP_AWAIT)


def _disruption_budget(plan: PlatformPlan, service: ServicePlan, group: ReplicaGroup) -> Object:
    spec = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": {SERVICE_LABEL: group.name}},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return service_object(plan, service, "policy/v1", "PodDisruptionBudget", group.name, spec)


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
    spec = {
        "podSelector": {"matchLabels": {SERVICE_LABEL: group.name}},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": peers, "ports": ports}] if peers else [],
    }
    api, kind = "networking.k8s.io/v1", "NetworkPolicy"
    return service_object(plan, service, api, kind, group.name, spec)


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
