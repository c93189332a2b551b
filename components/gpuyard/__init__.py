"""GPU Yard: from one typed spec to a validated GPU platform on Kubernetes.

This package is the pure part of the library. The Pulumi components are in `gpuyard.resources`, so that
importing this package loads neither Pulumi nor a cloud SDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuyard.plan.platform import plan_or_raise
    from gpuyard.plan.records import PlatformPlan
    from gpuyard.spec.platform import PlatformSpec
    from gpuyard.spec.read import platform_spec, read_stack_file
    from gpuyard_core.errors import GpuYardError, PlanRejected, SpecError
    from gpuyard_core.findings import Diagnostic, Severity

__all__ = [
    "Diagnostic",
    "GpuYardError",
    "PlanRejected",
    "PlatformPlan",
    "PlatformSpec",
    "Severity",
    "SpecError",
    "plan_or_raise",
    "platform_spec",
    "read_stack_file",
]

_HOMES = {
    "Diagnostic": "findings",
    "GpuYardError": "errors",
    "PlanRejected": "errors",
    "PlatformPlan": "plan.records",
    "PlatformSpec": "spec.platform",
    "Severity": "findings",
    "SpecError": "errors",
    "plan_or_raise": "plan.platform",
    "platform_spec": "spec.read",
    "read_stack_file": "spec.read",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that `import gpuyard` is fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gpuyard' has no attribute {name!r}")
    return getattr(import_module(f"gpuyard.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
