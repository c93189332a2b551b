"""GPU-SHR-04: whoever asks for a part of a GPU knows that it is one."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard.findings import Severity
from gpuyard.manifests.pods import gpu_requests
from gpuyard.rules.rule import (
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
from gpuyard.rules.shr.gpu_shr_01_sharing_in_one_team import PLUGIN
from gpuyard.rules.shr.gpu_shr_03_mig_layouts import QUEUE
from gpuyard.rules.subjects.pods import POD_KINDS, pods_of
from gpuyard.rules.subjects.pools import GPU
from gpuyard.rules.subjects.tenants import QUOTA, gpu_keys

_TURNS = frozenset({GPU, f"{GPU}.shared"})


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    counted, asks_for_two = _counts_gpus(stack), _asks_for_two(stack)
    for config in stack.of(PLUGIN):
        for violation in _of_config(config, counted=counted, asked=asks_for_two):
            yield replace(violation, resource=config)


def _of_config(config: Resource, *, counted: bool, asked: bool) -> Iterator[Violation]:
    path = ("sharing", "timeSlicing")
    slicing = mapping(at(config.properties, *path))
    if not slicing or not any(map(_shares, mappings(slicing, "resources"))):
        return  # of fewer than two turns nobody gets two
    if counted and not is_true(slicing.get("renameByDefault")):
        yield Violation(
            (*path, "renameByDefault"),
            f"a turn on a GPU is called {GPU}, as a whole GPU is, and quotas here count it as one",
            f"set renameByDefault: true and ask for {GPU}.shared",
        )
    if not is_true(slicing.get("failRequestsGreaterThanOne")):
        yield Violation(
            (*path, "failRequestsGreaterThanOne"),
            "a pod that asks for two turns may get both on one GPU, and is no faster for it",
            "set failRequestsGreaterThanOne: true",
            is_advisory=not asked
            or slicing.get("failRequestsGreaterThanOne") is False,  # in so many words
        )


def _asks_for_two(stack: Stack) -> bool:
    """Whether a container in view asks for more than one turn: else the plugin's default does no harm yet."""
    for resource in stack.of(*POD_KINDS):
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
    """Whether anything counts GPUs by the name that a turn would have: else the name is a matter of taste."""
    covered = (
        name
        for queue in stack.of(QUEUE)
        for group in items(at(queue.properties, "spec", "resourceGroups"))
        for name in items(mapping(group).get("coveredResources"))
    )
    quotas = (key.removeprefix("requests.") for quota in stack.of(QUOTA) for key in gpu_keys(quota))
    return GPU in {*covered, *quotas}


RULE = Rule(
    id="GPU-SHR-04",
    title="Time-sliced GPUs are counted as shares, one for each pod",
    severity=Severity.WARNING,
    why="Karpenter and quotas cannot tell a turn from a GPU by the same name; two turns are not two GPUs.",
    fix="Set renameByDefault and failRequestsGreaterThanOne.",
    sources=("NVIDIA/k8s-device-plugin v0.20.0 README, shared access to GPUs",),
    kinds=(PLUGIN,),
    check_stack=_check,
)
