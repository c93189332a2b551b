"""GPU-SHR-04: a share of a GPU has its own resource name."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_core.manifests.pods import gpu_requests
from gpuyard_lint.rules.rule import (
    NotEvaluatedError,
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    is_true,
    items,
    mapping,
    mappings,
    number,
)
from gpuyard_lint.rules.shr.gpu_shr_01_sharing_in_one_team import PLUGIN
from gpuyard_lint.rules.shr.gpu_shr_03_mig_layouts import QUEUE
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of
from gpuyard_lint.rules.subjects.pools import GPU
from gpuyard_lint.rules.subjects.tenants import QUOTA, gpu_keys

_TURNS = frozenset({GPU, f"{GPU}.shared"})


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    counted, asks_for_two = _counts_gpus(stack), _asks_for_two(stack)
    for config in stack.resources_of_kinds(PLUGIN):
        for violation in _of_config(config, counted=counted, asked=asks_for_two):
            yield replace(violation, resource=config)


def _of_config(config: Resource, *, counted: bool, asked: bool) -> Iterator[Violation]:
    path = ("sharing", "timeSlicing")
    slicing = mapping(at(config.properties, *path))
    if not slicing or not any(map(_shares, mappings(slicing, "resources"))):
        return  # with fewer than two shares no pod gets two
    if counted and not is_true(slicing.get("renameByDefault")):
        yield Violation(
            (*path, "renameByDefault"),
            f"a time-slicing share has the name {GPU} of a whole GPU, and quotas here count it as one",
            f"set renameByDefault: true and request {GPU}.shared",
        )
    if not is_true(slicing.get("failRequestsGreaterThanOne")):
        yield Violation(
            (*path, "failRequestsGreaterThanOne"),
            "a pod that requests two shares may get both on one GPU, without any speedup",
            "set failRequestsGreaterThanOne: true",
            is_advisory=not asked
            or slicing.get("failRequestsGreaterThanOne") is False,  # set explicitly
        )


def _asks_for_two(stack: Stack) -> bool:
    """Whether a container requests more than one share: otherwise the plugin's default is harmless."""
    for resource in stack.resources_of_kinds(*POD_KINDS):
        try:
            containers = [each for pod in pods_of(resource) for _, each in pod.containers()]
            requests_by_container = [gpu_requests(each) for each in containers]
        except NotEvaluatedError:
            continue
        if any(
            count > 1
            for each in requests_by_container
            for name, count in each.items()
            if name in _TURNS
        ):
            return True
    return False


def _shares(resource: Mapping[str, Any]) -> bool:
    replicas = number(resource.get("replicas"))
    return replicas is None or replicas > 1


def _counts_gpus(stack: Stack) -> bool:
    """Whether anything counts GPUs by the name of a share: otherwise the name does not matter."""
    covered = (
        name
        for queue in stack.resources_of_kinds(QUEUE)
        for group in items(at(queue.properties, "spec", "resourceGroups"))
        for name in items(mapping(group).get("coveredResources"))
    )
    quotas = (
        key.removeprefix("requests.")
        for quota in stack.resources_of_kinds(QUOTA)
        for key in gpu_keys(quota)
    )
    return GPU in {*covered, *quotas}


RULE = Rule(
    id="GPU-SHR-04",
    title="Time-sliced GPUs are counted as shares, one for each pod",
    severity=Severity.WARNING,
    why="Karpenter and quotas cannot tell a share from a GPU of the same name; two shares are not two GPUs.",
    fix="Set renameByDefault and failRequestsGreaterThanOne.",
    sources=("NVIDIA/k8s-device-plugin v0.20.0 README, shared access to GPUs",),
    kinds=(PLUGIN,),
    check_stack=_check,
)
