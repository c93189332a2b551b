"""What a destroy would not take: what the engine refuses to delete, and what it leaves at the cloud."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpuyard.changes.deployed import Deployed, Stand
from gpuyard.changes.holding import HOLDING, Holds

_NAMES: Mapping[Holds, str] = {
    Holds.CLUSTER: "cluster",
    Holds.NODES: "nodes",
    Holds.NETWORK: "network",
    Holds.KEY: "key",
    Holds.DATA: "store",
    Holds.PAID: "block",
}


class Keeping(StrEnum):
    """How something is kept."""

    PROTECTED = "protected"
    """The engine refuses the destroy as a whole."""
    LEFT = "left"
    """The stack forgets it, and the cloud, or the cluster, still has it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One resource that a destroy does not delete."""

    keeping: Keeping
    kind: str
    name: str
    id: str
    what: str
    """In a word: cluster, nodes, store."""
    holds: str
    """What would be lost with it; empty where nobody has said."""


def kept(stand: Stand) -> tuple[Kept, ...]:
    """What stops a destroy, and then what outlives it, each in the order of the state."""
    protected = [_kept(each, Keeping.PROTECTED) for each in stand.resources if each.protect]
    left = [
        _kept(each, Keeping.LEFT) for each in stand.resources if each.retain and not each.protect
    ]
    return (*protected, *left)


def _kept(each: Deployed, keeping: Keeping) -> Kept:
    holds = HOLDING.get(each.kind)
    what = _NAMES[holds] if holds else each.kind.rpartition(":")[2]
    return Kept(keeping, each.kind, each.name, each.id, what, holds.value if holds else "")
