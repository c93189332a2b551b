"""GPU-AWS-09: a node whose GPU has failed is replaced."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Reference, Resource, Rule, Violation, at, block, is_true
from gpuyard.rules.subjects.pools import NODE_GROUP, gpu_pool


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if gpu_pool(resource) and not is_true(at(resource.properties, "nodeRepairConfig", "enabled")):
        yield Violation(
            ("nodeRepairConfig",),
            "a node whose GPU has fallen off the bus stays, and takes the next job as well",
            "set nodeRepairConfig: {enabled: true}, and install the node monitoring agent",
        )


def _remediate(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    repair = {**block(properties.get("nodeRepairConfig")), "enabled": True}
    return {**properties, "nodeRepairConfig": repair}


RULE = Rule(
    id="GPU-AWS-09",
    title="EKS repairs GPU nodes automatically",
    severity=Severity.WARNING,
    why="GPUs fail far more often than CPUs, and a broken one fails every job that lands on it.",
    fix="Turn node auto repair on for GPU node groups.",
    sources=("EKS best practices guide, AI/ML compute: node health and auto repair",),
    references=(Reference("EKS Best Practices", "AI/ML"),),
    kinds=(NODE_GROUP,),
    check=_check,
    remediate=_remediate,
)
