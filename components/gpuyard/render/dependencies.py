"""Dependencies between Kubernetes objects: objects that one names, or must not precede.

The API server rejects an object that names a missing one, or accepts it and it stays inactive;
deleting an object before its users breaks them. So an object is created after those it needs and
deleted before them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.names import GPU_OPERATOR_NAMESPACE, PRIORITY_LABEL, QUEUE_LABEL, TOKEN_OF

ObjectPlace = tuple[str, str, str]
"""Kind, namespace (empty where it has none) and name."""

_FENCES = dict.fromkeys(("ResourceQuota", "LimitRange", "NetworkPolicy"), "gpuyard")
"""Kinds that limit a namespace; members and jobs get access once they exist."""
_ENTRANCES = frozenset({"LocalQueue", "RoleBinding"})


def object_key(obj: Mapping[str, Any]) -> ObjectPlace:
    """Kind, namespace and name of an object."""
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def dependencies_of(obj: Mapping[str, Any]) -> Iterator[ObjectPlace]:
    """The objects that this one needs; some of them may not belong to the platform."""
    spec = obj.get("spec", {})
    if namespace := obj["metadata"].get("namespace"):
        yield "Namespace", "", namespace
    if obj["kind"] in _ENTRANCES:
        for kind, name in _FENCES.items():
            yield kind, namespace, name
    if role := _GRANTED.get(obj["kind"]):
        yield role, namespace or "", obj["roleRef"]["name"]
    yield from _needed_by_name(obj["metadata"], spec)
    if obj["kind"] in _RUN:
        runs = spec["jobTemplate"]["spec"] if obj["kind"] == "CronJob" else spec
        yield from _needed_by_pods(runs["template"]["spec"], obj["metadata"]["namespace"])
    if obj["kind"] == "ClusterPolicy":
        for part in ("devicePlugin", "migManager"):
            yield "ConfigMap", GPU_OPERATOR_NAMESPACE, spec[part]["config"]["name"]
    if policy := _BOUND.get(obj["kind"]):
        yield policy, "", spec["policyName"]
    for kind, name in _needed_by_controllers(obj["kind"], spec):
        yield kind, "", name


def _needed_by_name(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[ObjectPlace]:
    """What labels and annotations name (queue, priority, account), and what a queue refers to."""
    labels, notes = (metadata.get(part) or {} for part in ("labels", "annotations"))
    namespace = metadata.get("namespace", "")
    if queue := labels.get(QUEUE_LABEL):
        for kind in ("LocalQueue", "NetworkPolicy"):
            yield kind, namespace, queue
    if priority := labels.get(PRIORITY_LABEL):
        yield "WorkloadPriorityClass", "", priority
    if account := notes.get(TOKEN_OF):
        yield "ServiceAccount", namespace, account
    if "clusterQueue" in spec:
        yield "ClusterQueue", "", spec["clusterQueue"]
    if "parent" in spec:
        yield "Queue", "", spec["parent"]


def _needed_by_pods(pod: Mapping[str, Any], namespace: str) -> Iterator[ObjectPlace]:
    """Pods need what they mount, and the permissions and restrictions of their account."""
    if account := pod.get("serviceAccountName"):
        for kind in ("ServiceAccount", "RoleBinding"):
            yield kind, namespace, account
        for kind in ("ClusterRoleBinding", "ValidatingAdmissionPolicyBinding"):
            yield kind, "", account
    for volume in pod.get("volumes", ()):
        if "configMap" in volume:
            yield "ConfigMap", namespace, volume["configMap"]["name"]
        if "persistentVolumeClaim" in volume:
            yield "PersistentVolumeClaim", namespace, volume["persistentVolumeClaim"]["claimName"]
        if "secret" in volume:
            yield "Secret", namespace, volume["secret"]["secretName"]
    if "subdomain" in pod:
        yield "Service", namespace, pod["subdomain"]


_RUN = frozenset({"CronJob", "DaemonSet", "Deployment", "Job"})
_GRANTED = {"RoleBinding": "Role", "ClusterRoleBinding": "ClusterRole"}
_BOUND = {
    f"{kind}AdmissionPolicyBinding": f"{kind}AdmissionPolicy" for kind in ("Mutating", "Validating")
}


_NAMED_IN = {
    "AdmissionCheck": ("parameters",),
    "NodePool": ("template", "spec", "nodeClassRef"),
}
"""Path at which a kind names another object by kind and name."""


def _named(spec: Mapping[str, Any], *path: str) -> tuple[str, str]:
    for step in path:
        spec = spec[step]
    return spec["kind"], spec["name"]


def _needed_by_controllers(kind: str, spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Objects of Kueue, Volcano and Karpenter: one that names a missing object is inactive or rejected."""
    if kind in {"Cohort", "ClusterQueue"}:
        if cohort := spec.get("parentName") or spec.get("cohortName"):
            yield "Cohort", cohort
        for group in spec.get("resourceGroups", ()):
            for flavor in group["flavors"]:
                yield "ResourceFlavor", flavor["name"]
        for check in spec.get("admissionChecksStrategy", {}).get("admissionChecks", ()):
            yield "AdmissionCheck", check["name"]
    if kind == "ResourceFlavor" and "topologyName" in spec:
        yield "Topology", spec["topologyName"]
    if kind in _NAMED_IN:
        yield _named(spec, *_NAMED_IN[kind])
    if kind == "MultiKueueConfig":
        for cluster in spec["clusters"]:
            yield "MultiKueueCluster", cluster
