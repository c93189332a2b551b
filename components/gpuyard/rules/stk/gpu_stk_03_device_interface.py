"""GPU-STK-03: containers get devices by CDI."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, at
from gpuyard.rules.subjects.components import CLUSTER_POLICY, OPERATOR_VALUES


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    path = ("cdi",) if resource.group_kind == OPERATOR_VALUES else ("spec", "cdi")
    if at(resource.properties, *path, "enabled") is False:
        yield Violation(
            (*path, "enabled"),
            "without CDI an environment variable is enough to get every GPU of a node",
            "set cdi.enabled: true, the operator's default",
        )


def _remediate(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    if "spec" in properties:
        return {**properties, "spec": _remediate(properties["spec"])}
    return {**properties, "cdi": {**properties["cdi"], "enabled": True}}


RULE = Rule(
    id="GPU-STK-03",
    title="The Container Device Interface is on",
    severity=Severity.REFUSE,
    why="CDI gives a container the devices it was given, whatever its image or environment say.",
    fix="Leave cdi.enabled on.",
    sources=("NVIDIA GPU Operator documentation, cdi.rst; default since v25.10",),
    kinds=(OPERATOR_VALUES, CLUSTER_POLICY),
    check=_check,
    remediate=_remediate,
)
