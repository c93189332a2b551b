"""GPU-AWS-09: EKS replaces a node with a failed GPU."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Violation,
    at,
    block,
    is_true,
)
from gpuyard_lint.rules.subjects.pools import NODE_GROUP, gpu_pool


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if gpu_pool(resource) and not is_true(at(resource.properties, "nodeRepairConfig", "enabled")):
        yield Violation(
            ("nodeRepairConfig",),
            "a node with a failed GPU stays in the group, and the next job fails on it too",
            "set nodeRepairConfig: {enabled: true}, and install the node monitoring agent",
        )


def _remediate(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    repair = {**block(properties.get("nodeRepairConfig")), "enabled": True}
    return {**properties, "nodeRepairConfig": repair}


RULE = Rule(
    id="GPU-AWS-09",
    title="EKS repairs GPU nodes automatically",
    severity=Severity.WARNING,
    why="GPUs fail far more often than CPUs, and a failed GPU fails every job scheduled on it.",
    fix="Enable node auto repair for GPU node groups.",
    sources=("EKS best practices guide, AI/ML compute: node health and auto repair",),
    references=(AuditReference("EKS Best Practices", "AI/ML"),),
    kinds=(NODE_GROUP,),
    check=_check,
    remediate=_remediate,
)
