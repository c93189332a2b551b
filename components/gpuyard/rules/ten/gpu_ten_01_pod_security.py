"""GPU-TEN-01: namespaces with GPUs hold their pods to a standard."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Severity
from gpuyard.names import TEAM_LABEL
from gpuyard.rules.rule import (
    Parameters,
    Reference,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    mapping,
    text,
)
from gpuyard.rules.subjects.tenants import gpu_tenants

_LABEL = "pod-security.kubernetes.io/enforce"
_PATH = ("metadata", "labels", _LABEL)
_OF_OPENSHIFT = ("openshift.io/", "opendatahub.io/")
_ENOUGH = frozenset({"restricted", "baseline"})


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    tenants = gpu_tenants(stack) - set(_held(stack))
    for namespace in stack.of("Namespace"):
        name = text(at(namespace.properties, "metadata", "name"))
        level = text(mapping(at(namespace.properties, "metadata", "labels")).get(_LABEL))
        if name in tenants and level not in _ENOUGH and (level or not _on_openshift(namespace)):
            given = f"`{level}`" if level else "nothing"
            ours = TEAM_LABEL in mapping(at(namespace.properties, "metadata", "labels"))
            yield Violation(
                _PATH,
                f"{given} is asked of pods in {name}: a privileged one reaches every GPU of its node",
                f"label it {_LABEL}: restricted",
                namespace,
                # where nothing is said, a policy engine or the API server's own default may still hold pods
                None if level or ours else Severity.WARN,
            )


def _held(stack: Stack) -> Iterator[str]:
    """Namespaces that one of their manifests has a level for: two of one name are one."""
    for namespace in stack.of("Namespace"):
        metadata = mapping(at(namespace.properties, "metadata"))
        if text(mapping(metadata.get("labels")).get(_LABEL)) in _ENOUGH:
            yield text(metadata.get("name"))


def _on_openshift(namespace: Resource) -> bool:
    """Where constraints hold every pod, and the labels of namespaces follow from them."""
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
    severity=Severity.REFUSE,
    why="Quotas and slices hold only as long as no pod is privileged.",
    fix="Enforce restricted in teams' namespaces, baseline where images become root.",
    sources=("Kubernetes documentation, Pod Security Admission",),
    references=(Reference("CIS EKS 1.8.0", "4.2"), Reference("CIS GKE 1.9.0", "4.2.1")),
    kinds=("Namespace",),
    check_stack=_check,
    remediate=_remediate,
)
