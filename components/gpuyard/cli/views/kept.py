"""What a destroy would not take, as people read it and as programs do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuyard.cli.terminal.text import many

if TYPE_CHECKING:
    from gpuyard.changes.kept import Kept
    from gpuyard.cli.terminal.console import Console

_WIDTH = 11
_WAY = (
    "To let them go: `cluster: {protect: false}` for clusters, nodes and keys, `storage: {protect: false}`"
    " for stores; then `pulumi up`, then `pulumi destroy`. To keep them and take away the rest:"
    " `pulumi destroy --exclude-protected`."
)


def show_kept(found: "Sequence[Kept]", source: str, console: "Console") -> None:
    """One line for each, with what would be lost; then the way out."""
    for each in found:
        told = f"{each.what} {each.name} ({each.id})" if each.id else f"{each.what} {each.name}"
        lost = f": with it goes {each.holds}" if each.holds else ""
        style = "yellow" if each.keeping.value == "protected" else "dim"
        console.tell(f"{told}{lost}", first=each.keeping.value.upper().ljust(_WIDTH), style=style)
    protected = sum(each.keeping.value == "protected" for each in found)
    if not protected:
        console.say(f"A destroy of what {source} has is refused by nothing.")
    else:
        console.say(f"A destroy is refused by {many(protected, 'resource')} of {source}.")
        console.tell(_WAY)
    console.say()


def kept_document(found: "Sequence[Kept]") -> list[dict[str, Any]]:
    """The same for programs."""
    return [
        {
            "keeping": each.keeping.value,
            "kind": each.kind,
            "name": each.name,
            "id": each.id,
            "what": each.what,
            "holds": each.holds,
        }
        for each in found
    ]
