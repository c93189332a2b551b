"""GPU-STK-03: containers get devices by CDI."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, at, items, mapping, text
from gpuyard.rules.subjects.components import OPERATORS, is_switched_off
from gpuyard.rules.subjects.operator_settings import is_full_copy

_BY_VARIABLE = "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"
"""What the toolkit is told where volumes and not variables say which GPUs a container gets."""

_OF_MACHINES = "vm-"
_BEFORE = {
    "toolkit": re.compile(r"v?1\.(?:\d|1[0-7])\."),
    "driver": re.compile(r"(?:[1-4]\d\d|5[0-6]\d)\."),
}
"""Parts of operators that had CDI off by themselves; v25.10, which has it on, came with v1.18 and 580."""


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    above = OPERATORS[resource.group_kind]
    value = mapping(resource.properties, *above)
    off = is_switched_off(at(resource.properties, *above, "cdi", "enabled"))
    machines = text(at(resource.properties, *above, "sandboxWorkloads", "defaultWorkload"))
    if machines.startswith(_OF_MACHINES):
        return  # nodes are for virtual machines there, and have no toolkit
    if off and not _takes_no_variable(at(resource.properties, *above, "toolkit", "env")):
        yield Violation(
            (*above, "cdi", "enabled"),
            "without CDI an environment variable is enough to get every GPU of a node",
            "set cdi.enabled: true, the operator's default",
            is_advisory=_is_of_openshift(value)
            or is_full_copy(value, policy=bool(above))
            or not _is_of_before(value),
        )


def _is_of_openshift(chart_values: Mapping[str, Any]) -> bool:
    """Whether it is OpenShift's, whose own form of it had CDI off, and where it was supported late."""
    operator = mapping(chart_values.get("operator"))
    return text(operator.get("defaultRuntime")) == "crio" or "use_ocp_driver_toolkit" in operator


def _is_of_before(chart_values: Mapping[str, Any]) -> bool:
    """Whether it says what the operator once did by itself: else it is off because somebody wants it so."""
    for part, before in _BEFORE.items():
        section = chart_values.get(part)
        version = section.get("version") if isinstance(section, Mapping) else None
        if isinstance(version, str) and before.match(version):
            return True
    return mapping(chart_values.get("cdi")).get("default") is False


def _takes_no_variable(env: Any) -> bool:
    """Whether the toolkit gives a container without privilege nothing for a variable."""
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
    why="CDI gives a container the devices it was given, whatever its image or environment say.",
    fix="Leave cdi.enabled on.",
    sources=(
        "NVIDIA GPU Operator documentation, cdi.rst; default since v25.10",
        "NVIDIA/nvidia-container-toolkit: accept-nvidia-visible-devices-envvar-when-unprivileged",
    ),
    kinds=tuple(OPERATORS),
    check=_check,
    remediate=_remediate,
)
