"""Planned changes and what blocks a destroy, as text and as documents."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuyard_core.findings import format_list
from gpuyard_core.terminal.console import Column, Console, table
from gpuyard_core.terminal.documents import tree
from gpuyard_core.terminal.text import pluralize

if TYPE_CHECKING:
    from gpuyard.changes.destroy_blockers import DestroyBlocker
    from gpuyard.changes.graphs import ResourceChange
    from gpuyard.changes.planned_changes import PlannedChanges

_WORDS = {
    "replace": "replaced",
    "delete": "deleted",
    "update": "changed in place",
    "create": "made",
}


_WIDTH = 11
_WAY = (
    "To delete them: set `cluster: {protect: false}` for clusters, nodes and keys, `storage: {protect: false}`"
    " for stores; then `pulumi up`, then `pulumi destroy`. To keep them and delete the rest:"
    " `pulumi destroy --exclude-protected`."
)


def show_changes(changes: "PlannedChanges", source: str, console: Console) -> None:
    """Show a row for each changed resource, then the number of unchanged ones."""
    if not changes.platform:
        console.print_wrapped(
            f"{source} has no resource of this platform: everything would be created."
        )
        return
    # imported here: only this view compares with a state
    from gpuyard.changes.retained_content import CONTENT_BY_KIND

    going = [each for each in changes.resources if each.action.value in {"replace", "delete"}]
    shown = [
        each
        for each in going
        if each.kind in CONTENT_BY_KIND or (each.replacing_fields and not each.reason)
    ]
    if shown:
        columns = [Column("resource"), Column("is"), Column("pool"), Column("reason", wraps=True)]
        console.show(table(columns, [_row(each) for each in shown]))
        if others := len(going) - len(shown):
            console.print(f"and {pluralize(others, 'resource')} removed with them", indent=2)
        console.print()
    counts = Counter(each.action.value for each in changes.resources)
    parts = [f"{pluralize(counts[verdict], 'resource')} {word}" for verdict, word in _WORDS.items()]
    if not changes.resources:
        console.print_wrapped(
            f"Compared with {source}: only pools and teams; it has no cloud resources."
        )
        return
    console.print_wrapped(
        f"Compared with {source}: {', '.join(parts)}, {counts['same']} unchanged."
    )
    if hang := [each.name for each in changes.resources if each.may_be_replaced and each.existing]:
        names = format_list(hang)
        console.print_wrapped(
            f"The cloud was not queried: {names} would be replaced if a queried value differs."
        )


def _row(each: "ResourceChange") -> tuple[str, str, str, str]:
    fields = dict.fromkeys(one.path.partition("[")[0] for one in each.replacing_fields)
    return each.name, _WORDS[each.action.value], each.part, ", ".join(each.reason or fields)


def changes_document(changes: "PlannedChanges", source: str) -> dict[str, Any]:
    """The changes as a document, with every disruption."""
    return {
        "state": source,
        "platform": changes.platform or None,
        "resources": [
            {
                "name": each.name,
                "kind": each.kind,
                "pool": each.part,
                "action": each.action.value,
                "fields": [one.path for one in each.fields],
                "replaces": [one.path for one in each.replacing_fields],
                "reason": list(each.reason),
                "protected": each.protect,
                "may_be_replaced": each.may_be_replaced,
            }
            for each in changes.resources
        ],
        "losses": [
            {
                "effect": loss.effect.value,
                "what": loss.subject,
                "resources": list(loss.also_removed),
                "drained": tree(loss.drained_pools),
                "guarantees": tree(loss.guarantees),
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
                "from": missing.count,
            }
            for missing, remaining in changes.reduced_quotas
        ],
    }


def show_destroy_blockers(
    blockers: "Sequence[DestroyBlocker]", source: str, console: Console
) -> None:
    """Show each with its content, then how to delete or keep them."""
    for each in blockers:
        identity = f" ({each.id})" if each.id else ""
        content = f": deletes {each.content}" if each.content else ""
        console.print_wrapped(
            f"{each.description} {each.name}{identity}{content}",
            first=each.reason.value.upper().ljust(_WIDTH),
            style="yellow" if each.reason.value == "protected" else "dim",
        )
    protected = sum(each.reason.value == "protected" for each in blockers)
    if not protected:
        console.print(f"Nothing in {source} blocks a destroy.")
    else:
        console.print(f"{pluralize(protected, 'resource')} of {source} block a destroy.")
        console.print_wrapped(_WAY)
    console.print()
