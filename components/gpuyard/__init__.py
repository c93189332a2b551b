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
    "Diagnostic": "gpuyard_core.findings",
    "GpuYardError": "gpuyard_core.errors",
    "PlanRejected": "gpuyard_core.errors",
    "PlatformPlan": "gpuyard.plan.records",
    "PlatformSpec": "gpuyard.spec.platform",
    "Severity": "gpuyard_core.findings",
    "SpecError": "gpuyard_core.errors",
    "plan_or_raise": "gpuyard.plan.platform",
    "platform_spec": "gpuyard.spec.read",
    "read_stack_file": "gpuyard.spec.read",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that `import gpuyard` is fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gpuyard' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
