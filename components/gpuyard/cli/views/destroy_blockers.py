"""Resources that a destroy does not delete, as text and as a document."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuyard_core.terminal.text import pluralize

if TYPE_CHECKING:
    from gpuyard.changes.destroy_blockers import DestroyBlocker
    from gpuyard_core.terminal.console import Console

_WIDTH = 11
_WAY = (
    "To delete them: set `cluster: {protect: false}` for clusters, nodes and keys, `storage: {protect: false}`"
    " for stores; then `pulumi up`, then `pulumi destroy`. To keep them and delete the rest:"
    " `pulumi destroy --exclude-protected`."
)


def show_destroy_blockers(
    result: "Sequence[DestroyBlocker]", source: str, console: "Console"
) -> None:
    """Show each with its content, then how to delete or keep them."""
    for each in result:
        subject = (
            f"{each.description} {each.name} ({each.id})"
            if each.id
            else f"{each.description} {each.name}"
        )
        missing = f": deletes {each.retained_content}" if each.retained_content else ""
        style = "yellow" if each.block_reason.value == "protected" else "dim"
        console.print_wrapped(
            f"{subject}{missing}", first=each.block_reason.value.upper().ljust(_WIDTH), style=style
        )
    protected = sum(each.block_reason.value == "protected" for each in result)
    if not protected:
        console.print(f"Nothing in {source} blocks a destroy.")
    else:
        console.print(f"{pluralize(protected, 'resource')} of {source} block a destroy.")
        console.print_wrapped(_WAY)
    console.print()


def destroy_blockers_document(result: "Sequence[DestroyBlocker]") -> list[dict[str, Any]]:
    """The blockers as a document."""
    return [
        {
            "reason": each.block_reason.value,
            "kind": each.kind,
            "name": each.name,
            "id": each.id,
            "description": each.description,
            "content": each.retained_content,
        }
        for each in result
    ]
