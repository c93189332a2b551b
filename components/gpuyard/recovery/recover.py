"""After a deployment that was killed: unlock the stack, and take over what it had made and not written down.

What the next `up` would make and is there already it could not make. Where an object carries this platform's
label it is ours, whoever lost it: a killed `up` that had just made it, or a team that went and left its
namespace. It is adopted. What somebody else owns is left alone, with the command that would take it over.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from gpuyard.errors import EnvironmentLacks
from gpuyard.names import PLATFORM_LABEL
from gpuyard.programs import ask
from gpuyard.recovery.adoption import adopt, import_command
from gpuyard.recovery.clouds import Asking, Sought, sought, taken_up
from gpuyard.recovery.creations import Creation, Free, Look, creations, kubectl_frees, kubectl_of
from gpuyard.recovery.locks import release
from gpuyard.recovery.stack import PulumiStack

_AT_ONCE = 8
_NAMESPACE = "kubernetes:core/v1:Namespace"
Looking = Callable[[Mapping[str, Any]], Look]
"""How to look at the cluster, from the state."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was done, and what is left to be decided."""

    did: tuple[str, ...]
    left: tuple[str, ...]
    """What is there, is not ours, and will stop the next `up`; with the command that takes it over."""


def recover(
    stack: PulumiStack,
    looking: Looking = kubectl_of,
    asking: Asking = ask,
    freeing: Callable[[Mapping[str, Any]], Free] = kubectl_frees,
    *,
    only_after_a_kill: bool = False,
) -> Recovered:
    """Bring a stack to where the next `up` ends well.

    `only_after_a_kill` saves the preview where no operation was under way.

    Raises:
        EnvironmentLacks: somebody holds the stack, or the engine fails.
    """
    did = release(stack)
    state = stack.state()
    if not only_after_a_kill:
        did += _freed(state, looking(state), freeing(state))
    pending = state.get("pending_operations") or []
    found: dict[str, Sought] = {}
    if pending:
        found = sought(state, asking)
        if any(each.identity for each in found.values()):
            stack.edit(lambda deployment: taken_up(deployment, found.values()))
        # A plain `up` would keep these operations in the state for good.
        stack.ask("refresh", "--clear-pending-creates", "--yes", "--skip-preview")
        state = stack.state()
        did += [_ended(one, found, state) for one in pending]
    elif only_after_a_kill:
        return Recovered(tuple(did), ())
    planned = creations(stack)
    known = {each["urn"] for each in state.get("resources") or []}
    there = _there(planned, known, looking(state))
    ours = [one for one, mine in there if mine]
    adopt(stack, ours, planned, known)
    did += [f"adopted: {one}, as {import_command(stack, one)}" for one in ours]
    left = [
        f"{one} is there and not ours: {import_command(stack, one)}"
        for one, mine in there
        if not mine
    ]
    return Recovered(tuple(did), (*left, *_unseen(stack, pending, found)))


def _there(planned: list[Creation], known: set[str], look: Look) -> list[tuple[Creation, bool]]:
    """Each object that is there already, and whether it is ours."""
    asked = [one for one in planned if one.is_object and one.provider in known]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        seen = zip(asked, pool.map(look, asked), strict=True)
        return [(one, _is_ours(one, live)) for one, live in seen if live is not None]


def _freed(state: Mapping[str, Any], look: Look, free: Free) -> list[str]:
    """Free namespaces that are being deleted of what keeps them: pods of groups.

    Kueue keeps a deleted pod of a group until another takes its place, and Kubernetes deletes the group's
    workload only after all pods of the namespace.
    """
    there = (_made(each) for each in state.get("resources") or [] if each["type"] == _NAMESPACE)
    spaces = [one for one in there if one.is_object]
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            seen = zip(spaces, pool.map(look, spaces), strict=True)
            going = [one for one, live in seen if live and _ends(live)]
    except EnvironmentLacks:
        return []  # the cluster is gone, or is not to be seen from here
    return [
        f"{one} is being deleted: its workloads "
        + (f"could not be deleted: {why}" if why else "are deleted, with their pods")
        for one, why in ((one, free(one)) for one in going)
    ]


def _ends(live: Mapping[str, Any]) -> bool:
    return bool(live["metadata"].get("deletionTimestamp"))


def _is_ours(one: Creation, live: Mapping[str, Any]) -> bool:
    labels = [each["metadata"].get("labels") or {} for each in (live, one.inputs)]
    theirs, ours = (each.get(PLATFORM_LABEL) for each in labels)
    return ours is not None and theirs == ours


def _ended(
    operation: Mapping[str, Any], found: Mapping[str, Sought], state: Mapping[str, Any]
) -> str:
    """What became of an operation that was under way."""
    urn, said = operation["resource"]["urn"], f"it was {operation['type']}"
    identity = found[urn].identity if urn in found else ""
    there = any(each["urn"] == urn for each in state.get("resources") or [])
    became = f"it is there as {identity}, and adopted" if identity and there else "forgotten"
    return f"{said} {_named(operation['resource'])}: {became}"


def _unseen(
    stack: PulumiStack, pending: list[Mapping[str, Any]], found: Mapping[str, Sought]
) -> list[str]:
    """What was being made in other places than a cluster, and nobody could find."""
    return [
        f"{_named(each)} was being made; {_why(found.get(each['urn']))}if it is there: "
        f"{import_command(stack, _made(each))}"
        for each in (one["resource"] for one in pending if one["type"] == "creating")
        if not (_made(each).is_object or _made(each).is_patch)
        and (each["urn"] not in found or found[each["urn"]].why)
    ]


def _why(sought: Sought | None) -> str:
    return f"{sought.why}; " if sought else ""


def _made(resource: Mapping[str, Any]) -> Creation:
    return Creation(
        urn=resource["urn"],
        parent=resource.get("parent", ""),
        provider=str(resource.get("provider") or "").rpartition("::")[0],
        inputs=resource.get("inputs") or {},
    )


def _named(resource: Mapping[str, Any]) -> str:
    made = _made(resource)
    return str(made) if made.is_object else f"{made.token} {made.name}"
