"""GPU node pools of all kinds as one type, so that a pool rule is written once."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from gpuyard_core.catalogue.cluster.machine_gpus import OLD_FAMILIES, has_gpus
from gpuyard_core.catalogue.machines import machines_of
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import at, block, items, known_value, mapping, number, text
from gpuyard_lint.rules.rule import (
    UNKNOWN,
    NotEvaluatedError,
    Resource,
    Stack,
    UnknownValue,
    once_per_stack,
)

NODE_GROUP = "aws:eks/NodeGroup"
NODE_POOL = "gcp:container/NodePool"
KARPENTER = "karpenter.sh/NodePool"
NODE_CLASS = "karpenter.k8s.aws/EC2NodeClass"
USER_DATA: Mapping[str, Path] = {
    NODE_CLASS: ("spec", "userData"),
    "aws:ec2/LaunchTemplate": ("userData",),
}
"""By kind, the path of user data; in a launch template it may be base64."""
_TEMPLATE = ("spec", "template", "spec")
_CLASS_NAME = (*_TEMPLATE, "nodeClassRef", "name")
POOL_KINDS = (NODE_GROUP, NODE_POOL, KARPENTER)
GPU = "nvidia.com/gpu"
_GPU_LABELS = (
    "karpenter.k8s.aws/instance-gpu-",
    "eks.amazonaws.com/instance-gpu-",  # EKS Auto Mode
    "karpenter.azure.com/sku-gpu-",  # AKS
)
_TYPE_LABEL = "node.kubernetes.io/instance-type"
_CAPACITY_LABEL = "karpenter.sh/capacity-type"
_FAMILY_LABELS = tuple(
    f"{maker}/instance-{part}"
    for maker in ("karpenter.k8s.aws", "eks.amazonaws.com")
    for part in ("family", "category")
)
_MAKER = "-gpu-manufacturer"
_NUMBERS = ("-count", "-memory")
_NONE: Mapping[str, Callable[[float], bool]] = {
    "In": lambda value: value == 0,
    "Lt": lambda value: value <= 1,
    "Lte": lambda value: value <= 0,
}
"""By operator, the values of a number that allow none."""
_OTHER_LABELS = ("karpenter.k8s.aws/instance-accelerator-",)
"""Labels of accelerators that are not GPUs."""


_LIMITS = ("cpu", "memory", "nodes", GPU)
"""Fields of which every GPU machine has a nonzero value."""
OWN_LABELS = ("gpu.nvidia.com/", "k8s.amazonaws.com/ec2-spot-termination")
"""Prefixes of labels that no component sets by default: from guides or set by users."""
_LABELLED: Mapping[str, tuple[str, ...]] = {
    NODE_GROUP: ("labels",),
    NODE_POOL: ("nodeConfig", "labels"),
    KARPENTER: ("spec", "template", "metadata", "labels"),
    "karpenter.sh/Provisioner": ("spec", "labels"),
    "Node": ("metadata", "labels"),
}
"""Kinds that assign labels to nodes, and the path."""
_FEATURES = "nfd.k8s-sigs.io/NodeFeatureRule"


_SPOT, _ON_DEMAND, _RESERVED = "spot", "on-demand", "reserved"
_GPU_IMAGE = re.compile(r"NVIDIA|_GPU$")


@dataclass(frozen=True, slots=True)
class GpuPool:
    """A GPU node pool of any kind. An unknown field stops only the rules that need it."""

    resource: Resource
    configured_machines: Any
    configured_taints: Any
    taints_at: Path
    configured_capacity_types: Any
    """How its nodes are provisioned: of _SPOT and _ON_DEMAND."""

    @property
    def machines(self) -> tuple[str, ...]:
        """Machine types it may use, as far as known."""
        return tuple(text(each) for each in known_value(self.configured_machines))

    @property
    def taints(self) -> tuple[Mapping[str, Any], ...]:
        """The taints of its nodes."""
        return tuple(mapping(each) for each in items(self.configured_taints))

    @property
    def may_use_spot(self) -> bool:
        """Whether its nodes may be reclaimed at any time."""
        return _SPOT in known_value(self.configured_capacity_types)

    @property
    def on_demand(self) -> bool:
        """Whether its nodes may be on-demand or reserved."""
        return _ON_DEMAND in known_value(self.configured_capacity_types)

    @property
    def only_spot(self) -> bool:
        """Whether all its nodes may be reclaimed: other causes of termination then add little."""
        return set(known_value(self.configured_capacity_types)) == {_SPOT}

    @property
    def spot_first(self) -> bool:
        """Whether they are spot while available: Karpenter prefers it to on-demand."""
        modes = set(known_value(self.configured_capacity_types))
        return _SPOT in modes and _RESERVED not in modes


def gpu_pool(resource: Resource) -> GpuPool | None:
    """The pool; None if its nodes have no GPUs as far as known."""
    return _MAKERS[resource.group_kind](resource)


def _any_sure(signs: Iterable[bool | UnknownValue]) -> bool:
    """Whether one sign of GPUs is present; unknown if none is and one is unknown."""
    seen = list(signs)
    if True not in seen and UNKNOWN in seen:
        raise NotEvaluatedError
    return True in seen


def _sign(value: Any, holds: Callable[[str], Any]) -> bool | UnknownValue:
    return UNKNOWN if isinstance(value, UnknownValue) else bool(holds(text(value)))


def _listed(value: Any) -> Any:
    return value if isinstance(value, UnknownValue) else items(value)


def _signs(machines: Any) -> list[bool | UnknownValue]:
    """For each machine type, whether it has GPUs."""
    if isinstance(machines, UnknownValue):
        return [UNKNOWN]
    return [_sign(each, has_gpus) for each in machines]


def _node_group(resource: Resource) -> GpuPool | None:
    properties = resource.properties
    machines = _listed(properties.get("instanceTypes"))
    image = _sign(properties.get("amiType"), _GPU_IMAGE.search)
    if not _any_sure([image, *_signs(machines)]):
        return None
    mode = properties.get("capacityType")
    return GpuPool(
        resource,
        machines,
        configured_taints=properties.get("taints"),
        taints_at=("taints",),
        configured_capacity_types=mode
        if isinstance(mode, UnknownValue)
        else _BOUGHT.get(text(mode), ()),
    )


_BOUGHT: Mapping[str, tuple[str, ...]] = {
    "": (_ON_DEMAND,),
    "ON_DEMAND": (_ON_DEMAND,),
    "SPOT": (_SPOT,),
}


def _node_pool(resource: Resource) -> GpuPool | None:
    config = block(resource.properties.get("nodeConfig"))
    machine, cards = config.get("machineType"), _listed(config.get("guestAccelerators"))
    has_cards = UNKNOWN if isinstance(cards, UnknownValue) else bool(cards)
    if not _any_sure([has_cards, _sign(machine, has_gpus)]):
        return None
    spot_flags = [config.get("spot"), config.get("preemptible")]
    unsure = True not in spot_flags and any(isinstance(each, UnknownValue) for each in spot_flags)
    return GpuPool(
        resource,
        UNKNOWN if isinstance(machine, UnknownValue) else (machine,),
        configured_taints=config.get("taints"),
        taints_at=("nodeConfig", "taints"),
        configured_capacity_types=UNKNOWN
        if unsure
        else (_SPOT if True in spot_flags else _ON_DEMAND,),
    )


def _karpenter(resource: Resource) -> GpuPool | None:
    spec = block(at(resource.properties, "spec", "template", "spec"))
    if _asks_for_none(spec) or _is_closed(resource.properties):
        return None
    machines: list[Any] = []
    signs: list[bool | UnknownValue] = []
    modes: list[Any] = []
    for key, listed in _required_labels(spec):
        if key == _TYPE_LABEL:
            machines += listed
        elif key == _CAPACITY_LABEL:
            modes += listed
        signs += _signs_of(key, listed)
    if not _any_sure([*signs, *_signs(machines)]):
        return None
    return GpuPool(
        resource,
        UNKNOWN if UNKNOWN in machines else machines,
        configured_taints=spec.get("taints"),
        taints_at=("spec", "template", "spec", "taints"),
        configured_capacity_types=UNKNOWN if UNKNOWN in modes else modes or (_ON_DEMAND,),
    )


def _is_closed(properties: Mapping[str, Any]) -> bool:
    """Whether no machine fits its limits: Karpenter creates none that would exceed one of them."""
    limits = (at(properties, "spec", "limits", each) for each in _LIMITS)
    return any(each in (0, "0") and each is not False for each in limits)


def _required_labels(spec: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The labels of nodes that Karpenter creates, and their values."""
    for each in map(mapping, items(spec, "requirements")):
        if text(each, "operator") not in {"NotIn", "DoesNotExist"}:
            values = _listed(each.get("values"))
            yield text(each, "key"), [UNKNOWN] if isinstance(values, UnknownValue) else values


