"""GPU-TEN-01: namespaces with GPUs enforce a Pod Security level."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_core.names import TEAM_LABEL
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.tenants import gpu_tenants

_LABEL = "pod-security.kubernetes.io/enforce"
_PATH = ("metadata", "labels", _LABEL)
_OF_OPENSHIFT = ("openshift.io/", "opendatahub.io/")
_ENOUGH = frozenset({"restricted", "baseline"})
_POLICY = "admissionregistration.k8s.io/ValidatingAdmissionPolicy"
_KYVERNO = ("kyverno.io/ClusterPolicy", "policies.kyverno.io/ValidatingPolicy")
_GATEKEEPER = "constraints.gatekeeper.sh/K8sPSP"
_PRIVILEGES = re.compile(r"privilege[ds]|allowPrivilegeEscalation|podSecurity\b", re.IGNORECASE)
_SOME = re.compile(r"['\"](?:namespaceSelector|namespaces)['\"]: [{\[]")
_AUDIT = re.compile(
    r"['\"](?:validationFailureAction|failureAction)['\"]: ['\"]audit", re.IGNORECASE
)


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    tenants = gpu_tenants(stack) - set(_restricted_namespaces(stack))
    by_policy = _is_policed(stack)
    for namespace in stack.resources_of_kinds("Namespace"):
        name = text(at(namespace.properties, "metadata", "name"))
        level = text(mapping(at(namespace.properties, "metadata", "labels")).get(_LABEL))
        if name in tenants and level not in _ENOUGH and (level or not _on_openshift(namespace)):
            value = f"`{level}`" if level else "no Pod Security level"
            ours = TEAM_LABEL in mapping(at(namespace.properties, "metadata", "labels"))
            if by_policy and not level and not ours:
                continue
            yield Violation(
                _PATH,
                f"{name} enforces {value}: a privileged pod reaches every GPU of its node",
                f"label it {_LABEL}: restricted",
                namespace,
                # without a label, a policy engine or a default of the API server may still restrict pods
                None if level or ours else Severity.WARNING,
            )


def _restricted_namespaces(stack: Stack) -> Iterator[str]:
    """Namespaces that have a level in one of their manifests: two with one name are the same."""
    for namespace in stack.resources_of_kinds("Namespace"):
        metadata = mapping(at(namespace.properties, "metadata"))
        if text(mapping(metadata.get("labels")).get(_LABEL)) in _ENOUGH:
            yield text(metadata.get("name"))


def _is_policed(stack: Stack) -> bool:
    """Whether a policy in the input rejects privileged pods in every namespace."""
    constraints = (kind for kind in stack.by_kind if kind.startswith(_GATEKEEPER))
    policies = [
        *stack.resources_of_kinds(*_KYVERNO, *constraints),
        *filter(_is_bound(stack), stack.resources_of_kinds(_POLICY)),
    ]
    specs = (str(policy.properties.get("spec")) for policy in policies)
    return any(
        (_PRIVILEGES.search(spec) or policy.group_kind.startswith(_GATEKEEPER))
        and not _SOME.search(spec)
        and not _AUDIT.search(spec)
        for policy, spec in zip(policies, specs, strict=True)
    )


def _is_bound(stack: Stack) -> Callable[[Resource], bool]:
    """Whether a ValidatingAdmissionPolicy is bound with Deny."""
    bound = {
        text(at(each.properties, "spec", "policyName"))
        for each in stack.resources_of_kinds(f"{_POLICY}Binding")
        if "Deny" in items(at(each.properties, "spec", "validationActions"))
        and not at(each.properties, "spec", "matchResources")
    }
    return lambda policy: policy.name in bound


def _on_openshift(namespace: Resource) -> bool:
    """Whether constraints apply to every pod, and namespace labels follow from them."""
    metadata = mapping(at(namespace.properties, "metadata"))
    words = [*mapping(metadata.get("labels")), *mapping(metadata.get("annotations"))]
    return any(each in str(word) for word in words for each in _OF_OPENSHIFT)


def _remediate(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = mapping(properties.get("metadata"))
    labels = {**mapping(metadata.get("labels")), _LABEL: "restricted"}
    return {**properties, "metadata": {**metadata, "labels": labels}}


RULE = Rule(
    id="GPU-TEN-01",
    title="Namespaces of teams enforce a Pod Security level",
    severity=Severity.ERROR,
    why="Quotas and slices are effective only if no pod is privileged.",
    fix="Enforce restricted in teams' namespaces, or baseline where images run as root.",
    sources=("Kubernetes documentation, Pod Security Admission",),
    references=(AuditReference("CIS EKS 1.8.0", "4.2"), AuditReference("CIS GKE 1.9.0", "4.2.1")),
    kinds=("Namespace",),
    check_stack=_check,
    remediate=_remediate,
)
