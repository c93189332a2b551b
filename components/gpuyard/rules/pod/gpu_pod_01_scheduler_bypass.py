"""GPU-POD-01: GPUs are asked for, never taken past the scheduler."""

from collections.abc import Iterator

from gpuyard.admission.bypass import bypasses_of
from gpuyard.admission.requirements import BYPASS
from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Reference, Resource, Rule, Violation
from gpuyard.rules.subjects.pods import POD_KINDS, pods_of


def _check(resource: Resource, parameters: Parameters) -> Iterator[Violation]:
    if resource.namespace in parameters["namespaces"]:
        return
    for pod in pods_of(resource):
        for slip in bypasses_of(pod):
            yield Violation(slip.path, slip.problem, slip.fix)


RULE = Rule(
    id=BYPASS.id,
    title=BYPASS.title,
    severity=Severity.REFUSE,
    why="A pod that takes GPUs past the scheduler shares them with whoever was given them, unseen.",
    fix="Request nvidia.com/gpu; leave NVIDIA_VISIBLE_DEVICES and the runtime class nvidia to the operator.",
    sources=(
        "NVIDIA/gpu-operator issues 421 and 700",
        "NVIDIA GPU Operator documentation, CDI: the runtime class is for management containers",
    ),
    references=(Reference("CNCF AI Conformance", "secure_accelerator_access"),),
    kinds=POD_KINDS,
    parameters={"namespaces": ("gpu-operator", "kube-system")},
    check=_check,
)
