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
class Rung:
    """One way of buying, best first in its ladder."""

    says: str
    names: tuple[str, ...]
    """Values of the label on its nodes."""
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """The ways of buying of one pool."""

    pool: str
    selector: str
    """Of the pool's nodes."""
    label: str
    rungs: tuple[Rung, ...]


def read_ladder(raw: dict[str, Any]) -> Ladder:
    """Of a document."""
    rungs = tuple(
        Rung(says=each["says"], names=tuple(each["names"]), most=each["most"])
        for each in raw["rungs"]
    )
    return Ladder(pool=raw["pool"], selector=raw["selector"], label=raw["label"], rungs=rungs)


def fallen(
    nodes: Sequence[dict[str, Any]], ladder: Ladder, now: datetime
) -> Iterator[tuple[dict[str, Any], str]]:
    """Nodes that came just now although a better rung is not full, and what is to be said of each."""
    rung_of = {name: rung for rung in ladder.rungs for name in rung.names}
    ways = [(n["metadata"].get("labels") or {}).get(ladder.label, "") for n in nodes]
    there = Counter(rung_of[way].says for way in ways if way in rung_of)
    for node, way in zip(nodes, ways, strict=True):
        if way not in rung_of or not _fresh(node, now):
            continue
        better = ladder.rungs[: ladder.rungs.index(rung_of[way])]
        short = [r for r in better if there[r.says] < r.most]
        if short:
            lacks = " and ".join(f"{there[r.says]} of {r.most} {r.says}" for r in short)
            bought = f"It was bought {rung_of[way].says}"
            yield node, f"{bought}: pool {ladder.pool} has {lacks} nodes, and was given no more."


def _fresh(node: dict[str, Any], now: datetime) -> bool:
    made = node["metadata"].get("creationTimestamp")
    return isinstance(made, str) and now - datetime.fromisoformat(made) <= FRESH
