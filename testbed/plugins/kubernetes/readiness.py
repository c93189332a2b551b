"""Readiness of objects: one function per kind, as in provider/pkg/await of the official provider.

Each function inspects the live object (and its dependents) once and returns a state.
`awaiting.py` repeats this until the state is final.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from testbed.plugins.kubernetes import kstatus
from testbed.plugins.kubernetes.cluster import Cluster
from testbed.plugins.kubernetes.failures import ApiError
from testbed.plugins.kubernetes.values import Object, path

REVISION = "deployment.kubernetes.io/revision"
# The official provider lets endpoints settle for 10 s; the condition is that no address is pending
# when that time has passed.
ENDPOINTS_SETTLE_SECONDS = 2.0


@dataclass
class State:
    """The result of one inspection of an object."""

    ready: bool = False
    message: str = ""
    reasons: list[str] = field(default_factory=list)
    failed: bool = False  # it will never become ready


@dataclass
class Look:
    """What a rule may inspect besides the live object."""

    cluster: Cluster
    first: Object  # the API server's response to the write
    before: Object | None = None  # before the write; None on create
    started: float = field(default_factory=time.monotonic)
    memory: dict[str, Any] = field(default_factory=dict)

    def owned(self, api_version: str, kind: str, owner: Object) -> list[Object]:
        """The objects of a kind in the namespace of the owner that name it as their owner."""
        uid = path(owner, "metadata", "uid")
        try:
            items = self.cluster.list(api_version, kind, path(owner, "metadata", "namespace"))
        except ApiError:
            return []
        return [item for item in items if any(ref.get("uid") == uid for ref in _owners(item))]


Rule = Callable[[Look, Object], State]


def _owners(obj: Object) -> list[Object]:
    return path(obj, "metadata", "ownerReferences", default=[]) or []


def _conditions(obj: Object) -> dict[str, Object]:
    return {
        item.get("type", ""): item for item in path(obj, "status", "conditions", default=[]) or []
    }


def _true(condition: Object | None) -> bool:
    return condition is not None and condition.get("status") == "True"


def _number(obj: Object, *keys: str, default: int = 0) -> int:
    value = path(obj, *keys, default=default)
    return value if isinstance(value, int) else default


def _stale(look: Look, live: Object) -> bool:
    """Whether the controller has not seen the write yet."""
    generation = _number(live, "metadata", "generation")
    if generation < _number(look.first, "metadata", "generation"):
        return True
    return _number(live, "status", "observedGeneration", default=-1) < generation


def _revision(obj: Object | None) -> str:
    return str(path(obj, "metadata", "annotations", REVISION, default="")) if obj else ""


def deployment(look: Look, live: Object) -> State:
    """Available, and the ReplicaSet of the current revision has all its pods: await/deployment.go."""
    revision, conditions = _revision(live), _conditions(live)
    stopped = [conditions[kind] for kind in ("Progressing", "Available") if kind in conditions]
    reasons = [
        f"[{item.get('reason')}] {item.get('message')}" for item in stopped if not _true(item)
    ]
    available = _true(conditions.get("Available"))
    progressing = conditions.get("Progressing") or {}
    rolled_out = _true(progressing) and progressing.get("reason") == "NewReplicaSetAvailable"
    sets = {_revision(item): item for item in look.owned("apps/v1", "ReplicaSet", live)}
    current = sets.get(revision) if revision else None
    expected = _number(current or {}, "spec", "replicas", default=1)
    ready = _number(current or {}, "status", "readyReplicas")
    updated = current is not None and ready >= expected
    done = available and updated and (rolled_out or revision == "1")
    if done and not _stale(look, live):
        return State(ready=True, message="Deployment initialization complete")
    if not available:
        reasons.append("Minimum number of live Pods was not attained")
    elif not rolled_out and revision != "1":
        reasons.append("Minimum number of Pods to consider the application live was not attained")
    elif not updated:
        reasons.append(
            "Attempted to roll forward to new ReplicaSet, but minimum number of Pods did not become live"
        )
    reasons += _pod_errors(look, current)
    return State(
        message=f"Waiting for app ReplicaSet to be available ({ready}/{expected} Pods available)",
        reasons=reasons,
    )


def stateful_set(look: Look, live: Object) -> State:
    """All replicas ready and of the newest revision: await/statefulset.go."""
    expected = _number(live, "spec", "replicas")
    status = {
        key: _number(live, "status", key)
        for key in ("replicas", "readyReplicas", "currentReplicas")
    }
    current, target = (
        str(path(live, "status", key, default="")) for key in ("currentRevision", "updateRevision")
    )
    on_delete = (
        path(live, "spec", "updateStrategy", "type") == "OnDelete" and look.before is not None
    )
    revision_ready = on_delete or (bool(current) and current == target)
    counted = ("replicas", "readyReplicas") if on_delete else tuple(status)
    replicas_ready = all(status[key] == expected for key in counted)
    if revision_ready and replicas_ready and not _stale(look, live):
        return State(ready=True, message="StatefulSet initialization complete")
    reasons = []
    if not replicas_ready:
        reasons.append(
            f"{status['readyReplicas']} out of {expected} replicas succeeded readiness checks"
        )
    if not revision_ready:
        reasons.append(
            f'StatefulSet controller failed to advance from revision "{current}" to revision "{target}"'
        )
    message = (
        "[1/3] Waiting for StatefulSet update to roll out "
        f"({status['readyReplicas']}/{expected} Pods ready)"
    )
    return State(message=message, reasons=reasons + _pod_errors(look, live))


def daemon_set(look: Look, live: Object) -> State:
    """The generic rule for a DaemonSet reports it as current: await/daemonset.go."""
    if _number(live, "metadata", "generation") < _number(look.first, "metadata", "generation"):
        return State(message="Waiting for the DaemonSet controller")
    current, message = kstatus.compute(live)
    return State(
        ready=current,
        message=message,
        reasons=[] if current else [message, *_pod_errors(look, live)],
    )


def job(look: Look, live: Object) -> State:
    """Started and complete; two reasons for failure end the wait: await/job.go, checker/job/check.go."""
    name = _qualified(live)
    conditions = _conditions(live)
    failed = conditions.get("Failed")
    if (
        _true(failed)
        and failed is not None
        and failed.get("reason") in {"BackoffLimitExceeded", "DeadlineExceeded"}
    ):
        reasons = [f"[{failed['reason']}] {failed.get('message', '')}", *_pod_errors(look, live)]
        return State(failed=True, message=f'Job "{name}" failed', reasons=reasons)
    if path(live, "status", "startTime") is None:
        return State(message=f'Waiting for Job "{name}" to start')
    counts = [_number(live, "status", key) for key in ("active", "succeeded", "failed")]
    progress = "(Active: {} | Succeeded: {} | Failed: {})".format(*counts)
    ready = _true(conditions.get("Complete"))
    reasons = [] if ready else _pod_errors(look, live)
    return State(
        ready=ready, message=f'Waiting for Job "{name}" to succeed {progress}', reasons=reasons
    )


def pod(_look: Look, live: Object) -> State:
    """Scheduled, initialized, ready: await/pod.go, checker/pod/check.go."""
    name = _qualified(live)
    conditions = _conditions(live)
    for kind, verb in (
        ("PodScheduled", "scheduled"),
        ("Initialized", "initialized"),
        ("Ready", "ready"),
    ):
        result = conditions.get(kind)
        succeeded = kind == "Ready" and path(live, "status", "phase") == "Succeeded"
        if not _true(result) and not succeeded:
            errors = _container_errors(live) if kind != "PodScheduled" else []
            reported = str((result or {}).get("message", ""))
            text = f"[Pod {name}]: {reported}{' '.join(errors)}"
            return State(
                message=f'Waiting for Pod "{name}" to be {verb}',
                reasons=[text] if reported or errors else [],
            )
    return State(ready=True)


def service(look: Look, live: Object) -> State:
    """An address where one must come from outside, and no pending endpoint: await/service.go."""
    spec = live.get("spec") or {}
    balanced = spec.get("type") == "LoadBalancer"
    addressed = not balanced or bool(path(live, "status", "loadBalancer", "ingress"))
    reasons = (
        []
        if addressed
        else ["Service was not allocated an IP address; does your cloud provider support this?"]
    )
    without_pods = (
        spec.get("type") == "ExternalName"
        or spec.get("clusterIP") == "None"
        or not spec.get("selector")
    )
    if without_pods:
        return State(ready=addressed, message="Waiting for an address", reasons=reasons)
    try:
        endpoints = look.cluster.get({**live, "kind": "Endpoints", "apiVersion": "v1"})
    except ApiError:
        endpoints = {}
    subsets = endpoints.get("subsets") or []
    version = path(endpoints, "metadata", "resourceVersion")
    if look.memory.get("endpoints") != version:
        look.memory.update(endpoints=version, changed=time.monotonic())
    settled = (
        version is not None
        and time.monotonic() - look.memory["changed"] >= ENDPOINTS_SETTLE_SECONDS
    )
    pending = any(subset.get("notReadyAddresses") for subset in subsets)
    if not any(subset.get("addresses") for subset in subsets):
        reasons.insert(
            0,
            "Service does not target any Pods. Selected Pods may not be ready, or "
            "field '.spec.selector' may not match labels on any Pods",
        )
    ready = addressed and settled and not pending
    return State(
        ready=ready,
        message="[1/3] Finding Pods to direct traffic to",
        reasons=[] if ready else reasons,
    )


def claim(look: Look, live: Object) -> State:
    """Bound; or pending if the storage class waits for the first consumer."""
    phase = path(live, "status", "phase")
    name = path(live, "spec", "storageClassName")
    if phase != "Bound" and look.before is None and name and "mode" not in look.memory:
        try:
            storage = {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": name},
            }
            look.memory["mode"] = look.cluster.get(storage).get("volumeBindingMode")
        except ApiError as error:
            return State(message=f'getting storageclass "{name}": {error}', reasons=[str(error)])
    waits = look.memory.get("mode") == "WaitForFirstConsumer"
    ready = phase == "Bound" or (waits and phase == "Pending")
    return State(
        ready=ready,
        message=f"PersistentVolumeClaim is {phase}",
        reasons=[] if ready else [f"phase is {phase}"],
    )


def volume(_look: Look, live: Object) -> State:
    """Available or bound: untilCoreV1PersistentVolumeInitialized."""
    phase = path(live, "status", "phase")
    return State(ready=phase in {"Available", "Bound"}, message=f"PersistentVolume is {phase}")


def replication_controller(_look: Look, live: Object) -> State:
    """As many available replicas as requested."""
    expected, got = _number(live, "spec", "replicas"), _number(live, "status", "availableReplicas")
    return State(ready=expected == got, message=f"{got} of {expected} replicas available")


def resource_quota(_look: Look, live: Object) -> State:
    """The controller has applied the limits: untilCoreV1ResourceQuotaInitialized."""
    ready = path(live, "spec", "hard") == path(live, "status", "hard")
    return State(ready=ready, message="Waiting for the quota controller")


def secret(_look: Look, live: Object) -> State:
    """A service account token gets its data from a controller; every other Secret is ready at once."""
    waits = live.get("type") == "kubernetes.io/service-account-token"
    return State(ready=not waits or bool(live.get("data")), message="Waiting for the token")


RULES: dict[str, Rule] = {
    "apps/v1/Deployment": deployment,
    "apps/v1/StatefulSet": stateful_set,
    "apps/v1/DaemonSet": daemon_set,
    "batch/v1/Job": job,
    "v1/Pod": pod,
    "v1/Service": service,
    "v1/PersistentVolumeClaim": claim,
    "v1/PersistentVolume": volume,
    "v1/ReplicationController": replication_controller,
    "v1/ResourceQuota": resource_quota,
    "v1/Secret": secret,
}
# Kinds with a shorter limit than ten minutes in the official provider.
TIMEOUTS = {
    "v1/PersistentVolumeClaim": 300.0,
    "v1/PersistentVolume": 300.0,
    "v1/ResourceQuota": 60.0,
    "v1/Secret": 5.0,
}
# Kinds whose readiness Read (refresh) reports; the others are only fetched.
CHECKED_ON_READ = {
    *("apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/DaemonSet"),
    *("batch/v1/Job", "v1/Pod", "v1/Service"),
}


def _qualified(obj: Object) -> str:
    namespace, name = path(obj, "metadata", "namespace"), path(obj, "metadata", "name")
    return f"{namespace}/{name}" if namespace and namespace != "default" else str(name)


def _pod_errors(look: Look, owner: Object | None) -> list[str]:
    """Errors of a controller's pods."""
    if owner is None:
        return []
    return [reason for item in look.owned("v1", "Pod", owner) for reason in pod(look, item).reasons]


def _container_errors(obj: Object) -> list[str]:
    return [
        text
        for item in path(obj, "status", "containerStatuses", default=[]) or []
        for text in _complaints(item)
    ]


def _complaints(status: Object) -> list[str]:
    if status.get("ready"):
        return []
    texts = []
    waiting = path(status, "state", "waiting") or {}
    if waiting.get("reason") and waiting["reason"] != "ContainerCreating":
        texts.append(f"[{waiting['reason']}] {waiting.get('message', '')}")
    ended = path(status, "state", "terminated") or {}
    if ended.get("reason") and ended.get("message"):
        texts.append(f"[{ended['reason']}] {ended['message']}")
    elif ended.get("reason"):
        texts.append(
            f'container "{status.get("name")}" completed with exit code {ended.get("exitCode")}'
        )
    last = path(status, "lastState", "terminated") or {}
    if last:
        how = f"{last.get('reason')}: exit code {last.get('exitCode')}"
        texts.append(
            f'container "{status.get("name")}" terminated at {last.get("finishedAt")} ({how})'
        )
    return texts
