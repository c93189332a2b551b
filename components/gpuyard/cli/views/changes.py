"""What a deployment would change, as people read it and as programs do."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from gpuyard.cli.terminal.console import Column, Console, table
from gpuyard.cli.terminal.text import many
from gpuyard.cli.views.documents import tree
from gpuyard.findings import listed

if TYPE_CHECKING:
    from gpuyard.changes.announced import Announced
    from gpuyard.changes.graphs import ResourceChange

_WORDS = {
    "replace": "replaced",
    "delete": "deleted",
    "update": "changed in place",
    "create": "made",
}


def show_changes(said: "Announced", source: str, console: Console) -> None:
    """A row for each resource that is there and does not stay as it is; then how many stay."""
    if not said.platform:
        console.tell(f"Nothing of this platform is in {source}: everything would be made.")
        return
    shown, beside = _told(said)
    if shown:
        columns = [
            Column("resource"),
            Column("is"),
            Column("pool"),
            Column("because of", wraps=True),
        ]
        console.show(table(columns, [_row(each) for each in shown]))
        if beside:
            console.say(f"and {many(beside, 'resource')} that go with them", indent=2)
        console.say()
    counts = Counter(each.verdict.value for each in said.resources)
    parts = [f"{many(counts[verdict], 'resource')} {word}" for verdict, word in _WORDS.items()]
    if said.resources:
        console.tell(f"Against {source}: {', '.join(parts)}, {counts['same']} as they are.")
        if hang := [each.name for each in said.resources if each.hangs and each.there]:
            names = listed(hang)
            console.tell(
                f"Nobody asked the cloud: another answer than before would replace {names}."
            )
    else:
        console.tell(
            f"Against {source}: pools and teams are compared; no cloud makes anything for it."
        )


def _told(said: "Announced") -> tuple[list["ResourceChange"], int]:
    """What goes for a reason of its own or with something in it, and how many go with these."""
    # only now: only here is anything compared with a state
    from gpuyard.changes.holding import HOLDING

    going = [each for each in said.resources if each.verdict.value in {"replace", "delete"}]
    shown = [
        each for each in going if each.kind in HOLDING or (each.replacing and not each.because)
    ]
    return shown, len(going) - len(shown)


def _row(each: "ResourceChange") -> tuple[str, str, str, str]:
    fields = dict.fromkeys(one.path.partition("[")[0] for one in each.replacing)
    return each.name, _WORDS[each.verdict.value], each.part, ", ".join(each.because or fields)


def changes_document(said: "Announced", source: str) -> dict[str, Any]:
    """The same for a program, with every loss."""
    return {
        "state": source,
        "platform": said.platform or None,
        "resources": [
            {
                "name": each.name,
                "kind": each.kind,
                "pool": each.part,
                "becomes": each.verdict.value,
                "fields": [one.path for one in each.fields],
                "replaces": [one.path for one in each.replacing],
                "because_of": list(each.because),
                "protected": each.protect,
                "hangs_on_the_cloud": each.hangs,
            }
            for each in said.resources
        ],
        "losses": [
            {
                "does": loss.does.value,
                "what": loss.what,
                "resources": list(loss.takes),
                "drained": [
                    {"pool": one.pool, "nodes": one.nodes, "gpus": one.gpus} for one in loss.drains
                ],
                "guarantees": [
                    {
                        "team": one.team,
                        "pool": one.pool,
                        "resource": one.resource,
                        "count": one.count,
                    }
                    for one in loss.guarantees
                ],
                "minutes": None,
                "digest": loss.digest,
            }
            for loss in said.losses
        ],
        "turns": [list(pools) for pools in said.turns],
        "drivers": dict(said.driven),
        "lowered": [
            {"team": lost.team, "pool": lost.pool, "resource": lost.resource, "to": left}
            | {"from": tree(lost.count)}
            for lost, left in said.lowered
        ],
    }
