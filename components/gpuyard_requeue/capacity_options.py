"""A node of a lower rung: told once, with the better rungs of which there were no more.

Which rung a node is of stands in a label of whoever made it. Of a node that came long ago nobody knows what
there was to be had then.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

FRESH = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOption:
    """One way of buying, best first in its ladder."""

    description: str
    names: tuple[str, ...]
    """Values of the label on its nodes."""
    max_nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """The ways of buying of one pool."""

    pool: str
    selector: str
    """Of the pool's nodes."""
    label: str
    options: tuple[CapacityOption, ...]


def read_ladder(raw: dict[str, Any]) -> PoolOptions:
    """Of a document."""
    rungs = tuple(
        CapacityOption(description=each["says"], names=tuple(each["names"]), max_nodes=each["most"])
        for each in raw["rungs"]
    )
    return PoolOptions(
        pool=raw["pool"], selector=raw["selector"], label=raw["label"], options=rungs
    )


def fallback_nodes(
    nodes: Sequence[dict[str, Any]], ladder: PoolOptions, now: datetime
) -> Iterator[tuple[dict[str, Any], str]]:
    """Nodes that came just now although a better rung is not full, and what is to be said of each."""
    rung_of = {name: option for option in ladder.options for name in option.names}
    ways = [(n["metadata"].get("labels") or {}).get(ladder.label, "") for n in nodes]
    nodes_by_option = Counter(rung_of[way].description for way in ways if way in rung_of)
    for node, way in zip(nodes, ways, strict=True):
        if way not in rung_of or not _fresh(node, now):
            continue
        better = ladder.options[: ladder.options.index(rung_of[way])]
        short = [r for r in better if nodes_by_option[r.description] < r.max_nodes]
        if short:
            lacks = " and ".join(
                f"{nodes_by_option[r.description]} of {r.max_nodes} {r.description}" for r in short
            )
            bought = f"It was bought {rung_of[way].description}"
            yield node, f"{bought}: pool {ladder.pool} has {lacks} nodes, and was given no more."


def _fresh(node: dict[str, Any], now: datetime) -> bool:
    creation_time = node["metadata"].get("creationTimestamp")
    return isinstance(creation_time, str) and now - datetime.fromisoformat(creation_time) <= FRESH
