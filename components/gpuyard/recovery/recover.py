"""After an interrupted deployment: unlock the stack, and adopt resources that are missing in its state.

The next `up` would fail to create what already exists. An object with this platform's label belongs to the
platform and is adopted: an interrupted `up` created it, or a removed team left its namespace. Other objects
are not changed; the result has the command that would import them.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from gpuyard.programs import run_commands
from gpuyard.recovery.adoption import adopt, import_command
from gpuyard.recovery.clouds import LookupResult, RunLookup, look_up_pending, with_adopted_resources
from gpuyard.recovery.creations import (
    Creation,
    GetLiveObject,
    ReleaseQuota,
    creation_of,
    kubectl_of,
    preview_creations,
    quota_releaser,
)
from gpuyard.recovery.locks import release_lock
from gpuyard.recovery.stack import PulumiStack
from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.names import PLATFORM_LABEL

_AT_ONCE = 8
_NAMESPACE = "kubernetes:core/v1:Namespace"
ObjectGetter = Callable[[Mapping[str, Any]], GetLiveObject]
"""Builds the lookup of live objects from the state."""


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What was done, and what the user must decide."""

    actions: tuple[str, ...]
    remaining: tuple[str, ...]
    """Existing unmanaged objects that block the next `up`, with the command that adopts them."""


def recover(
    stack: PulumiStack,
    looking: ObjectGetter = kubectl_of,
    asking: RunLookup = run_commands,
    freeing: Callable[[Mapping[str, Any]], ReleaseQuota] = quota_releaser,
    *,
    only_after_a_kill: bool = False,
) -> RecoveryResult:
    """Repair a stack so that the next `up` succeeds.

    `only_after_a_kill` skips the preview when no operation was pending.

    Raises:
        EnvironmentMissing: the stack is locked, or a Pulumi command fails.
    """
    did = release_lock(stack)
    state = stack.state()
    if not only_after_a_kill:
        did += _freed(state, looking(state), freeing(state))
    pending = state.get("pending_operations") or []
    results: dict[str, LookupResult] = {}
    if pending:
        results = look_up_pending(state, asking)
        if any(each.identity for each in results.values()):
            stack.edit(lambda deployment: with_adopted_resources(deployment, results.values()))
        # `pulumi up` would keep these operations in the state permanently.
        stack.query("refresh", "--clear-pending-creates", "--yes", "--skip-preview")
        state = stack.state()
        did += [_operation_outcome(one, results, state) for one in pending]
    elif only_after_a_kill:
        return RecoveryResult(tuple(did), ())
    planned = preview_creations(stack)
    known = {each["urn"] for each in state.get("resources") or []}
    found = _existing(planned, known, looking(state))
    ours = [one for one, mine in found if mine]
    adopt(stack, ours, planned, known)
    did += [f"adopted: {one}, as {import_command(stack, one)}" for one in ours]
    remaining = [
        f"{one} exists and belongs to another owner: {import_command(stack, one)}"
        for one, mine in found
        if not mine
    ]
    return RecoveryResult(
        tuple(did), (*remaining, *_unresolved_operations(stack, pending, results))
    )


def _existing(
    planned: list[Creation], known: set[str], look: GetLiveObject
) -> list[tuple[Creation, bool]]:
    """Each existing object, and whether it belongs to this platform."""
    checkable = [one for one in planned if one.is_object and one.provider in known]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        seen = zip(checkable, pool.map(look, checkable), strict=True)
        return [(one, _is_ours(one, live)) for one, live in seen if live is not None]


def _freed(state: Mapping[str, Any], look: GetLiveObject, free: ReleaseQuota) -> list[str]:
    """Delete the workloads that block terminating namespaces: pods of groups.

    Kueue keeps a deleted pod of a group until another replaces it, and Kubernetes deletes the
    group's workload only after all pods of the namespace.
    """
    namespaces = (
        creation_of(each) for each in state.get("resources") or [] if each["type"] == _NAMESPACE
    )
    spaces = [one for one in namespaces if one.is_object]
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            seen = zip(spaces, pool.map(look, spaces), strict=True)
            going = [
                one for one, live in seen if live and live["metadata"].get("deletionTimestamp")
            ]
    except EnvironmentMissing:
        return []  # the cluster does not exist or is not accessible
    return [
        f"{one} is being deleted: its workloads "
        + (f"could not be deleted: {why}" if why else "are deleted, with their pods")
        for one, why in ((one, free(one)) for one in going)
    ]


def _is_ours(one: Creation, live: Mapping[str, Any]) -> bool:
    labels = [each["metadata"].get("labels") or {} for each in (live, one.inputs)]
    theirs, ours = (each.get(PLATFORM_LABEL) for each in labels)
    return ours is not None and theirs == ours


def _operation_outcome(
    operation: Mapping[str, Any], results: Mapping[str, LookupResult], state: Mapping[str, Any]
) -> str:
    """The outcome of a pending operation."""
    urn = operation["resource"]["urn"]
    identity = results[urn].identity if urn in results else ""
    became = "forgotten"
    if identity and any(each["urn"] == urn for each in state.get("resources") or []):
        became = f"it exists as {identity}, and gpuyard adopted it"
    return f"it was {operation['type']} {_named(operation['resource'])}: {became}"


def _unresolved_operations(
    stack: PulumiStack, pending: list[Mapping[str, Any]], results: Mapping[str, LookupResult]
) -> list[str]:
    """Pending creations outside clusters that could not be found."""
    return [
        f"{_named(each)} was being created; "
        + (f"{results[each['urn']].reason}; " if each["urn"] in results else "")
        + f"if it exists: {import_command(stack, creation_of(each))}"
        for each in (one["resource"] for one in pending if one["type"] == "creating")
        if not (creation_of(each).is_object or creation_of(each).is_patch)
        and (each["urn"] not in results or results[each["urn"]].reason)
    ]


def _named(resource: Mapping[str, Any]) -> str:
    creation = creation_of(resource)
    return str(creation) if creation.is_object else f"{creation.token} {creation.name}"
