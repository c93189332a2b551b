"""GPU-SHR-01: GPUs that are shared in turns are shared by people who trust each other."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Path, Severity
from gpuyard.manifests.placeholders import is_placeholder
from gpuyard.names import ISOLATION_LABEL
from gpuyard.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    block,
    is_true,
    items,
    mapping,
    mappings,
    text,
)
from gpuyard.rules.subjects.pools import GPU, NODE_POOL
from gpuyard.rules.subjects.tenants import (
    QUOTA,
    gpu_keys,
    gpu_tenants,
    teams_of,
    tenants_of_nodes,
)

PLUGIN = "config:device-plugin"
_SHARED = ".shared"
_METHODS = {"timeSlicing": "time-slicing", "mps": "MPS"}


def _check(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
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
            f"by {method} the GPUs here serve pods of several teams at once ({', '.join(tenants)}):"
            " no memory limit that holds, and one team's fault ends the other's pods",
            "share inside one team only, or cut the GPUs with MIG",
            resource,
        )


def _labelled(stack: Stack, parameters: Parameters) -> set[str]:
    """Namespaces that say themselves that they accept it."""
    return {
        namespace.name
        for namespace in stack.of("Namespace")
        if text(mapping(at(namespace.properties, "metadata", "labels")).get(parameters["label"]))
        == parameters["value"]
    }


def _users(stack: Stack, *, renamed: bool) -> set[str]:
    """Teams that can get a shared GPU: with a name of its own, and quotas of it, those that have one."""
    if renamed:
        quotas = [q for q in stack.of(QUOTA) if any(key.endswith(_SHARED) for key in gpu_keys(q))]
        if quotas:
            return {quota.namespace for quota in quotas}
    return gpu_tenants(stack)


def _users_of_pool(stack: Stack, config: Mapping[str, Any]) -> set[str]:
    """Of nodes that GKE shares: behind a taint of their own those whose queues lead there."""
    fenced = any(text(taint, "key") not in {"", GPU} for taint in mappings(config, "taints"))
    led = tenants_of_nodes(stack, mapping(config.get("labels"))) if fenced else None
    return gpu_tenants(stack) if led is None else led


def _shared(stack: Stack) -> Iterator[tuple[Resource, Path, str, set[str]]]:
    """What is shared: where it says so, how, and by whom."""
    for plugin in stack.of(PLUGIN):
        for key, method in _METHODS.items():
            if mapping(at(plugin.properties, "sharing", key)):
                renamed = is_true(at(plugin.properties, "sharing", key, "renameByDefault"))
                yield plugin, ("sharing", key), method, _users(stack, renamed=renamed)
    for pool in stack.of(NODE_POOL):
        config = block(pool.properties.get("nodeConfig"))
        accelerators = items(config.get("guestAccelerators"))
        for index, accelerator in enumerate(accelerators):
            strategy = text(at(block(accelerator), "gpuSharingConfig", "gpuSharingStrategy"))
            if strategy in {"TIME_SHARING", "MPS"}:
                path = ("nodeConfig", "guestAccelerators", index, "gpuSharingConfig")
                how = "MPS" if strategy == "MPS" else "time-slicing"
                yield pool, path, how, _users_of_pool(stack, config)


RULE = Rule(
    id="GPU-SHR-01",
    title="Time-slicing and MPS stay within one team",
    severity=Severity.ERROR,
    why="They give neither memory nor fault isolation: one team's out-of-memory is the other team's.",
    fix="Give each team shared GPUs of its own, or cut GPUs with MIG for teams that share a node.",
    sources=("NVIDIA GPU Operator documentation, gpu-sharing.rst: no memory or fault isolation",),
    kinds=(PLUGIN, NODE_POOL),
    parameters={"trusted": (), "label": ISOLATION_LABEL, "value": "shared"},
    check_stack=_check,
)
