"""GPU node pools of any maker as one thing, so that a rule about pools is written once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpuyard.catalogue.machines import MACHINES, find_machine
from gpuyard.findings import Path
from gpuyard.rules.rule import Resource, at, block, items, mapping, text

NODE_GROUP = "aws:eks/NodeGroup"
NODE_POOL = "gcp:container/NodePool"
KARPENTER = "karpenter.sh/NodePool"
POOL_KINDS = (NODE_GROUP, NODE_POOL, KARPENTER)
GPU = "nvidia.com/gpu"
_GPU_LABELS = (
    "karpenter.k8s.aws/instance-gpu-",
    "eks.amazonaws.com/instance-gpu-",  # of EKS Auto Mode
    "karpenter.azure.com/sku-gpu-",  # of AKS
)
_TYPE_LABEL = "node.kubernetes.io/instance-type"
_FAMILY_LABELS = tuple(
    f"{maker}/instance-{part}"
    for maker in ("karpenter.k8s.aws", "eks.amazonaws.com")
    for part in ("family", "category")
)
_MAKER = "-gpu-manufacturer"


@dataclass(frozen=True, slots=True)
class GpuPool:
    """A pool of GPU nodes, whoever makes them."""

    resource: Resource
    machines: tuple[str, ...]
    """Machine types it may be of, as far as it says."""
    taints: tuple[Mapping[str, Any], ...]
    taints_at: Path
    spot: bool
    on_demand: bool


def gpu_pool(resource: Resource) -> GpuPool | None:
    """The pool, None when its nodes have no GPUs as far as it says."""
    return _MAKERS[resource.group_kind](resource)


def _node_group(resource: Resource) -> GpuPool | None:
    properties = resource.properties
    machines = tuple(text(each) for each in items(properties.get("instanceTypes")))
    image = text(properties.get("amiType"))
    if not (any(map(is_gpu_machine, machines)) or "NVIDIA" in image or image.endswith("_GPU")):
        return None
    mode = text(properties.get("capacityType"))
    taints = tuple(mapping(each) for each in items(properties.get("taints")))
    return GpuPool(
        resource,
        machines,
        taints=taints,
        taints_at=("taints",),
        spot=mode == "SPOT",
        on_demand=mode in {"", "ON_DEMAND"},
    )


def _node_pool(resource: Resource) -> GpuPool | None:
    properties = resource.properties
    config = block(properties.get("nodeConfig"))
    machine = text(config.get("machineType"))
    if not (is_gpu_machine(machine) or items(config.get("guestAccelerators"))):
        return None
    spot = at(config, "spot") is True or at(config, "preemptible") is True
    taints = tuple(mapping(each) for each in items(config.get("taints")))
    return GpuPool(
        resource,
        (machine,),
        taints=taints,
        taints_at=("nodeConfig", "taints"),
        spot=spot,
        on_demand=not spot,
    )


def _karpenter(resource: Resource) -> GpuPool | None:
    spec = at(resource.properties, "spec", "template", "spec")
    wanted = [mapping(each) for each in items(block(spec).get("requirements"))]
    machines: tuple[str, ...] = ()
    has_gpus = False
    modes: set[str] = set()
    for each in wanted:
        key, values = text(each.get("key")), [text(v) for v in items(each.get("values"))]
        if text(each.get("operator")) in {"NotIn", "DoesNotExist"}:
            continue
        if key == _TYPE_LABEL:
            machines += tuple(values)
        of_another = key.endswith(_MAKER) and values and "nvidia" not in values
        has_gpus |= key.startswith(_GPU_LABELS) and not of_another
        has_gpus |= key in _FAMILY_LABELS and any(value in _gpu_families() for value in values)
        if key == "karpenter.sh/capacity-type":
            modes |= set(values)
    if not (has_gpus or any(map(is_gpu_machine, machines))):
        return None
    taints = tuple(mapping(each) for each in items(block(spec).get("taints")))
    return GpuPool(
        resource,
        machines,
        taints=taints,
        taints_at=("spec", "template", "spec", "taints"),
        spot="spot" in modes,
        on_demand=not modes or "on-demand" in modes,
    )


_MAKERS = {NODE_GROUP: _node_group, NODE_POOL: _node_pool, KARPENTER: _karpenter}


def is_gpu_machine(name: str) -> bool:
    """True for a machine type that the catalogue knows to have GPUs."""
    machine = find_machine(name)
    return machine is not None and machine.is_gpu_machine


@cache
def _gpu_families() -> frozenset[str]:
    """Families and categories of EC2 that have GPUs: p5, g6e, and their letters p and g."""
    families = {
        name.partition(".")[0] for name, m in MACHINES.items() if m.cloud == "aws" and m.gpu
    }
    return frozenset(families | {"p", "g"})


def gpu_pools(resources: Iterator[Resource] | tuple[Resource, ...]) -> Iterator[GpuPool]:
    """Every GPU pool among resources of POOL_KINDS."""
    for resource in resources:
        if (found := gpu_pool(resource)) is not None:
            yield found
