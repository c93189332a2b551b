"""GPU-STK-03: containers get devices with CDI."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation, at, items, mapping, text
from gpuyard_lint.rules.subjects.components import OPERATORS, is_switched_off
from gpuyard_lint.rules.subjects.operator_settings import is_full_copy

_BY_VARIABLE = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"
"""The toolkit setting with which volumes, not variables, select the GPUs of a container."""

_OF_MACHINES = "vm-"
_BEFORE = {
    "toolkit": re.compile(r"v?1\.(?:\d|1[0-7])\."),
    "driver": re.compile(r"(?:[1-4]\d\d|5[0-6]\d)\."),
}
"""Components of operators with CDI off by default; v25.10, with CDI on, has toolkit v1.18 and driver 580."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    above = OPERATORS[resource.group_kind]
    value = mapping(resource.properties, *above)
    off = is_switched_off(at(resource.properties, *above, "cdi", "enabled"))
    machines = text(at(resource.properties, *above, "sandboxWorkloads", "defaultWorkload"))
    if machines.startswith(_OF_MACHINES):
        return  # nodes there run virtual machines and have no toolkit
    if off and not _takes_no_variable(at(resource.properties, *above, "toolkit", "env")):
        yield Violation(
            (*above, "cdi", "enabled"),
            "without CDI a container gets every GPU of a node with an environment variable",
            "set cdi.enabled: true, the operator's default",
            is_advisory=_is_of_openshift(value)
            or is_full_copy(value, policy=bool(above))
            or not _is_of_before(value),
        )


def _is_of_openshift(chart_values: Mapping[str, Any]) -> bool:
    """Whether it is OpenShift, whose operator had CDI off and supported it late."""
    operator = mapping(chart_values.get("operator"))
    return text(operator.get("defaultRuntime")) == "crio" or "use_ocp_driver_toolkit" in operator


def _is_of_before(chart_values: Mapping[str, Any]) -> bool:
    """Whether it repeats the operator's earlier default: otherwise it is deliberately off."""
    for part, before in _BEFORE.items():
        section = chart_values.get(part)
        version = section.get("version") if isinstance(section, Mapping) else None
        if isinstance(version, str) and before.match(version):
            return True
    return mapping(chart_values.get("cdi")).get("default") is False


def _takes_no_variable(env: Any) -> bool:
    """Whether the toolkit ignores the variable of an unprivileged container."""
    variables = [mapping(each) for each in items(env)]
    return any(
        text(each.get("name")) == _BY_VARIABLE and str(each.get("value")).lower() == "false"
        for each in variables
    )


def _remediate(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    if "spec" in properties:
        return {**properties, "spec": _remediate(properties["spec"])}
    return {**properties, "cdi": {**properties["cdi"], "enabled": True}}


RULE = Rule(
    id="GPU-STK-03",
    title="The Container Device Interface is enabled",
    severity=Severity.ERROR,
    why="With CDI a container gets only its allocated devices, regardless of its image and environment.",
    fix="Set cdi.enabled: true, or omit it.",
    sources=(
        "NVIDIA GPU Operator documentation, cdi.rst; default since v25.10",
        "NVIDIA/nvidia-container-toolkit: accept-nvidia-visible-devices-envvar-when-unprivileged",
    ),
    kinds=tuple(OPERATORS),
    check=_check,
    remediate=_remediate,
)
