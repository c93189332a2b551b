"""Scripted faults: `faults.json` in an account's folder sets what fails, where, and how often.

    {"faults": [{"fault": "capacity", "zone": "us-east-1a", "type": "p5.48xlarge", "times": 1}]}

Fields of a fault: `fault` (a word of WORDS), `at` (create, update, delete, read, ask or scale; default
create), `kind` (for `ask` the function), `name` (part of the logical name), `zone` (the only requested
zone) and `type` (of machines), `step` (the number of the change, counted over the account's life),
`times` (default: always), `seconds` (before it occurs), `message` (of `refuse`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORDS = (
    "capacity",  # no such machines in the zone: the resource exists, and failed
    "unsold",  # the zone never has the machines, and its offers lack them
    "quota",  # more than the account's quota
    "throttle",  # too many calls; the provider retries
    "unavailable",  # the service's own failure, a 5xx; the provider retries
    "not-assumable",  # a role that is not propagated yet; the provider retries
    "hold",  # no answer until the script no longer has it; then the call succeeds
    "time-out",  # never ready; the resource stays as it is
    "refuse",  # a custom message
    "kill",  # the engine and the provider end after the change: a pending operation is left
    "kill-before",  # the same, before the change
    "crash",  # only the provider ends after the change: the engine does not know of it
)
LOOKS = ("read", "ask")  # these change nothing, and are not steps
_FIELDS = {"fault", "at", "kind", "name", "zone", "type", "step", "times", "seconds", "message"}


@dataclass(frozen=True)
class Fault:
    """One fault of the script, with its index."""

    place: int
    script: Mapping[str, Any]

    @property
    def word(self) -> str:
        return str(self.script["fault"])

    @property
    def seconds(self) -> float:
        return float(self.script.get("seconds", 0))

    def meets(self, event: "Event") -> bool:
        """Whether the fault applies to this event."""
        script = self.script
        return (
            script.get("at", "create") == event.at
            and script.get("kind", event.kind) == event.kind
            and script.get("name", "") in event.name
            and script.get("step", event.step) == event.step
            and ("zone" not in script or event.zones == frozenset({script["zone"]}))
            and ("type" not in script or script["type"] in event.types)
        )


@dataclass(frozen=True)
class Event:
    """One call to the cloud."""

    at: str
    kind: str
    name: str
    step: int
    zones: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()


def write(folder: Path, script: Mapping[str, Any]) -> None:
    """Write the script atomically: a held call reads it meanwhile."""
    fresh = folder / ".faults.new"
    fresh.write_text(json.dumps(script), encoding="utf-8")
    fresh.replace(folder / "faults.json")


def read(folder: Path | None) -> tuple[str, list[Fault]]:
    """The fault of the credentials, and the other faults; an invalid script is an error."""
    file = folder / "faults.json" if folder else None
    if file is None or not file.exists():
        return "", []
    script = json.loads(file.read_text(encoding="utf-8"))
    faults = [Fault(place, each) for place, each in enumerate(script.get("faults", []))]
    for each in faults:
        if unknown := set(each.script) - _FIELDS:
            raise ValueError(f"{file}: faults[{each.place}] has {', '.join(sorted(unknown))}")
        if each.word not in WORDS:
            raise ValueError(
                f"{file}: faults[{each.place}] is {each.word!r}; allowed: {', '.join(WORDS)}"
            )
    return str(script.get("credentials", "")), faults
