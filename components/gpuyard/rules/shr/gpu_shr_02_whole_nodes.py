"""GPU-SHR-02: teams that must not be seen by others get whole nodes."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.names import ISOLATION_LABEL
from gpuyard.rules.rule import Parameters, Rule, Stack, Violation, at, mapping, text
from gpuyard.rules.subjects.tenants import QUOTA, gpu_keys

_PARTS = ("mig-", ".shared")


def _check(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    apart = {
        text(at(namespace.properties, "metadata", "name"))
        for namespace in stack.of("Namespace")
        if text(mapping(at(namespace.properties, "metadata", "labels")).get(parameters["label"]))
        == parameters["value"]
    }
    for quota in stack.of(QUOTA):
        if quota.namespace not in apart:
            continue
        for key in gpu_keys(quota):
            if any(part in key for part in _PARTS):
                yield Violation(
                    ("spec", "hard", key),
                    f"{quota.namespace} is to be kept apart from others, and gets parts of GPUs"
                    " that others have parts of as well",
                    "give it whole nodes of its own, or confidential computing",
                    quota,
                )


RULE = Rule(
    id="GPU-SHR-02",
    title="Teams with isolation requirements get whole nodes, not slices",
    severity=Severity.ERROR,
    why="MIG separates memory and faults, not timing: across slices a neighbour's model can be told apart.",
    fix="Give such a team nodes of its own; slices are for teams that trust each other.",
    sources=("Behind Bars, USENIX Security 2026; NVBleed, arXiv 2503.17847",),
    kinds=(QUOTA,),
    parameters={"label": ISOLATION_LABEL, "value": "node"},
    check_stack=_check,
)
