"""Teams that the stack file has no more, and their namespaces: which stay, which go, and with what in them.

The engine shows that a namespace is forgotten or deleted, and neither what is in it nor that the team may
only have another name now. So each preview and each `up` looks at the cluster; where nobody can look, it says
nothing.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pulumi

from gpuyard.names import PLATFORM_LABEL, PROTECT_ANNOTATION, TEAM_LABEL
from gpuyard.plan.records import PlatformPlan
from gpuyard.resources.diagnosis.kubectl import Kubectl

_COUNTED = {"persistentvolumeclaim": "volume claim", "secret": "secret"}


def tell_of_gone_teams(kubectl: Kubectl, plan: PlatformPlan) -> pulumi.Output[list[str]]:
    """Look and tell beside the deployment, which waits for it only at its end."""
    return pulumi.Output.from_input(_told(kubectl, plan))


async def _told(kubectl: Kubectl, plan: PlatformPlan) -> list[str]:
    """A warning for each; a look that fails must fail no deployment."""
    try:
        found = await gone_teams(kubectl, plan)
    except Exception as problem:  # noqa: BLE001  whatever a cluster may answer
        pulumi.log.debug(f"no look at the namespaces of former teams: {problem}")
        return []
    for said in found:
        pulumi.log.warn(said)
    return found


async def gone_teams(kubectl: Kubectl, plan: PlatformPlan) -> list[str]:
    """What there is to say of each."""
    found = await kubectl.get("namespaces", "-l", f"{PLATFORM_LABEL}={plan.name},{TEAM_LABEL}")
    if found is None:
        return []
    live = {each["metadata"]["name"]: each for each in found.get("items") or []}
    known = {team.namespace for team in plan.teams}
    new = [team.name for team in plan.teams if team.namespace not in live]
    said = []
    for name, namespace in sorted(live.items()):
        if name not in known and not namespace["metadata"].get("deletionTimestamp"):
            left = await kubectl.names(",".join(f"{kind}s" for kind in _COUNTED), "-n", name)
            said.append(told(kubectl, namespace, left, new))
    return said


def told(
    kubectl: Kubectl, namespace: Mapping[str, Any], left: Collection[str] | None, new: Sequence[str]
) -> str:
    """Of one namespace: `left` are the objects in it, as `kind/name`, None where nobody could look."""
    meta = namespace["metadata"]
    name = meta["name"]
    stays = (meta.get("annotations") or {}).get(PROTECT_ANNOTATION) == "true"
    fixes = [
        f"if {' or '.join(new)} is another name for it, write `formerly: [{name}]` there"
        if new
        else "",
        f"when nobody needs it: {kubectl.command('delete', 'namespace', name)}"
        if stays
        else "to keep it, add the team again with `protect: true` and run `pulumi up` before it goes",
    ]
    return (
        f"The stack file has no team {name}; its namespace {'stays' if stays else 'goes'}, with "
        f"{_counted(left)} in it.\n  fix: {'; '.join(filter(None, fixes))}"
    )


def _counted(left: Collection[str] | None) -> str:
    """`2 volume claims and 1 secret`."""
    if left is None:
        return "whatever is"
    found = Counter(one.partition("/")[0] for one in left)
    return " and ".join(
        f"{found[kind] or 'no'} {word}{'' if found[kind] == 1 else 's'}"
        for kind, word in _COUNTED.items()
    )
