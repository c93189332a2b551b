"""GPU-STK-02: the GPU Operator is on a supported release line."""

from collections.abc import Iterator

from gpuyard_core.catalogue.software.pins import GPU_OPERATOR
from gpuyard_core.catalogue.software.support import OperatorStatus, operator_status
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Parameters, Resource, Rule, Violation
from gpuyard_lint.rules.stk.gpu_stk_05_exact_charts import is_ended_release_line
from gpuyard_lint.rules.subjects.components import (
    CLUSTER_POLICY,
    OPERATOR_VALUES,
    RELEASES,
    components_in,
)

_SAYS = {
    OperatorStatus.ENDED: "is no longer supported: its release line gets no fixes",
    OperatorStatus.DEPRECATED: "is on the previous release line: it gets only critical fixes",
}


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    for result in components_in(resource):
        if result.component != "gpu-operator":
            continue
        status = _status(result.version)
        if status is not None and status in _SAYS:
            yield Violation(
                result.path,
                f"GPU Operator {result.version} {_SAYS[status]}",
                f"upgrade one release line at a time to v{GPU_OPERATOR.version}",
            )


def _status(version: str) -> OperatorStatus | None:
    """For a range too, if all its versions are unsupported; None if it is not a version."""
    if is_ended_release_line("gpu-operator", version):
        return OperatorStatus.ENDED
    try:
        return operator_status(version)
    except ValueError:
        return None


RULE = Rule(
    id="GPU-STK-02",
    title="The GPU Operator version is supported",
    severity=Severity.WARNING,
    why="NVIDIA supports upgrades to the next release line only: each skipped line adds an upgrade and a drain.",
    fix="Upgrade the operator one release line at a time to the current one.",
    sources=("NVIDIA GPU Operator documentation, life-cycle policy",),
    kinds=(OPERATOR_VALUES, CLUSTER_POLICY, *RELEASES),
    check=_check,
)
