"""What a destroy would not take, as people read it and as programs do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuyard.cli.terminal.text import pluralize

if TYPE_CHECKING:
    from gpuyard.changes.destroy_blockers import DestroyBlocker
    from gpuyard.cli.terminal.console import Console

_WIDTH = 11
_WAY = (
    "To let them go: `cluster: {protect: false}` for clusters, nodes and keys, `storage: {protect: false}`"
    " for stores; then `pulumi up`, then `pulumi destroy`. To keep them and take away the rest:"
    " `pulumi destroy --exclude-protected`."
)


def show_destroy_blockers(
    result: "Sequence[DestroyBlocker]", source: str, console: "Console"
) -> None:
    """One line for each, with what would be lost; then the way out."""
    for each in result:
        subject = (
            f"{each.description} {each.name} ({each.id})"
            if each.id
            else f"{each.description} {each.name}"
        )
        missing = f": with it goes {each.retained_content}" if each.retained_content else ""
        style = "yellow" if each.block_reason.value == "protected" else "dim"
        console.print_wrapped(
            f"{subject}{missing}", first=each.block_reason.value.upper().ljust(_WIDTH), style=style
        )
    protected = sum(each.block_reason.value == "protected" for each in result)
    if not protected:
        console.print(f"A destroy of what {source} has is refused by nothing.")
    else:
        console.print(f"A destroy is refused by {pluralize(protected, 'resource')} of {source}.")
        console.print_wrapped(_WAY)
    console.print()


def destroy_blockers_document(result: "Sequence[DestroyBlocker]") -> list[dict[str, Any]]:
    """The same for programs."""
    return [
        {
            "keeping": each.block_reason.value,
            "kind": each.kind,
            "name": each.name,
            "id": each.id,
            "what": each.description,
            "holds": each.retained_content,
        }
        for each in result
    ]
