"""Cloud resources with content that a new resource does not restore."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gpuyard_core.catalogue.tables import read_yaml


class ResourceContent(StrEnum):
    """What is lost with a resource."""

    CLUSTER = "every object and job in the cluster"
    NODES = "its nodes and the workloads on them"
    NETWORK = "all resources in the network"
    KEY = "the key and all data encrypted with it"
    DATA = "the data in it"
    PAID = "its prepaid cost until it ends"
    OBJECTS = "all objects of its kinds in every namespace, and their pods"


@dataclass(frozen=True, slots=True)
class _Table:
    content: Mapping[ResourceContent, tuple[str, ...]]
    rolling_fields: Mapping[str, tuple[str, ...]]


_TABLE: _Table = read_yaml(str(Path(__file__).with_suffix("")), _Table)
CONTENT_BY_KIND = {kind: content for content, kinds in _TABLE.content.items() for kind in kinds}
"""By kind; other resources are recreated without loss."""


def forces_node_rollout(kind: str, path: str) -> bool:
    """Whether an in-place change of this field replaces the nodes of a group in batches."""
    return any(
        path == each or path.startswith((f"{each}.", f"{each}[", f'{each}["'))
        for each in _TABLE.rolling_fields.get(kind, ())
    )