def _asks_for_none(spec: Mapping[str, Any]) -> bool:
    """Whether a requirement excludes machines without GPUs, regardless of the others."""
    requirements = map(mapping, items(spec, "requirements"))
    return any(_is_none(each) for each in requirements if text(each, "key").startswith(_GPU_LABELS))


def _is_none(requirement: Mapping[str, Any]) -> bool:
    """No GPU label, or a number of GPUs or of their memory below one."""
    operator = text(requirement, "operator")
    if operator == "DoesNotExist":
        return True
    if operator not in _NONE or not text(requirement, "key").endswith(_NUMBERS):
        return False
    values = requirement.get("values")
    numbers = [number(each) for each in values] if isinstance(values, list) else []
    return bool(numbers) and all(each is not None and _NONE[operator](each) for each in numbers)


def _signs_of(key: str, values: list[Any]) -> list[bool | UnknownValue]:
    """Whether one requirement selects GPUs."""
    if key in _FAMILY_LABELS:
        return [_sign(value, _gpu_families().__contains__) for value in values]
    if not key.startswith(_GPU_LABELS):
        return []
    if key.endswith(_MAKER) and values:
        return [_sign(value, "nvidia".__eq__) for value in values]
    return [True]


_MAKERS = {NODE_GROUP: _node_group, NODE_POOL: _node_pool, KARPENTER: _karpenter}


