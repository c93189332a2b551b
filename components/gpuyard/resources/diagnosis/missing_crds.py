"""An object whose kind the API server does not serve (yet): whether to try again, and what is the matter.

A chart is in when Helm has sent its definitions. The API server takes each one up on its own after that, and
each of several servers on its own recurring: within a second as a rule, after a minute where it has much to do.
Until then it serves no object of the kind. The provider tries for half a minute, and then gives up. So an
object whose kind comes with a chart of this very program is tried recurring: its creation is the one question
whose answer cannot be out of date when the object comes. What nobody in the program brings is not waited for.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

TRIES = 10
"""Of half a minute to a minute each: together the ten minutes that the provider waits for anything else."""
_NO_MATCH = re.compile(r'no matches for kind "([^"]+)" in version "([^"]+)"')


@dataclass(frozen=True, slots=True)
class MissingKind:
    """A kind that the API server does not serve."""

    kind: str
    api_version: str

    @property
    def group(self) -> str:
        """Its API group."""
        return self.api_version.rpartition("/")[0]

    def __str__(self) -> str:
        """As people write it."""
        return f"{self.kind} ({self.api_version})"


def parse_missing_kind(args: pulumi.ErrorHookArgs) -> MissingKind | None:
    """The kind that the last try has found missing; None when it failed for another reason."""
    match = _NO_MATCH.search(args.errors[0]) if args.errors else None
    return MissingKind(*match.groups()) if match and args.failed_operation != "delete" else None


def missing_kind_retry(args: pulumi.ErrorHookArgs, brought: Collection[str]) -> str:
    """What to say while a kind is waited for; "" when there is nothing to wait for, or it took too long."""
    kind = parse_missing_kind(args)
    if kind is None or kind.group not in brought or len(args.errors) >= TRIES:
        return ""
    return (
        f"the API server does not serve {kind} yet, which a chart of this program brings; "
        f"trying again ({len(args.errors)} of {TRIES})"
    )


def missing_kind_message(
    kind: MissingKind,
    name: str,
    definitions: Sequence[Mapping[str, Any]] | None,
    look: str,
    *,
    ours: bool,
) -> str:
    """Why there is no such object, for a person; `definitions` is None when nobody could look."""
    waited = f", after {TRIES} tries" if ours else ""
    first = f"{kind.kind} {name} was not made: the API server does not serve {kind}{waited}."
    return "\n".join((first, *(f"  {line}" for line in _lines(kind, definitions, look, ours=ours))))


def _lines(
    kind: MissingKind, definitions: Sequence[Mapping[str, Any]] | None, look: str, *, ours: bool
) -> Iterator[str]:
    results = [one for one in definitions or () if _defines(one, kind)]
    for one in results:
        yield from _state(one, kind)
    if definitions is not None and not results:
        yield "no definition of it is on the cluster"
    if ours or results:
        yield f"fix: run the same command again when this shows the kind: {look}"
    else:
        yield (
            "fix: install what brings it first; Kueue comes with the platform where the stack file does not "
            "say `queueing: {install: false}`"
        )


def _defines(definition: Mapping[str, Any], kind: MissingKind) -> bool:
    spec = definition.get("spec", {})
    return (spec.get("group"), spec.get("names", {}).get("kind")) == (kind.group, kind.kind)


def _state(definition: Mapping[str, Any], kind: MissingKind) -> Iterator[str]:
    """What a definition says of itself: conditions that do not hold, the versions that it serves."""
    name = definition["metadata"]["name"]
    served = [one["name"] for one in definition["spec"].get("versions", ()) if one.get("served")]
    if kind.api_version.rpartition("/")[2] not in served:
        yield f"definition {name} serves {', '.join(served) or 'no version'}"
    conditions = {c["type"]: c for c in definition.get("status", {}).get("conditions") or ()}
    for one in ("NamesAccepted", "Established"):
        condition = conditions.get(
            one, {"status": "False", "message": "the API server has yet to say"}
        )
        if condition["status"] != "True":
            yield f"definition {name} is not {one}: {condition.get('message')}"
