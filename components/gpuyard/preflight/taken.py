"""Names that a plan gives: whether the account has something of that name, the platform's or another's."""

from collections.abc import Mapping
from typing import Any

from gpuyard.findings import Fix, Path, listed, refuse, warn
from gpuyard.preflight.asking import NOT_FOUND, Answer, Heard, at
from gpuyard.preflight.wants import Ahead

OWN, LEFT = "own", "left"
"""Questions: the cluster of the platform's name, and what is there beside it under names that are given."""
_AT: Path = ("name",)
_LEFT = ("aws:cloudwatch/logGroup:LogGroup", "gcp:compute/network:Network")
"""What EKS writes on into after a cluster's end; what an `up` that stopped midway has made first."""


def names_given(ahead: Ahead) -> list[str]:
    """Of log groups at AWS, of networks at Google: those that the account has once."""
    names = (each.inputs.get("name") for each in ahead.graph.resources if each.kind in _LEFT)
    return sorted(name for name in names if isinstance(name, str))


def is_free(answer: Answer) -> bool:
    """Whether there is no cluster of that name."""
    return answer.error == NOT_FOUND or answer.error.startswith("ResourceNotFound")


def is_own(answer: Answer, platform: str, *path: str) -> bool:
    """Whether the cluster that is there says at this path that it is the platform's."""
    return bool(at(answer.value, *path) == platform)


def own_heard(platform: str, answer: Answer, *path: str) -> Heard | None:
    """No cluster is made beside one of the same name; this stack's own is the stack's to change."""
    if is_free(answer):
        return Heard(said=(f"no cluster is called {platform} yet",))
    if is_own(answer, platform, *path):
        return Heard(said=(f"cluster {platform} is this platform's own: it is deployed",))
    there = at(answer.value, *path[:-2])
    if answer.error or not isinstance(there, Mapping) or "name" not in there:
        return None
    problem = f"a cluster is called {platform} already, and it is not this platform's"
    fix = Fix(says="give the platform another name: its cluster is called by it")
    return Heard((refuse("live.taken", _AT, problem, given=platform, fix=fix),))


def left_heard(
    ahead: Ahead, own: Answer, there: list[Any] | None, key: str, way: str
) -> Heard | None:
    """What has names of the platform's while no cluster has: nothing, or what somebody left there."""
    if there is None:
        return None
    found = [str(each.get(key)) for each in there if each.get(key) in names_given(ahead)]
    if not found or not is_free(own):
        return Heard()
    problem = f"{listed(found)} is there, and no cluster: `up` would make it and be refused"
    fix = Fix(
        says=f"if an `up` of this stack has stopped midway, all is well; else delete it: {way}"
    )
    given = listed(found)
    return Heard((warn("live.taken", _AT, problem, given=given, allowed="a free name", fix=fix),))