def requests_gpus(pool: Resource) -> bool:
    """Whether a Karpenter pool, in any API version, requires machines with GPUs."""
    spec = mapping(pool.properties, "spec")
    requirements = (*_required_labels(spec), *_required_labels(block(at(spec, "template", "spec"))))
    signs = (
        _signs(result) if key == _TYPE_LABEL else _signs_of(key, result)
        for key, result in requirements
    )
    return any(True in each for each in signs)


def without_gpus(pool: Resource) -> bool:
    """Whether a Karpenter pool lists its machines, and none has an NVIDIA GPU."""
    spec = mapping(pool.properties, "spec")  # for a Provisioner, and below it for a NodePool
    of_nodes = block(at(spec, "template", "spec"))
    if _asks_for_none(spec) or _asks_for_none(of_nodes):
        return True
    signs: list[bool | UnknownValue] = []
    for key, listed in (*_required_labels(spec), *_required_labels(of_nodes)):
        if key.startswith((_TYPE_LABEL, *_FAMILY_LABELS, *_OTHER_LABELS)):
            result = _signs(listed) if key == _TYPE_LABEL else _signs_of(key, listed)
            signs += result or [False]
        elif key.startswith(_GPU_LABELS):
            return False
    return bool(signs) and UNKNOWN not in signs and True not in signs


def is_class_without_gpus(node_class: Resource, stack: Stack) -> bool:
    """Whether pools in the input use a node class, and none of them may have GPUs."""
    named = _pools_by_class(stack).get(node_class.name, ())
    return bool(named) and all(map(without_gpus, named))


@once_per_stack
def _pools_by_class(stack: Stack) -> Mapping[str, list[Resource]]:
    results: dict[str, list[Resource]] = {}
    for pool in stack.resources_of_kinds(KARPENTER):
        results.setdefault(text(at(pool.properties, *_CLASS_NAME)), []).append(pool)
    return results


def classes_of_gpus(stack: Stack) -> Iterator[tuple[Resource, list[str]]]:
    """The EC2 node classes of GPU pools, and the names of the pools."""
    of_gpus: dict[str, list[str]] = {}
    for pool in gpu_pools(stack.resources_of_kinds(KARPENTER)):
        named = text(at(pool.resource.properties, *_CLASS_NAME))
        of_gpus.setdefault(named, []).append(pool.resource.name)
    for node_class in stack.resources_of_kinds(NODE_CLASS):
        if node_class.name in of_gpus:
            yield node_class, of_gpus[node_class.name]


@cache
def _gpu_families() -> frozenset[str]:
    """EC2 families and categories with GPUs: p5, g6e, and their letters p and g."""
    families = {
        name.partition(".")[0] for name, m in machines_of("aws").items() if m.is_gpu_machine
    }
    return OLD_FAMILIES | families | {"p", "g"}


def gpu_pools(resources: Iterator[Resource] | tuple[Resource, ...]) -> Iterator[GpuPool]:
    """Every GPU pool among resources of POOL_KINDS."""
    for resource in resources:
        if (result := gpu_pool(resource)) is not None:
            yield result


@once_per_stack
def sets_label(stack: Stack, name: str) -> bool:
    """Whether the input sets a label on nodes, or may: the labels of a pool can be unknown."""
    return any(_labels(each, name) for each in stack.resources_of_kinds(*_LABELLED, _FEATURES))


def _labels(resource: Resource, name: str) -> bool:
    try:
        return any(mapping(value).get(name) is not None for value in _label_mappings(resource)) or (
            resource.group_kind == KARPENTER
            and any(
                key == name
                for key, _ in _required_labels(block(at(resource.properties, *_TEMPLATE)))
            )
        )
    except NotEvaluatedError:
        return True


def _label_mappings(resource: Resource) -> Iterator[Any]:
    """Every mapping of labels in a value."""
    if resource.group_kind == _FEATURES:
        for rule in items(at(resource.properties, "spec", "rules")):
            yield at(rule, "labels")
    else:
        yield at(resource.properties, *_LABELLED[resource.group_kind])


def plain_user_data(data: str) -> str:
    """User data, decoded from base64 if needed."""
    try:
        return b64decode(data, validate=True).decode()
    except ValueError:
        return data
