"""Valid stacks of one name: golden ones with some fields left out, and generated platforms.

A number determines a stack. Two of them have pools and teams of the same names, so that a move from one to
the other changes existing objects as well as creating and removing some.
"""

import random
from functools import cache
from pathlib import Path

import yaml

from gpuyard.plan import plan
from gpuyard.plan.records import PlatformPlan
from gpuyard_core.errors import SpecError
from kit.generated.platforms import platform
from kit.stacks import Raw, spec_of

NAME = "walk"
_GOLDEN = Path(__file__).resolve().parents[2] / "golden_stacks"
_TRIES = 400
_NEEDED = frozenset({"name", "cloud", "kubernetes", "pools", "machine", "nodes"})


def stack(number: int) -> PlatformPlan:
    """The plan of the stack of this number."""
    rng = random.Random(f"stack {number}")  # noqa: S311  no secret is made of it
    for _ in range(_TRIES):
        raw = _thinned(rng) if rng.random() < 0.5 else _made_up(rng)
        if (result := _plan(raw)) is not None:
            return result
    raise AssertionError(f"{_TRIES} stacks for number {number}, and none is taken")


def _plan(raw: Raw) -> PlatformPlan | None:
    try:
        spec = spec_of({**raw, "name": NAME})
    except SpecError:
        return None
    return plan(spec)[0]


def _made_up(rng: random.Random) -> Raw:
    raw = platform(rng.randrange(10**6))
    return {**{k: v for k, v in raw.items() if k not in {"system", "apply"}}, "cloud": "none"}


@cache
def _originals() -> tuple[str, ...]:
    return tuple(path.read_text() for path in sorted(_GOLDEN.glob("*.yaml")))


def _thinned(rng: random.Random) -> Raw:
    """A golden stack without a few fields of its own, of its pools or of its teams."""
    raw: Raw = yaml.load(rng.choice(_originals()), Loader=yaml.CSafeLoader)["config"][
        "gpuyard:platform"
    ]
    for _ in range(rng.randrange(6)):
        holder = rng.choice([raw, *raw["pools"], *raw.get("teams", [])])
        if words := [word for word in holder if word not in _NEEDED]:
            _without(holder, rng.choice(words), rng)
    return raw


def _without(holder: Raw, word: str, rng: random.Random) -> None:
    """Without the field, or without one of its items."""
    inner = holder[word]
    if isinstance(inner, dict | list) and len(inner) > 1 and rng.random() < 0.5:
        inner.pop(rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner))))
    else:
        del holder[word]
