"""GPU-SHR-01: GPUs that are shared in turns are shared by people who trust each other."""

from collections.abc import Iterator

from gpuyard.findings import Path, Severity
from gpuyard.rules.pools import NODE_POOL
from gpuyard.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    block,
    items,
    mapping,
    text,
)
from gpuyard.rules.tenants import gpu_tenants

PLUGIN = "config:device-plugin"
_METHODS = {"timeSlicing": "time-slicing", "mps": "MPS"}


def _check(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    tenants = sorted(gpu_tenants(stack) - set(parameters["trusted"]))
    if len(tenants) < len(("one", "another")):
        return
    for resource, path, method in _shared(stack):
        yield Violation(
            path,
            f"by {method} the GPUs here serve pods of several teams at once ({', '.join(tenants)}):"
            " no memory limit that holds, and one team's fault ends the other's pods",
            "share inside one team only, or cut the GPUs with MIG",
            resource,
        )


def _shared(stack: Stack) -> Iterator[tuple[Resource, Path, str]]:
    for config in stack.of(PLUGIN):
        for key, method in _METHODS.items():
            if mapping(at(config.properties, "sharing", key)):
                yield config, ("sharing", key), method
    for pool in stack.of(NODE_POOL):
        accelerators = items(at(pool.properties, "nodeConfig", "guestAccelerators"))
        for index, accelerator in enumerate(accelerators):
            strategy = text(at(block(accelerator), "gpuSharingConfig", "gpuSharingStrategy"))
            if strategy in {"TIME_SHARING", "MPS"}:
                path = ("nodeConfig", "guestAccelerators", index, "gpuSharingConfig")
                yield pool, path, "MPS" if strategy == "MPS" else "time-slicing"


RULE = Rule(
    id="GPU-SHR-01",
    title="Time-slicing and MPS stay inside one team",
    severity=Severity.REFUSE,
    why="They give neither memory nor fault isolation: one team's out-of-memory is the other team's.",
    fix="Give each team shared GPUs of its own, or cut GPUs with MIG for teams that share a node.",
    sources=("NVIDIA GPU Operator documentation, gpu-sharing.rst: no memory or fault isolation",),
    kinds=(PLUGIN, NODE_POOL),
    parameters={"trusted": ()},
    check_stack=_check,
)
