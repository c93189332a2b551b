"""GPU-SHR-02: teams that require isolation get whole nodes."""

from collections.abc import Iterator

from gpuyard_core.findings import Severity
from gpuyard_core.names import ISOLATION_LABEL
from gpuyard_lint.rules.rule import Parameters, Rule, Stack, Violation, at, mapping, text
from gpuyard_lint.rules.subjects.tenants import QUOTA, gpu_keys

_PARTS = ("mig-", ".shared")


def _check(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    apart = {
        text(at(namespace.properties, "metadata", "name"))
        for namespace in stack.resources_of_kinds("Namespace")
        if text(mapping(at(namespace.properties, "metadata", "labels")).get(parameters["label"]))
        == parameters["value"]
    }
    for quota in stack.resources_of_kinds(QUOTA):
        if quota.namespace not in apart:
            continue
        for key in gpu_keys(quota):
            if any(part in key for part in _PARTS):
                yield Violation(
                    ("spec", "hard", key),
                    f"{quota.namespace} requires isolation and gets parts of GPUs"
                    " that other teams also use",
                    "give it dedicated nodes, or use confidential computing",
                    quota,
                )


RULE = Rule(
    id="GPU-SHR-02",
    title="Teams with isolation requirements get whole nodes, not slices",
    severity=Severity.ERROR,
    why="MIG isolates memory and faults, not timing: a slice can identify the model in another slice.",
    fix="Give such a team dedicated nodes; use slices for teams that trust each other.",
    sources=("Behind Bars, USENIX Security 2026; NVBleed, arXiv 2503.17847",),
    kinds=(QUOTA,),
    parameters={"label": ISOLATION_LABEL, "value": "node"},
    check_stack=_check,
)
