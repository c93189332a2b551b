"""Rules on sharing of GPUs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuyard_core.admission.placement import check_pod_shares
from gpuyard_core.admission.requirements import SHARES
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS, find_gpu
from gpuyard_core.catalogue.mig import ALTERNATIVE_PRODUCTS, MigProduct
from gpuyard_core.catalogue.mig_layouts import place_profiles, placement_error
from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import (
    at,
    block,
    if_known,
    is_true,
    items,
    mapping,
    mappings,
    number,
    text,
)
from gpuyard_core.manifests.placeholders import is_placeholder
from gpuyard_core.manifests.pods import gpu_requests
from gpuyard_core.suggestions import nearest_name
from gpuyard_lint.rules.rule import Parameters, Resource, Stack, Violation, load_rule
from gpuyard_lint.rules.subjects.components import OPERATORS
from gpuyard_lint.rules.subjects.mig_parted import MIG_PARTED, config_violations, unread_layouts
from gpuyard_lint.rules.subjects.pods import POD_KINDS, pods_of
from gpuyard_lint.rules.subjects.pools import GPU, NODE_POOL
from gpuyard_lint.rules.subjects.tenants import (
    QUOTA,
    gpu_keys,
    gpu_tenants,
    teams_of,
    tenants_of_nodes,
)

# GPU-SHR-01
PLUGIN = "config:device-plugin"
_SHARED = ".shared"
_METHODS = {"timeSlicing": "time-slicing", "mps": "MPS"}


def _check_sharing(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    accept = _labelled(stack, parameters)
    for resource, path, method, users in _shared(stack):
        untrusted = users - set(parameters["trusted"])
        tenants = sorted(
            each for each in untrusted if not is_placeholder(each)
        )  # may be one of them
        teams = teams_of(stack, tenants)
        if len(teams) < len(("one", "another")) or accept.issuperset(tenants):
            continue
        yield Violation(
            path,
            f"{method} shares these GPUs between pods of several teams ({', '.join(tenants)}):"
            " no enforced memory limit, and one team's fault ends the other team's pods",
            "share within one team only, or partition the GPUs with MIG",
            resource,
        )


def _labelled(stack: Stack, parameters: Parameters) -> set[str]:
    """Namespaces with the label of the parameters."""
    return {
        namespace.name
        for namespace in stack.resources_of_kinds("Namespace")
        if text(mapping(at(namespace.properties, "metadata", "labels")).get(parameters["label"]))
        == parameters["value"]
    }


def _users(stack: Stack, *, renamed: bool) -> set[str]:
    """Teams that can get a shared GPU: if it has its own name and quotas, those with a quota."""
    if renamed:
        quotas = [
            q
            for q in stack.resources_of_kinds(QUOTA)
            if any(key.endswith(_SHARED) for key in gpu_keys(q))
        ]
        if quotas:
            return {quota.namespace for quota in quotas}
    return gpu_tenants(stack)


def _users_of_pool(stack: Stack, config: Mapping[str, Any]) -> set[str]:
    """The teams on nodes that GKE shares: with a custom taint, those whose queues have a flavor for it."""
    fenced = any(text(taint, "key") not in {"", GPU} for taint in mappings(config, "taints"))
    led = tenants_of_nodes(stack, mapping(config, "labels")) if fenced else None
    return gpu_tenants(stack) if led is None else led


def _shared(stack: Stack) -> Iterator[tuple[Resource, Path, str, set[str]]]:
    """Shared resources: the path, the method and the teams."""
    for plugin in stack.resources_of_kinds(PLUGIN):
        for key, method in _METHODS.items():
            if mapping(at(plugin.properties, "sharing", key)):
                renamed = is_true(at(plugin.properties, "sharing", key, "renameByDefault"))
                yield plugin, ("sharing", key), method, _users(stack, renamed=renamed)
    for pool in stack.resources_of_kinds(NODE_POOL):
        config = block(pool.properties.get("nodeConfig"))
        accelerators = items(config, "guestAccelerators")
        for index, accelerator in enumerate(accelerators):
            strategy = text(at(block(accelerator), "gpuSharingConfig", "gpuSharingStrategy"))
            if strategy in {"TIME_SHARING", "MPS"}:
                path = ("nodeConfig", "guestAccelerators", index, "gpuSharingConfig")
                how = "MPS" if strategy == "MPS" else "time-slicing"
                yield pool, path, how, _users_of_pool(stack, config)


# GPU-SHR-02
_PARTS = ("mig-", ".shared")


def _check_isolation(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    apart = _labelled(stack, parameters)
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


# GPU-SHR-03
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
_PREFIX = "nvidia.com/mig-"
_A_PROFILE = "write a profile that `gpuyard mig GPU` lists"
_PRODUCTS = (*MIG_PRODUCTS.values(), *ALTERNATIVE_PRODUCTS.values())
_RESOURCES = {p.resource: p.name for product in _PRODUCTS for p in product.profiles}
_NAMES = frozenset(_RESOURCES.values())


def _check_layouts(stack: Stack, _: Parameters) -> Iterator[Violation]:
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
                f"write {suggestion}" if suggestion else _A_PROFILE,
                resource,
            )
    if named:
        yield from _single(stack)


def _layouts(config: Resource) -> Iterator[Violation]:
    for name, groups in mapping(config.properties, "mig-configs").items():
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
            for position, name in enumerate(items(group, "coveredResources")):
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
                f"write {suggestion}" if suggestion else _A_PROFILE,
                resource,
            )


def _single(stack: Stack) -> Iterator[Violation]:
    operators = stack.resources_of_kinds(*OPERATORS)
    for operator in (
        operators if len(operators) == 1 else ()
    ):  # of several one is for another cluster
        path: Path = (*OPERATORS[operator.group_kind], "mig")
        if text(at(operator.properties, *path, "strategy")) == "single":
            yield Violation(
                (*path, "strategy"),
                "with mig.strategy: single every slice is named nvidia.com/gpu:"
                " quotas and queues here count nvidia.com/mig-*, which no node advertises",
                "set mig.strategy: mixed, or count nvidia.com/gpu",
                operator,
            )


# GPU-SHR-04
_TURNS = frozenset({GPU, f"{GPU}.shared"})


def _check_share_names(stack: Stack, _: Parameters) -> Iterator[Violation]:
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
        requests = if_known(
            gpu_requests(each) for pod in pods_of(resource) for _, each in pod.containers()
        )
        if any(n > 1 for each in requests for name, n in each.items() if name in _TURNS):
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
        for name in items(group, "coveredResources")
    )
    quotas = (
        key.removeprefix("requests.")
        for quota in stack.resources_of_kinds(QUOTA)
        for key in gpu_keys(quota)
    )
    return GPU in {*covered, *quotas}


# GPU-SHR-05
def _check_share_counts(resource: Resource, _: Parameters) -> Iterator[Violation]:
    for pod in pods_of(resource):
        yield from check_pod_shares(pod)


RULES = (
    load_rule("GPU-SHR-01", kinds=(PLUGIN, NODE_POOL), check_stack=_check_sharing),
    load_rule("GPU-SHR-02", kinds=(QUOTA,), check_stack=_check_isolation),
    load_rule(
        "GPU-SHR-03", kinds=(MIG_PARTED, QUOTA, QUEUE, _CLASS, *_CLAIMS), check_stack=_check_layouts
    ),
    load_rule("GPU-SHR-04", kinds=(PLUGIN,), check_stack=_check_share_names),
    load_rule("GPU-SHR-05", title=SHARES.title, kinds=POD_KINDS, check=_check_share_counts),
)
