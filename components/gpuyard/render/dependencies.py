"""Dependencies between Kubernetes objects: which ones an object names, or must not be before.

What names a missing object is refused by the API server, or accepted and inactive; what is deleted before
its users leaves them broken. So an object is made after those it needs and deleted before them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

_FENCES = dict.fromkeys(("ResourceQuota", "LimitRange", "NetworkPolicy"), "gpuyard")
"""What limits a namespace; people and jobs are let in when it stands."""
_ENTRANCES = frozenset({"LocalQueue", "RoleBinding"})


def needed_by(obj: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Kind and name of the objects that this one needs; some of them may be none of the platform's."""
    spec = obj.get("spec", {})
    if namespace := obj["metadata"].get("namespace"):
        yield "Namespace", namespace
    if obj["kind"] in _ENTRANCES:
        yield from _FENCES.items()
    if obj["kind"] == "RoleBinding":
        yield "Role", obj["roleRef"]["name"]
    if obj["kind"] == "ClusterRoleBinding":
        yield "ClusterRole", obj["roleRef"]["name"]
    yield from _needed_by_queues(obj["kind"], spec)
    if obj["kind"] == "MutatingAdmissionPolicyBinding":
        yield "MutatingAdmissionPolicy", spec["policyName"]
    if obj["kind"] == "ValidatingAdmissionPolicyBinding":
        yield "ValidatingAdmissionPolicy", spec["policyName"]
    if obj["kind"] == "ClusterPolicy":
        for part in ("devicePlugin", "migManager"):
            yield "ConfigMap", spec[part]["config"]["name"]


def _needed_by_queues(kind: str, spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Kueue's objects: what names a missing one is inactive."""
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
    if kind == "AdmissionCheck":
        yield spec["parameters"]["kind"], spec["parameters"]["name"]
    if kind == "MultiKueueConfig":
        for cluster in spec["clusters"]:
            yield "MultiKueueCluster", cluster
