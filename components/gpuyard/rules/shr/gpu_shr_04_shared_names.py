"""GPU-SHR-04: whoever asks for a part of a GPU knows that it is one."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.rules.rule import Parameters, Resource, Rule, Violation, at, is_true, mapping
from gpuyard.rules.shr.gpu_shr_01_sharing_in_one_team import PLUGIN


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    slicing = mapping(at(resource.properties, "sharing", "timeSlicing"))
    path = ("sharing", "timeSlicing")
    if not slicing:
        return
    if not is_true(slicing.get("renameByDefault")):
        yield Violation(
            (*path, "renameByDefault"),
            "a turn on a GPU is called nvidia.com/gpu, as a whole GPU is, and counted as one",
            "set renameByDefault: true and ask for nvidia.com/gpu.shared",
        )
    if not is_true(slicing.get("failRequestsGreaterThanOne")):
        yield Violation(
            (*path, "failRequestsGreaterThanOne"),
            "a pod that asks for two turns may get both on one GPU, and is no faster for it",
            "set failRequestsGreaterThanOne: true",
        )


RULE = Rule(
    id="GPU-SHR-04",
    title="Time-sliced GPUs have a name of their own, and nobody gets two turns",
    severity=Severity.WARN,
    why="Karpenter and quotas cannot tell a turn from a GPU by the same name; two turns are not two GPUs.",
    fix="Set renameByDefault and failRequestsGreaterThanOne.",
    sources=("NVIDIA/k8s-device-plugin v0.20.0 README, shared access to GPUs",),
    kinds=(PLUGIN,),
    check=_check,
)
