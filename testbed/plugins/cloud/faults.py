"""Faults by script: `faults.json` in an account's folder says what goes wrong, where, and how often.

    {"faults": [{"fault": "capacity", "zone": "us-east-1a", "type": "p5.48xlarge", "times": 1}]}

Fields of a fault: `fault` (a word of WORDS), `at` (create, update, delete, read, ask or scale; create unless
it is said), `kind` (of `ask` the function), `name` (part of the logical name), `zone` (the only one that is
asked for) and `type` (of machines), `step` (the number of the change, counted over the account's life),
`times` (always where nothing is said), `seconds` (before it shows), `message` (of `refuse`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORDS = (
    "capacity",  # no such machines in the zone: what was made is there, and failed
    "unsold",  # the zone never has the machines, and says so to whoever asks
    "quota",  # more than the account may have
    "throttle",  # asked too often; the provider asks again
    "unavailable",  # the service's own failure, a 5xx; the provider asks again
    "not-assumable",  # a role that is not everywhere yet; the provider asks again
    "hold",  # nothing comes back until the script has it no more; then all is well
    "time-out",  # never ready; what was made stays as it is
    "refuse",  # a message of one's own
    "kill",  # the engine and the provider end once the change is made: a pending operation is left
    "kill-before",  # the same, before it is made
    "crash",  # the provider alone ends once the change is made: the engine knows nothing of it
)
LOOKS = ("read", "ask")  # these change nothing, and are no steps
_FIELDS = {"fault", "at", "kind", "name", "zone", "type", "step", "times", "seconds", "message"}


@dataclass(frozen=True)
class Fault:
    """One line of the script, by its place in it."""

    place: int
    script: Mapping[str, Any]

    @property
    def word(self) -> str:
        return str(self.script["fault"])

    @property
    def seconds(self) -> float:
        return float(self.script.get("seconds", 0))

    def meets(self, event: "Event") -> bool:
        """Whether this event is the one it waits for."""
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
    """Let this go wrong from now on; who reads it meanwhile, as a call that is held does, reads it whole."""
    fresh = folder / ".faults.new"
    fresh.write_text(json.dumps(script), encoding="utf-8")
    fresh.replace(folder / "faults.json")


def read(folder: Path | None) -> tuple[str, list[Fault]]:
    """What ails the credentials, and the faults; a script that cannot be meant is an error."""
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
