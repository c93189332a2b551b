"""GPU-SHR-01: time-slicing and MPS share GPUs within one team only."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path, Severity
from gpuyard_core.manifests.placeholders import is_placeholder
from gpuyard_core.names import ISOLATION_LABEL
from gpuyard_lint.rules.rule import (
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
from gpuyard_lint.rules.subjects.pools import GPU, NODE_POOL
from gpuyard_lint.rules.subjects.tenants import (
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
            f"{method} shares these GPUs between pods of several teams ({', '.join(tenants)}):"
            " no enforced memory limit, and one team's fault ends the other team's pods",
            "share within one team only, or partition the GPUs with MIG",
            resource,
        )


def _labelled(stack: Stack, parameters: Parameters) -> set[str]:
    """Namespaces whose label accepts sharing."""
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
    led = tenants_of_nodes(stack, mapping(config.get("labels"))) if fenced else None
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
    why="They isolate neither memory nor faults: one team's out-of-memory error hits the other team.",
    fix="Give each team its own shared GPUs, or use MIG for teams that share a node.",
    sources=("NVIDIA GPU Operator documentation, gpu-sharing.rst: no memory or fault isolation",),
    kinds=(PLUGIN, NODE_POOL),
    parameters={"trusted": (), "label": ISOLATION_LABEL, "value": "shared"},
    check_stack=_check,
)
