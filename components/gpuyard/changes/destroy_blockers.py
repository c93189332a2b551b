"""Resources that a destroy does not delete: protected ones, and those retained on deletion."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from gpuyard.changes.deployed_state import DeployedResource, DeployedState
from gpuyard.changes.retained_content import CONTENT_BY_KIND, ResourceContent

_NAMES: Mapping[ResourceContent, str] = {
    ResourceContent.CLUSTER: "cluster",
    ResourceContent.NODES: "nodes",
    ResourceContent.NETWORK: "network",
    ResourceContent.KEY: "key",
    ResourceContent.DATA: "store",
    ResourceContent.PAID: "block",
}


class BlockReason(StrEnum):
    """Why a resource is kept."""

    PROTECTED = "protected"
    """Pulumi rejects the whole destroy."""
    LEFT = "left"
    """It leaves the state and stays in the cloud or the cluster."""


@dataclass(frozen=True, slots=True)
class DestroyBlocker:
    """One resource that a destroy does not delete."""

    block_reason: BlockReason
    kind: str
    name: str
    id: str
    description: str
    """Its kind in one word: cluster, nodes, store."""
    retained_content: str
    """What is lost with it; empty when unknown."""


def destroy_blockers(state: DeployedState) -> tuple[DestroyBlocker, ...]:
    """Resources that block a destroy, then those that outlive it, in the order of the state."""
    protected = [
        _destroy_blocker(each, BlockReason.PROTECTED) for each in state.resources if each.protect
    ]
    retained = [
        _destroy_blocker(each, BlockReason.LEFT)
        for each in state.resources
        if each.retain and not each.protect
    ]
    return (*protected, *retained)


def _destroy_blocker(each: DeployedResource, keeping: BlockReason) -> DestroyBlocker:
    holds = CONTENT_BY_KIND.get(each.kind)
    what = _NAMES[holds] if holds else each.kind.rpartition(":")[2]
    return DestroyBlocker(
        keeping, each.kind, each.name, each.id, what, holds.value if holds else ""
    )
