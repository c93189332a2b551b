"""GPU-SHR-03: MIG layouts fit a GPU, and quotas and claims name existing slices."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.catalogue.gpus import find_gpu
from gpuyard_core.catalogue.mig import ALTERNATIVE_PRODUCTS, MIG_PRODUCTS, MigProduct
from gpuyard_core.catalogue.mig_layouts import place_profiles, placement_error
from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.placeholders import is_placeholder
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    mapping,
    mappings,
    number,
    text,
)
from gpuyard_lint.rules.subjects.mig_parted import MIG_PARTED, config_violations, unread_layouts
from gpuyard_lint.rules.subjects.tenants import QUOTA, gpu_keys

QUEUE = "kueue.x-k8s.io/ClusterQueue"
_CLASS = "resource.k8s.io/DeviceClass"
_CLAIMS: Mapping[str, Path] = {
    "resource.k8s.io/ResourceClaim": ("spec",),
    "resource.k8s.io/ResourceClaimTemplate": ("spec", "spec"),
}
"""By kind, the path of device requests in claims."""
_PROFILE = re.compile(r"""\.profile\s*==\s*["']([^"']+)["']""")
_DRIVER = "gpu.nvidia.com"
_OF_ONE_GPU = f"{_DRIVER}/parentUUID"
_STRATEGIES = ("values:gpu-operator", "nvidia.com/ClusterPolicy")
_PREFIX = "nvidia.com/mig-"
_PRODUCTS = (*MIG_PRODUCTS.values(), *ALTERNATIVE_PRODUCTS.values())
_RESOURCES = {p.resource: p.name for product in _PRODUCTS for p in product.profiles}
_NAMES = frozenset(_RESOURCES.values())


def _check(stack: Stack, _: Parameters) -> Iterator[Violation]:
    for config in stack.resources_of_kinds(MIG_PARTED):
        yield from _layouts(config)
        yield from config_violations(config)
    yield from unread_layouts(stack)
    for resource in stack.resources_of_kinds(_CLASS):
        yield from _selected(resource, mapping(resource.properties, "spec"), ("spec",))
    for kind, path in _CLAIMS.items():
        for resource in stack.resources_of_kinds(kind):
            yield from _claimed(resource, path)
    named = list(_named(stack))
    for resource, path, name in named:
        if name not in _RESOURCES:
            suggestion = nearest_name(name, list(_RESOURCES))
            yield Violation(
                path,
                f"no GPU has a slice {name.removeprefix(_PREFIX)}: this entry limits nothing",
                f"write {suggestion}"
                if suggestion
                else "write a profile that `gpuyard mig GPU` lists",
                resource,
            )
    if named:
        yield from _single(stack)


def _layouts(config: Resource) -> Iterator[Violation]:
    for name, groups in mapping(config.properties.get("mig-configs")).items():
        for index, group in enumerate(items(groups)):
            counts = _counts(mapping(group).get("mig-devices"))
            path: Path = ("mig-configs", name, index, "mig-devices")
            if counts and (problem := _impossible(counts, mapping(group).get("device-filter"))):
                yield Violation(
                    path, problem, "run `gpuyard mig GPU LAYOUT` for a layout that fits", config
                )


def _counts(devices: Any) -> dict[str, int]:
    counts = {profile: int(number(count) or 0) for profile, count in mapping(devices).items()}
    return {profile: count for profile, count in counts.items() if count > 0}


def _impossible(counts: Mapping[str, int], device_filter: Any) -> str:
    """Why no GPU supports this layout; "" if one does."""
    products = [p for p in _products(device_filter) if all(p.profile(name) for name in counts)]
    shown = ", ".join(f"{name}: {count}" for name, count in counts.items())
    if not products:
        return f"no GPU has all of these slices: {shown}"
    if any(place_profiles(product, counts) is not None for product in products):
        return ""
    gpus = ", ".join(product.gpu for product in products)
    return f"{{{shown}}} fits no GPU with these slices ({gpus}): {placement_error(products[0], counts)}"


def _products(device_filter: Any) -> list[MigProduct]:
    """The products that a device filter selects by PCI id; all without a filter or with an unknown id."""
    ids = (
        [device_filter]
        if isinstance(device_filter, str)
        else [text(each) for each in items(device_filter)]
    )
    results = [
        gpu.mig for each in ids if (gpu := find_gpu(each)) is not None and gpu.mig is not None
    ]
    also = [ALTERNATIVE_PRODUCTS[p.gpu] for p in results if p.gpu in ALTERNATIVE_PRODUCTS]
    return [*results, *also] or list(_PRODUCTS)


def _named(stack: Stack) -> Iterator[tuple[Resource, Path, str]]:
    for quota in stack.resources_of_kinds(QUOTA):
        for key in gpu_keys(quota):
            name = key.removeprefix("requests.")
            if name.startswith(_PREFIX):
                yield quota, ("spec", "hard", key), name
    for queue in stack.resources_of_kinds(QUEUE):
        for index, group in enumerate(items(at(queue.properties, "spec", "resourceGroups"))):
            for position, name in enumerate(items(mapping(group).get("coveredResources"))):
                if text(name).startswith(_PREFIX):
                    path = ("spec", "resourceGroups", index, "coveredResources", position)
                    yield queue, path, text(name)


def _claimed(resource: Resource, path: Path) -> Iterator[Violation]:
    devices = mapping(at(resource.properties, *path), "devices")
    counts: dict[str, dict[str, int]] = {}
    for index, request in enumerate(mappings(devices, "requests")):
        here: Path = (*path, "devices", "requests", index)
        exactly = mapping(request, "exactly")
        asks: list[tuple[Mapping[Any, Any], Path]] = (
            [(exactly, (*here, "exactly"))] if exactly else [(request, here)]
        )
        for position, each in enumerate(mappings(request, "firstAvailable")):
            asks.append((each, (*here, "firstAvailable", position)))
        for ask, where in asks:
            yield from _selected(resource, ask, where)
        counts[text(request, "name")] = _slices(asks[0][0]) if len(asks) == 1 else {}
    for index, constraint in enumerate(mappings(devices, "constraints")):
        if text(constraint, "matchAttribute") == _OF_ONE_GPU:
            names = [text(each) for each in items(constraint, "requests")] or list(counts)
            if problem := _on_one_gpu([counts.get(name, {}) for name in names]):
                where = (*path, "devices", "constraints", index)
                yield Violation(where, problem, "request slices that fit on one GPU", resource)


def _on_one_gpu(layouts: list[dict[str, int]]) -> str:
    """Why no GPU has these slices together; "" if one may, or if unknown."""
    total: dict[str, int] = {}
    for each in layouts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    unsure = not total or not all(layouts) or any(name not in _NAMES for name in total)
    return "" if unsure else _impossible(total, None)


def _slices(ask: Mapping[Any, Any]) -> dict[str, int]:
    """The profile and count of a request."""
    results = {name for _, name in _profiles(ask, ())}
    count = number(ask.get("count"))
    return (
        {name: 1 if count is None else int(count) for name in results} if len(results) == 1 else {}
    )


def _profiles(ask: Mapping[Any, Any], path: Path) -> Iterator[tuple[Path, str]]:
    for index, selector in enumerate(mappings(ask, "selectors")):
        written = text(selector, "cel", "expression")
        for name in _PROFILE.findall(written) if _DRIVER in written else ():
            yield (*path, "selectors", index, "cel", "expression"), name


def _selected(resource: Resource, ask: Mapping[Any, Any], path: Path) -> Iterator[Violation]:
    for where, name in _profiles(ask, path):
        if name not in _NAMES and not is_placeholder(name):
            suggestion = nearest_name(name, sorted(_NAMES))
            yield Violation(
                where,
                f"no GPU has a slice {name}: no device matches, and pods that claim one stay pending",
                f"write {suggestion}"
                if suggestion
                else "write a profile that `gpuyard mig GPU` lists",
                resource,
            )


def _single(stack: Stack) -> Iterator[Violation]:
    operators = stack.resources_of_kinds(*_STRATEGIES)
    for operator in (
        operators if len(operators) == 1 else ()
    ):  # one of several is for another cluster
        path: Path = ("mig",) if operator.kind.startswith("values:") else ("spec", "mig")
        if text(at(operator.properties, *path, "strategy")) == "single":
            yield Violation(
                (*path, "strategy"),
                "with mig.strategy: single every slice is named nvidia.com/gpu:"
                " quotas and queues here count nvidia.com/mig-*, which no node advertises",
                "set mig.strategy: mixed, or count nvidia.com/gpu",
                operator,
            )


RULE = Rule(
    id="GPU-SHR-03",
    title="MIG layouts fit their GPU, and quotas and claims name existing slices",
    severity=Severity.ERROR,
    why="An impossible layout fails on the node and only a label shows it; a wrong name counts nothing.",
    fix="Use layouts that `gpuyard mig` validates, and resource names that nodes advertise.",
    sources=(
        "MIG User Guide, placements; mig-parted v0.15.0; gpuyard_core.catalogue.mig",
        "NVIDIA/mig-parted api/spec/v1/spec.go; values of the gpu-operator chart, migManager.config",
        "kubernetes-sigs/dra-driver-nvidia-gpu, attributes profile and parentUUID of its MIG devices",
    ),
    kinds=(MIG_PARTED, QUOTA, QUEUE, _CLASS, *_CLAIMS),
    check_stack=_check,
)
