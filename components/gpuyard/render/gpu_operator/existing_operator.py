"""An existing operator: how it must be configured so that nodes match the plan.

It has one ClusterPolicy. Only the fields that the plan depends on are compared: which part it
installs, with which settings, which configurations the agents and the exporter read, and their tolerations. All
others are its owner's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.software.support import joins_operator
from gpuyard.render.gpu_operator.values import operator_values
from gpuyard_core.catalogue.software.images import SoftwarePart

_DECIDED_BY_OWNER = frozenset(
    {"version", "kernelModuleType", "upgradePolicy", "repository", "manager"}
)
"""Fields of a part that the owner decides: version, source and upgrade policy."""
_ON = True
"""Default of a policy that does not set `enabled` of a part."""
_OFF = frozenset({"dcgmExporter.serviceMonitor.enabled"})
"""What is off if a policy does not set it (gpu-operator v26.7 api/nvidia/v1/clusterpolicy_types.go)."""


def required_values(plan: PlatformPlan) -> dict[str, Any]:
    """Required values of an existing operator; empty if gpuyard installs it or it has no parts."""
    parts = plan.operator
    if parts is None or not joins_operator(plan.spec) or not any(parts.enabled.values()):
        return {}
    values = operator_values(plan, parts)
    compared = [part.value for part in SoftwarePart]
    if plan.observability is not None:
        compared.append("dcgmExporter")
    results = {
        part: {k: v for k, v in values[part].items() if k not in _DECIDED_BY_OWNER}
        for part in compared
    }
    results["daemonsets"] = {"tolerations": values["daemonsets"]["tolerations"]}
    results["mig"] = values["mig"]
    return results | ({"hostPaths": values["hostPaths"]} if "hostPaths" in values else {})


def differences(plan: PlatformPlan, policy: Mapping[str, Any]) -> list[str]:
    """Differences of a ClusterPolicy from what nodes need: path, actual value, required value."""
    return list(_differences(required_values(plan), policy.get("spec") or {}, ""))


def _differences(needed: Mapping[str, Any], existing: Mapping[str, Any], at: str) -> Iterator[str]:
    for key, expected in needed.items():
        path, has = f"{at}{key}", existing.get(key)
        if isinstance(expected, Mapping):
            yield from _differences(expected, has or {}, f"{path}.")
        elif isinstance(expected, list):
            if missing := [each for each in expected if each not in (has or [])]:
                yield f"{path} lacks {', '.join(_shown(each) for each in missing)}"
        elif not _serves(path, expected, has):
            yield f"{path} is {_shown(has)}, required {_shown(expected)}"


def _serves(path: str, expected: object, has: object) -> bool:
    """A missing value means enabled, and an empty strategy lets each pool have its own."""
    if has is None and path in _OFF:
        return not expected
    if has is None or has == "":
        return expected == "" or path == "mig.strategy" or expected is _ON
    return has == expected


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {_shown(v)}" for k, v in value.items()) + "}"
    if value is None or value == "":
        return "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)
