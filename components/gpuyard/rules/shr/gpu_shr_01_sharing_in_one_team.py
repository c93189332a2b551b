"""GPU-SHR-01: GPUs that are shared in turns are shared by people who trust each other."""

from collections.abc import Iterator

from gpuyard.findings import Path, Severity
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
    text,
)
from gpuyard.rules.subjects.pools import NODE_POOL
from gpuyard.rules.subjects.tenants import QUOTA, gpu_keys, gpu_tenants, teams_of

PLUGIN = "config:device-plugin"
_SHARED = ".shared"
_METHODS = {"timeSlicing": "time-slicing", "mps": "MPS"}


def _check(stack: Stack, parameters: Parameters) -> Iterator[Violation]:
    accept = _labelled(stack, parameters)
    for resource, path, method, renamed in _shared(stack):
        tenants = sorted(_users(stack, renamed=renamed) - set(parameters["trusted"]))
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


def _shared(stack: Stack) -> Iterator[tuple[Resource, Path, str, bool]]:
    """What is shared: where it says so, how, and whether pods ask for it by another name."""
    for config in stack.of(PLUGIN):
        for key, method in _METHODS.items():
            if mapping(at(config.properties, "sharing", key)):
                renamed = is_true(at(config.properties, "sharing", key, "renameByDefault"))
                yield config, ("sharing", key), method, renamed
    for pool in stack.of(NODE_POOL):
        accelerators = items(at(pool.properties, "nodeConfig", "guestAccelerators"))
        for index, accelerator in enumerate(accelerators):
            strategy = text(at(block(accelerator), "gpuSharingConfig", "gpuSharingStrategy"))
            if strategy in {"TIME_SHARING", "MPS"}:
                path = ("nodeConfig", "guestAccelerators", index, "gpuSharingConfig")
                yield pool, path, "MPS" if strategy == "MPS" else "time-slicing", False


RULE = Rule(
    id="GPU-SHR-01",
    title="Time-slicing and MPS stay inside one team",
    severity=Severity.REFUSE,
    why="They give neither memory nor fault isolation: one team's out-of-memory is the other team's.",
    fix="Give each team shared GPUs of its own, or cut GPUs with MIG for teams that share a node.",
    sources=("NVIDIA GPU Operator documentation, gpu-sharing.rst: no memory or fault isolation",),
    kinds=(PLUGIN, NODE_POOL),
    parameters={"trusted": (), "label": ISOLATION_LABEL, "value": "shared"},
    check_stack=_check,
)
