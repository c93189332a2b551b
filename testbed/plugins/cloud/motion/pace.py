"""How soon nodes come: after the catalogue's times, at the pace of the test bed.

`pace.json` in the account's folder: `{"factor": 0.01, "pulls_gb": 10}`. By a factor of 0.01 ten minutes last
six seconds; `pulls_gb` is what a node pulls before its GPUs can be used. Without the file all is there at
once.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from gpuyard.catalogue.cluster.times import GB_PULLED, Seconds, startup_durations
from gpuyard.catalogue.software.images import ComponentOwner
from testbed.plugins.cloud.inside.node import Node, digest

_FILE = "pace.json"
_CLOUDS = {"aws": "aws", "gce": "gcp"}
_DIGITS = 8


class Clock:
    """Of this machine; a test may bring its own."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let them pass."""
        time.sleep(seconds)


@dataclass(frozen=True)
class Pace:
    """What the file says."""

    factor: float = 0.0
    pulls_gb: float = 0.0


@dataclass(frozen=True)
class Takes:
    """Seconds of the test bed: until a node is ready, and from then on until its GPUs are counted."""

    joins: float = 0.0
    counted: float = 0.0


def write(folder: Path, *, factor: float, pulls_gb: float = 0.0) -> None:
    """Let nodes take their time from now on."""
    fresh = folder / ".pace.new"
    fresh.write_text(json.dumps({"factor": factor, "pulls_gb": pulls_gb}), encoding="utf-8")
    fresh.replace(folder / _FILE)


def read(folder: Path | None) -> Pace:
    """The pace; what cannot be meant is an error."""
    file = folder / _FILE if folder else None
    if file is None or not file.exists():
        return Pace()
    message = json.loads(file.read_text(encoding="utf-8"))
    try:
        result = Pace(**message)
    except TypeError:
        raise ValueError(
            f"{file}: allowed are factor and pulls_gb, not {sorted(message)}"
        ) from None
    if min(result.factor, result.pulls_gb) < 0:
        raise ValueError(f"{file}: nothing takes less than no time")
    return result


def takes(node: Node, pace: Pace) -> Takes:
    """Of one node: somewhere between the least and the most, and always at the same place."""
    if not pace.factor:
        return Takes()
    cloud = _CLOUDS[node.provider_id.partition(":")[0]]
    steps = [
        _within(each, node.name)
        for each in startup_durations(cloud, node.gpus, _driver(node, cloud))
    ]
    pulls = _within(GB_PULLED, node.name) * pace.pulls_gb if node.gpus else 0.0
    joins, counted = steps[0], sum(steps[1:]) + pulls
    return Takes(joins * pace.factor, counted * pace.factor)


def _driver(node: Node, cloud: str) -> ComponentOwner | None:
    if not node.gpus:
        return None
    if not node.driver:
        return ComponentOwner.OPERATOR  # or a DaemonSet, of which the same is known
    return ComponentOwner.GKE if cloud == "gcp" else ComponentOwner.IMAGE


def _within(row: Seconds, name: str) -> float:
    place = int(digest(name, row.source.title)[:_DIGITS], 16) / (1 << 4 * _DIGITS)
    return row.least + (row.most - row.least) * place
