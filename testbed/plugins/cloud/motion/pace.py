"""When nodes join: after the catalogue's times, scaled by the test bed's pace.

`pace.json` in the account's folder: `{"factor": 0.01, "pulls_gb": 10}`. With a factor of 0.01 ten minutes
last six seconds; `pulls_gb` is the size of the images that a node pulls before its GPUs are usable. Without
the file nodes join at once.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from gpuyard_core.catalogue.cluster.times import GB_PULLED, Duration, startup_durations
from gpuyard_core.catalogue.software.images import ComponentOwner
from testbed.plugins.cloud.inside.node import Node, digest

_FILE = "pace.json"
_CLOUDS = {"aws": "aws", "gce": "gcp"}
_DIGITS = 8


class Clock:
    """The clock of this machine; a test may use its own."""

    def now(self) -> float:
        """Duration since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        time.sleep(seconds)


@dataclass(frozen=True)
class Pace:
    """Content of the file."""

    factor: float = 0.0
    pulls_gb: float = 0.0


@dataclass(frozen=True)
class Takes:
    """Scaled seconds until a node is ready, and from then until its GPUs are advertised."""

    joins: float = 0.0
    counted: float = 0.0


def write(folder: Path, *, factor: float, pulls_gb: float = 0.0) -> None:
    """Set the pace from now on."""
    fresh = folder / ".pace.new"
    fresh.write_text(json.dumps({"factor": factor, "pulls_gb": pulls_gb}), encoding="utf-8")
    fresh.replace(folder / _FILE)


def read(folder: Path | None) -> Pace:
    """The pace; an invalid file is an error."""
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
        raise ValueError(f"{file}: factor and pulls_gb must not be negative")
    return result


def takes(node: Node, pace: Pace) -> Takes:
    """The times of one node: between minimum and maximum, always the same."""
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
        return ComponentOwner.OPERATOR  # or a DaemonSet, with the same times
    return ComponentOwner.GKE if cloud == "gcp" else ComponentOwner.IMAGE


def _within(row: Duration, name: str) -> float:
    place = int(digest(name, row.source.title)[:_DIGITS], 16) / (1 << 4 * _DIGITS)
    return row.least + (row.most - row.least) * place
