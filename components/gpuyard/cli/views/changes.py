"""What a deployment would change, as people read it and as programs do."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from gpuyard.cli.terminal.console import Column, Console, table
from gpuyard.cli.terminal.text import pluralize
from gpuyard.cli.views.documents import tree
from gpuyard.findings import format_list

if TYPE_CHECKING:
    from gpuyard.changes.graphs import ResourceChange
    from gpuyard.changes.planned_changes import PlannedChanges

_WORDS = {
    "replace": "replaced",
    "delete": "deleted",
    "update": "changed in place",
    "create": "made",
}


def show_changes(changes: "PlannedChanges", source: str, console: Console) -> None:
    """A row for each resource that is there and does not stay as it is; then how many stay."""
    if not changes.platform:
        console.print_wrapped(f"Nothing of this platform is in {source}: everything would be made.")
        return
    shown, others = _shown_changes(changes)
    if shown:
        columns = [
            Column("resource"),
            Column("is"),
            Column("pool"),
            Column("because of", wraps=True),
        ]
        console.show(table(columns, [_row(each) for each in shown]))
        if others:
            console.print(f"and {pluralize(others, 'resource')} that go with them", indent=2)
        console.print()
    counts = Counter(each.action.value for each in changes.resources)
    parts = [f"{pluralize(counts[verdict], 'resource')} {word}" for verdict, word in _WORDS.items()]
    if changes.resources:
        console.print_wrapped(
            f"Against {source}: {', '.join(parts)}, {counts['same']} as they are."
        )
        if hang := [
            each.name for each in changes.resources if each.may_be_replaced and each.existing
        ]:
            names = format_list(hang)
            console.print_wrapped(
                f"Nobody asked the cloud: another answer than before would replace {names}."
            )
    else:
        console.print_wrapped(
            f"Against {source}: pools and teams are compared; no cloud makes anything for it."
        )


def _shown_changes(changes: "PlannedChanges") -> tuple[list["ResourceChange"], int]:
    """What goes for a reason of its own or with something in it, and how many go with these."""
    # only now: only here is anything compared with a state
    from gpuyard.changes.retained_content import CONTENT_BY_KIND

    going = [each for each in changes.resources if each.action.value in {"replace", "delete"}]
    shown = [
        each
        for each in going
        if each.kind in CONTENT_BY_KIND or (each.replacing_fields and not each.reason)
    ]
    return shown, len(going) - len(shown)


def _row(each: "ResourceChange") -> tuple[str, str, str, str]:
    fields = dict.fromkeys(one.path.partition("[")[0] for one in each.replacing_fields)
    return each.name, _WORDS[each.action.value], each.part, ", ".join(each.reason or fields)


def changes_document(changes: "PlannedChanges", source: str) -> dict[str, Any]:
    """The same for a program, with every loss."""
    return {
        "state": source,
        "platform": changes.platform or None,
        "resources": [
            {
                "name": each.name,
                "kind": each.kind,
                "pool": each.part,
                "becomes": each.action.value,
                "fields": [one.path for one in each.fields],
                "replaces": [one.path for one in each.replacing_fields],
                "because_of": list(each.reason),
                "protected": each.protect,
                "hangs_on_the_cloud": each.may_be_replaced,
            }
            for each in changes.resources
        ],
        "losses": [
            {
                "does": loss.effect.value,
                "what": loss.subject,
                "resources": list(loss.also_removed),
                "drained": [
                    {"pool": one.pool, "nodes": one.nodes, "gpus": one.gpus}
                    for one in loss.drained_pools
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
            for loss in changes.disruptions
        ],
        "turns": [list(pools) for pools in changes.rollout_waves],
        "drivers": dict(changes.driver_rollouts),
        "lowered": [
            {
                "team": missing.team,
                "pool": missing.pool,
                "resource": missing.resource,
                "to": remaining,
            }
            | {"from": tree(missing.count)}
            for missing, remaining in changes.reduced_quotas
        ],
    }
