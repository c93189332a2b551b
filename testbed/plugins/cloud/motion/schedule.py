"""Scheduled interruptions: which pool loses a node, at which second, and with which notice.

`interruptions.json` in the account's folder: the start time, and

    {"seed": 6, "factor": 0.1, "interruptions": [{"second": 40, "pool": "burst-spot", "notice": "spot"}]}

`pool` is part of the name of a node group, node pool or NodePool, `notice` a word of `notices.NOTICES`.
`factor` shortens the seconds of the schedule and of notices. The seed selects the node; always the same
one.
"""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from testbed.plugins.cloud.motion.notices import NOTICES

_FILE = "interruptions.json"


@dataclass(frozen=True, order=True)
class Interruption:
    """One node of a pool."""

    second: float
    pool: str
    notice: str


@dataclass(frozen=True)
class Schedule:
    """Content of the file."""

    begins: float
    interruptions: tuple[Interruption, ...]
    seed: int = 0
    factor: float = 1.0

    def at(self, each: Interruption) -> float:
        """The time of the notice, in seconds since 1970."""
        return self.begins + each.second * self.factor

    def chosen(self, place: int, nodes: Sequence[str]) -> str:
        """The node of the nth interruption, out of the existing ones."""
        chance = random.Random(f"{self.seed}/{place}")  # noqa: S311  to repeat a test
        return chance.choice(sorted(nodes))


def drawn(
    seed: int, pools: Sequence[str], notices: Sequence[str], *, count: int, within: float
) -> tuple[Interruption, ...]:
    """So many at random times, in order."""
    chance = random.Random(seed)  # noqa: S311  to repeat a test
    results = [
        Interruption(
            round(chance.uniform(0, within), 3), chance.choice(pools), chance.choice(notices)
        )
        for _ in range(count)
    ]
    return tuple(sorted(results))


def write(
    folder: Path,
    interruptions: Iterable[Interruption],
    *,
    begins: float,
    seed: int = 0,
    factor: float = 1.0,
) -> None:
    """Set the schedule from now on; it replaces any other."""
    text = json.dumps(asdict(Schedule(begins, tuple(interruptions), seed, factor)))
    fresh = folder / ".interruptions.new"
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(folder / _FILE)


def read(folder: Path) -> Schedule | None:
    """The schedule, or None. An invalid file is an error."""
    file = folder / _FILE
    if not file.exists():
        return None
    messages: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    listed = messages.pop("interruptions", [])
    try:
        result = Schedule(interruptions=tuple(Interruption(**each) for each in listed), **messages)
    except TypeError as error:
        raise ValueError(f"{file}: {error}") from None
    if result.factor <= 0:
        raise ValueError(f"{file}: no notice lasts {result.factor} times as long")
    for place, each in enumerate(result.interruptions):
        if each.notice not in NOTICES:
            allowed = ", ".join(NOTICES)
            raise ValueError(
                f"{file}: interruptions[{place}] has the notice {each.notice!r}; allowed: {allowed}"
            )
    return result
