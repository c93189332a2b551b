"""Namespaces without a team in the stack file: which are kept, which are deleted, and their content.

The engine reports that a namespace is deleted or dropped from the state, but neither its content
nor that the team may be renamed. So each preview and each `up` queries the cluster; a failed query
is ignored. If workloads of a removed team run, the program fails before the engine deletes
anything: Kueue would keep the ClusterQueue, and the deployment would fail after the rest of the
team is deleted.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from gpuyard.plan.records import PlatformPlan
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard_core.names import (
    EXISTING_ANNOTATION,
    PLATFORM_LABEL,
    PROTECT_ANNOTATION,
    TEAM_LABEL,
    cluster_queue_name,
)

_COUNTED = {"persistentvolumeclaim": "volume claim", "secret": "secret"}


@dataclass(frozen=True, slots=True)
class RemovedTeamNamespace:
    """A namespace without a team in the stack file."""

    warning: str
    blocks_queue_deletion: bool
    """Whether running workloads keep the queue of a removed team."""


class TeamInUse(pulumi.RunError):
    """Workloads use the queue of a removed team."""


def warn_removed_teams(kubectl: Kubectl, plan: PlatformPlan) -> pulumi.Output[list[str]]:
    """Query and warn in parallel to the deployment, which waits for it only at its end."""
    return pulumi.Output.from_input(_removal_warnings(kubectl, plan))


async def _removal_warnings(kubectl: Kubectl, plan: PlatformPlan) -> list[str]:
    """The warnings, or TeamInUse; a failed query never fails the deployment."""
    try:
        result = await removed_team_namespaces(kubectl, plan)
    except Exception as problem:  # noqa: BLE001  a failed query is ignored
        pulumi.log.debug(f"gpuyard could not list the namespaces of removed teams: {problem}")
        return []
    if held := [each.warning for each in result if each.blocks_queue_deletion]:
        raise TeamInUse("\n".join(held))
    for each in result:
        pulumi.log.warn(each.warning)
    return [each.warning for each in result]


async def removed_team_namespaces(
    kubectl: Kubectl, plan: PlatformPlan
) -> list[RemovedTeamNamespace]:
    """The namespaces of removed teams, each with its message."""
    result = await kubectl.get("namespaces", "-l", f"{PLATFORM_LABEL}={plan.name},{TEAM_LABEL}")
    if result is None:
        return []
    live = {each["metadata"]["name"]: each for each in result.get("items") or []}
    known = {space.name for team in plan.teams for space in team.namespaces}
    new = [team.name for team in plan.teams if not live.keys() & {s.name for s in team.namespaces}]
    teams = {team.stable_name for team in plan.teams}
    gone = []
    for name, namespace in sorted(live.items()):
        if name not in known and not namespace["metadata"].get("deletionTimestamp"):
            remaining = await kubectl.names(",".join(f"{kind}s" for kind in _COUNTED), "-n", name)
            running = await kubectl.get("workloads.kueue.x-k8s.io", "-n", name) or {}
            queue = cluster_queue_name(plan.name, namespace["metadata"]["labels"][TEAM_LABEL])
            runs = admitted_workloads(running.get("items") or (), queue)
            gone.append(describe_namespace(kubectl, namespace, remaining, new, teams, runs))
    return gone


def admitted_workloads(workloads: Iterable[Mapping[str, Any]], queue: str) -> list[str]:
    """The workloads with quota in this ClusterQueue, as `namespace/name`."""
    results: list[str] = []
    for each in workloads:
        status, meta = each.get("status") or {}, each["metadata"]
        ended = any(
            c["type"] == "Finished" and c["status"] == "True"
            for c in status.get("conditions") or ()
        )
        queue_name = (status.get("admission") or {}).get("clusterQueue")
        if queue_name == queue and not ended:
            results.append(f"{meta['namespace']}/{meta['name']}")
    return sorted(results)


def describe_namespace(
    kubectl: Kubectl,
    namespace: Mapping[str, Any],
    remaining: Collection[str] | None,
    new: Sequence[str],
    teams: Collection[str],
    runs: Sequence[str] = (),
) -> RemovedTeamNamespace:
    """The message for one namespace; `left` are its objects as `kind/name`, None if the query failed.

    `new` are teams without a namespace yet, `teams` the first names of all, `runs` its admitted
    workloads.
    """
    meta = namespace["metadata"]
    name, team = meta["name"], meta["labels"][TEAM_LABEL]
    annotations = meta.get("annotations") or {}
    theirs = annotations.get(EXISTING_ANNOTATION) == "true"
    stays = theirs or annotations.get(PROTECT_ANNOTATION) == "true"
    is_removed = team not in teams
    what = "its namespace" if name == team else f"its namespace {name}"
    sentence = (
        f"The stack file has no team {team}; {what}"
        if is_removed
        else f"Team {team} has no {name}; it"
    )
    fixes = [
        f"if {' or '.join(new)} is its new name, set `previous_names: [{team}]` there"
        if new and is_removed
        else "",
        f"wait until {', '.join(runs)} {('has' if len(runs) == 1 else 'have')} ended, or add the "
        "team again with `stop_policy: drain`, run `pulumi up`, then remove it: its queue cannot "
        "be deleted before"
        if runs and is_removed
        else "",
        _recommended_action(kubectl, name, theirs=theirs, stays=stays, gone=is_removed),
    ]
    return RemovedTeamNamespace(
        f"{sentence} {('stays' if stays else 'is deleted')}, with {_counted(remaining)} in it.\n  "
        f"fix: {'; '.join(filter(None, fixes))}",
        blocks_queue_deletion=bool(runs) and is_removed and stays,
    )


def _recommended_action(
    kubectl: Kubectl, name: str, *, theirs: bool, stays: bool, gone: bool
) -> str:
    """The fix, by whether the namespace is kept."""
    if theirs:
        return "nothing: it existed before, and gpuyard removes only what it added"
    if stays:
        return f"if it is no longer needed: {kubectl.command('delete', 'namespace', name)}"
    again = "the team" if gone else f"{name} to its `namespaces`"
    return (
        f"to keep it, add {again} again with `protect: true` and run `pulumi up` before it is "
        "deleted"
    )


def _counted(remaining: Collection[str] | None) -> str:
    """`2 volume claims and 1 secret`."""
    if remaining is None:
        return "all objects"
    results = Counter(one.partition("/")[0] for one in remaining)
    return " and ".join(
        f"{results[kind] or 'no'} {word}{'' if results[kind] == 1 else 's'}"
        for kind, word in _COUNTED.items()
    )
