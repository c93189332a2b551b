"""Writes `docs/reference/troubles.md`: the table of signs, as one looks."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from gpuyard.catalogue.troubles import TROUBLES, Area, Trouble

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/troubles.md"
_HEADINGS = {
    Area.XID: "The kernel's log has an XID",
    Area.DRIVER: "The driver does not answer, or another one does",
    Area.RECOVERY: "The driver asks for something (`gpu.recovery`)",
    Area.TEMPERATURE: "The GPU is slow",
    Area.CUDA: "A program ends with an error of CUDA",
    Area.RUNTIME: "A container has no GPU",
}
_HEAD = """\
# Signs of trouble

Look from above: an XID in the kernel's log (`dmesg | grep -i xid`) says more than what a program
makes of it, and the driver more than a container. `gpuyard validate --explain xid.79` says one row,
and `--explain CHECK` those that go with a check. What `remedy` names is what to do first; where it
does not last, the node's makers are next. Written from the catalogue by `make golden`.
"""


def page() -> str:
    """All of it."""
    parts = [_HEAD]
    for area, rows in groupby(TROUBLES.values(), key=lambda each: each.area):
        parts.append("\n".join(_section(area, list(rows))) + "\n")
    return "\n".join(parts)


def _section(area: Area, rows: list[Trouble]) -> Iterator[str]:
    yield f"## {_HEADINGS[area]}\n"
    yield "| sign | means | remedy | do | checks |\n|---|---|---|---|---|"
    for each in rows:
        checks = ", ".join(f"`{check}`" for check in each.checks)
        yield f"| `{each.id}` | {each.means} | {each.remedy} | {each.do} | {checks} |"
    sources = dict.fromkeys(
        f"{each.source.title}, read on {each.source.checked_on}{each.source.doubt}" for each in rows
    )
    yield f"\nSources: {'; '.join(sources)}."
