"""Whether the input counts GPUs, and the number of GPUs per machine.

On a single machine where no pod requests `nvidia.com/gpu`, a pod takes GPUs from no other. With one GPU per
machine, a pod with one has all.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from gpuyard_core.catalogue.cluster.machine_gpus import gpus_of_machine
from gpuyard_core.manifests.fields import (
    at,
    block,
    if_known,
    items,
    mapping,
    mappings,
    number,
    text,
)
from gpuyard_core.manifests.pods import Pod
from gpuyard_core.manifests.quantities import quantity
from gpuyard_lint.rules.rule import NotEvaluatedError, Stack, once_per_stack
from gpuyard_lint.rules.subjects.pods import speaks_of_gpus
from gpuyard_lint.rules.subjects.pools import GPU, NODE_POOL, POOL_KINDS, GpuPool, gpu_pools

_ASKED = re.compile(r"^(?:requests\.|limits\.)?nvidia\.com/(?:gpu|gpu\.shared|mig-[\w.]+)$")
_COVERED = "coveredResources"
_DEVICE_CLASS = re.compile(r"^(?:gpu|mig)\.nvidia\.com$")
_OF_SET = ("spec", "template", "spec", "providerSpec", "value", "instanceType")
_MACHINES: Mapping[str, tuple[str, ...]] = {
    "machine.openshift.io/MachineSet": _OF_SET,
    "aws:ec2/Instance": ("instanceType",),
    "gcp:compute/Instance": ("machineType",),
}
"""Other resources that create a machine, and the field with its type."""
MAX_GPUS_PER_NODE = 8
"""GPUs of the largest common machines."""
_COUNT_LABEL = "-gpu-count"
_TYPES = ("kubernetes.io/instance-type",)
_COUNTS = (_COUNT_LABEL, "gke-accelerator-count", "nvidia.com/gpu.count")
"""Suffixes of labels with the type of a node, or with its number of GPUs."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@once_per_stack
def has_gpu_requests(stack: Stack) -> bool:
    """Whether a resource requests GPUs by number or claim, or has a GPU quota."""
    return any(
        _counts(resource.properties)
        for resource in stack.resources
        if resource.group_kind not in POOL_KINDS and speaks_of_gpus(resource)
    )


def _counts(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_requests_gpus(key, each) or _counts(each) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return any(map(_counts, value))
    return False


def _requests_gpus(key: object, value: object) -> bool:
    """In one field: a nonzero number of GPUs, a resource of a queue, a claim of devices."""
    if isinstance(key, str) and _ASKED.match(key):
        return not isinstance(value, (Mapping, list)) and quantity(value) != 0
    if key == _COVERED:
        return isinstance(value, list) and any(_ASKED.match(str(each)) for each in value)
    return key == "deviceClassName" and _DEVICE_CLASS.match(str(value)) is not None


@once_per_stack
def uses_time_slicing(stack: Stack) -> bool:
    """Whether a device plugin shares one GPU between pods: a request then does not exclude other pods."""
    try:
        slicing = (
            at(each.properties, "sharing", "timeSlicing")
            for each in stack.resources_of_kinds("config:device-plugin")
        )
        return any(
            (number(resource.get("replicas")) or 0) > 1
            for each in slicing
            for resource in mappings(each, "resources")
        )
    except NotEvaluatedError:
        return False


@once_per_stack
def max_gpus_per_node(stack: Stack) -> int | None:
    """The maximum number of GPUs of a machine in the input; None if unknown."""
    pools = gpu_pools(stack.resources_of_kinds(*POOL_KINDS))
    of_pools = (size for pool in pools for size in _of_pool(pool))
    counts = if_known(chain(of_pools, _of_machines(stack)))
    return max(counts) if counts and all(counts) else None


def requests_all_gpus(stack: Stack, pod: Pod) -> bool:
    """Whether it requests every GPU of its node, or of any machine in the input."""
    least = min(
        each
        for each in (MAX_GPUS_PER_NODE, gpus_of_selected_nodes(pod), max_gpus_per_node(stack))
        if each
    )
    return pod.gpus().get(GPU, 0) >= least


def gpus_of_selected_nodes(pod: Pod) -> int | None:
    """The maximum number of GPUs of the nodes a pod can run on, by labels; None if unknown."""
    selected = [
        _by_label(str(key), [value]) for key, value in mapping(pod.spec, "nodeSelector").items()
    ]
    affinity = mapping(pod.spec, "affinity", "nodeAffinity", _REQUIRED)
    terms = [
        _least(
            _by_label(text(each, "key"), items(each, "values"))
            for each in map(mapping, items(mapping(term), "matchExpressions"))
            if each.get("operator") == "In"
        )
        for term in items(affinity, "nodeSelectorTerms")
    ]
    any_term = [max(each for each in terms if each)] if terms and all(terms) else []
    return _least([*selected, *any_term])


def _least(counts: Iterable[int | None]) -> int | None:
    return min((each for each in counts if each), default=None)


def _by_label(key: str, values: Sequence[Any]) -> int | None:
    """The maximum number of GPUs of a node with one of these label values."""
    if key.endswith(_TYPES):
        counts = [gpus_of_machine(text(each)) for each in values]
    elif key.endswith(_COUNTS):
        counts = [int(number(each) or 0) for each in values]
    else:
        return None
    return max(each or 0 for each in counts) if counts and all(counts) else None


def _of_pool(pool: GpuPool) -> list[int]:
    """The GPUs of each possible machine type; 0 if unknown, which is not one either."""
    sizes = [gpus_of_machine(each) or 0 for each in pool.machines]
    if sizes and all(sizes):
        return sizes
    if pool.resource.group_kind == NODE_POOL:  # added to the machines of a pool of GKE
        config = block(pool.resource.properties.get("nodeConfig"))
        cards = (number(mapping(each).get("count")) for each in items(config, "guestAccelerators"))
        counts = [int(each) for each in cards if each]
    else:
        spec = block(at(pool.resource.properties, "spec", "template", "spec"))
        counts = [
            int(number(value) or 0)
            for each in map(mapping, items(spec, "requirements"))
            if text(each, "key").endswith(_COUNT_LABEL) and each.get("operator") == "In"
            for value in items(each, "values")
        ]
    return counts or sizes or [0]


def _of_machines(stack: Stack) -> Iterator[int]:
    for kind, path in _MACHINES.items():
        for resource in stack.resources_of_kinds(kind):
            if gpus := gpus_of_machine(text(at(resource.properties, *path))):
                yield gpus
