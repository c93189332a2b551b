"""GPU-STK-02: the GPU Operator is of a line that still gets fixes."""

from collections.abc import Iterator

from gpuyard.catalogue.software.pins import GPU_OPERATOR
from gpuyard.catalogue.software.support import OperatorStatus, operator_status
from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation
from gpuyard.rules.stk.gpu_stk_05_exact_charts import is_closed
from gpuyard.rules.subjects.components import (
    CLUSTER_POLICY,
    OPERATOR_VALUES,
    RELEASES,
    components_in,
)

_SAYS = {
    OperatorStatus.ENDED: "is of a line whose support has ended: no fix comes any more",
    OperatorStatus.DEPRECATED: "is of the line before the current one: only grave faults are fixed",
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
                f"go to the next line, one at a time, until v{GPU_OPERATOR.version}",
            )


def _status(version: str) -> OperatorStatus | None:
    """Of a range as well, where all that it can be has ended; None of what is no version at all."""
    if is_closed("gpu-operator", version):
        return OperatorStatus.ENDED
    try:
        return operator_status(version)
    except ValueError:
        return None


RULE = Rule(
    id="GPU-STK-02",
    title="The GPU Operator version is supported",
    severity=Severity.WARNING,
    why="Upgrades are supported from one line to the next only: later is more steps, each with a drain.",
    fix="Upgrade the operator line by line to the current one.",
    sources=("NVIDIA GPU Operator documentation, life-cycle policy",),
    kinds=(OPERATOR_VALUES, CLUSTER_POLICY, *RELEASES),
    check=_check,
)
