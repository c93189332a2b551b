"""`gpuyard mig`: MIG profiles of a GPU, validation of a layout, number of layouts."""

import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from gpuyard.cli.views.findings import show_finding, write_document
from gpuyard.plan.sharing.sharing import format_layout
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS, find_gpu, gpu_spellings
from gpuyard_core.catalogue.mig import MigProduct
from gpuyard_core.catalogue.mig_layouts import (
    MigInstance,
    count_layouts,
    nearest_layout,
    place_profiles,
    placement_error,
)
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Diagnostic, Fix, error
from gpuyard_core.suggestions import format_options, suggested_names
from gpuyard_core.terminal.console import Column, Console, number_columns, results, table
from gpuyard_core.terminal.documents import tree
from gpuyard_core.terminal.exit_codes import FINDINGS, OK
from gpuyard_core.terminal.findings import finding_document
from gpuyard_core.terminal.options import Format, FormatOption

_ENTRY = re.compile(r"([^\s:,=]{1,40})(?:\s*:\s*(\d{1,3}))?")
_CELL = 3
"""Width of one memory unit in the drawing, in characters."""


def mig(
    gpu: Annotated[
        str,
        typer.Argument(
            metavar="GPU",
            help="GPU product, by any usual name: A100-40GB, H100.",
            show_default=False,
        ),
    ],
    layout: Annotated[
        str | None,
        typer.Argument(
            metavar="[LAYOUT]",
            help="For example 1g.5gb:2,3g.20gb:1. Default: show the profiles.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Count the valid, non-empty layouts.")
    ] = False,
    media: Annotated[
        bool, typer.Option("--media", help="Include the media and graphics variants of profiles.")
    ] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Show MIG profiles, or validate a layout. Shows the placement of each slice of a valid layout."""
    as_document = format is Format.JSON
    if count and layout is not None:
        raise UsageError("--count counts all layouts of a GPU. Remove the layout or --count.")
    if count:
        return _count(gpu, media=media, as_document=as_document)
    if layout is None:
        return _profiles(gpu, media=media, as_document=as_document)
    return _evaluate(gpu, layout, as_document=as_document)


def _profiles(gpu: str, *, media: bool, as_document: bool) -> int:
    """Every profile of a GPU."""
    name, product = find_product(gpu)
    if product is None:
        return show_gpu_rejection(name, mig_unsupported_finding(name), as_document=as_document)
    shown = [p for p in product.profiles if media or not p.variant]
    if as_document:
        profiles = [tree(p) | {"resource": p.resource} for p in shown]
        write_document("mig", **_facts(product, profiles=profiles))
        return OK
    console = results()
    size = f"{product.slices} compute slices on {product.units} memory units"
    console.print((product.gpu, "bold"), f"  {size}")
    _unverified(product, console)
    console.print()
    columns = [
        Column("profile"),
        *number_columns("compute slices", "memory units", "max count"),
        Column("placements (first unit)", wraps=True),
    ]
    rows = [
        (p.name, str(p.slices), str(p.units), str(p.max_count), " ".join(str(s) for s in p.starts))
        for p in shown
    ]
    console.show(table(columns, rows, indent=0))
    hidden = len(product.profiles) - len(shown)
    if hidden:
        console.print()
        console.print(
            (f"--media shows {hidden} more profiles, with media engines or graphics.", "dim")
        )
    return OK


def _evaluate(gpu: str, layout: str, *, as_document: bool) -> int:
    """Show the placement of each slice, or why the layout is invalid and the nearest valid one."""
    name, product = find_product(gpu)
    counts = read_layout(layout)
    if product is None:
        return show_gpu_rejection(name, mig_unsupported_finding(name), as_document=as_document)
    placement = place_profiles(product, counts)
    if placement is None:
        return show_gpu_rejection(name, _illegal(product, counts), as_document=as_document)
    if as_document:
        facts = _facts(product, legal=True, layout=counts, placement=tree(placement))
        write_document("mig", **facts)
        return OK
    console = results()
    console.print(("valid", "bold green"), f": {format_layout(counts)} on one {product.gpu}")
    console.print()
    _draw(product, placement, console)
    size = {p.name: p.slices for p in product.profiles}
    used, in_use = sum(s.units for s in placement), sum(size[s.profile] for s in placement)
    console.print()
    console.print_wrapped(
        f"{used} of {product.units} memory units and {in_use} of {product.slices} compute slices are used."
    )
    _unverified(product, console)
    return OK


def _count(gpu: str, *, media: bool, as_document: bool) -> int:
    """Count the valid, non-empty layouts."""
    name, product = find_product(gpu)
    if product is None:
        return show_gpu_rejection(name, mig_unsupported_finding(name), as_document=as_document)
    counts = asdict(count_layouts(product, variants=media))
    if as_document:
        write_document("mig", **_facts(product, media=media, **counts))
        return OK
    console = results()
    rows = [(key, f"{counts[key]:,}", meaning) for key, meaning in _MEANINGS.items()]
    columns = [Column(product.gpu), Column("", "right"), Column("", wraps=True)]
    console.show(table(columns, rows, indent=0))
    return OK


_MEANINGS = {
    "placements": "sets of slices with their placement",
    "multisets": "layouts in stack file notation",
    "maximal_multisets": "layouts to which no slice can be added, in any placement",
    "maximal_placements": "placements to which no slice can be added",
}


def read_layout(text: str) -> dict[str, int]:
    """Parse `1g.5gb:2,3g.20gb:1`, or a mapping copied from a stack file."""
    counts: dict[str, int] = {}
    inner = text.strip().removeprefix("{").removesuffix("}")
    for entry in inner.split(","):
        match = _ENTRY.fullmatch(entry.strip())
        if match is None:
            raise UsageError(
                f"{entry.strip()!r} is not a slice. Write PROFILE:COUNT, as in 1g.5gb:2,3g.20gb:1."
            )
        if match[1] in counts:
            raise UsageError(f"{match[1]} occurs twice. Write each profile once, with its count.")
        if match[2] is not None and int(match[2]) == 0:
            raise UsageError(f"{match[1]}:0 has the count 0. Remove it.")
        counts[match[1]] = int(match[2] or 1)
    return counts


def find_product(spelling: str) -> tuple[str, MigProduct | None]:
    """The GPU's catalogue name and its MIG profiles; UsageError for an unknown GPU."""
    gpu = find_gpu(spelling)
    if gpu is not None:
        return gpu.name, gpu.mig
    for name, product in MIG_PRODUCTS.items():
        if name.lower() == spelling.lower():
            return product.gpu, product
    known = list(dict.fromkeys([*gpu_spellings(), *MIG_PRODUCTS]))
    meant = suggested_names(spelling, known)
    hint = f" Did you mean {format_options(meant)}?" if meant else ""
    raise UsageError(f"no GPU {spelling!r} in the catalogue. Known: {', '.join(known)}.{hint}")


def mig_unsupported_finding(name: str) -> Diagnostic:
    """The finding for a known GPU without MIG layouts."""
    return error(
        "mig.not_possible",
        ("gpu",),
        f"{name} does not support MIG, or its profiles are not published",
        given=name,
        allowed=", ".join(MIG_PRODUCTS),
        fix=Fix(message="share it by time-slicing or MPS"),
    )


def _illegal(product: MigProduct, counts: Mapping[str, int]) -> Diagnostic:
    suggestion = nearest_layout(product, counts)
    return error(
        "mig.placement",
        ("layout",),
        f"does not fit on one {product.gpu}: {placement_error(product, counts)}",
        given=format_layout(counts),
        allowed=f"{product.slices} compute slices on {product.units} memory units;"
        f" `gpuyard mig {product.gpu}` lists the profiles",
        fix=Fix(
            message=f"the nearest valid layout: {format_layout(suggestion)}",
            at=("layout",),
            value=suggestion,
        ),
    )


def show_gpu_rejection(
    name: str, finding: Diagnostic, *, as_document: bool, command: str = "mig"
) -> int:
    """Show why the GPU or layout is rejected."""
    if as_document:
        findings = [finding_document(finding)]
        write_document(command, gpu=name, legal=False, findings=findings)
    else:
        show_finding(finding, results())
    return FINDINGS


def _facts(product: MigProduct, **more: object) -> dict[str, Any]:
    return {
        "gpu": product.gpu,
        "compute_slices": product.slices,
        "memory_units": product.units,
        "source": tree(product.source),
        **more,
    }


def _unverified(product: MigProduct, console: Console) -> None:
    if not product.source.verified:
        console.print_wrapped(f"Not verified on hardware: {product.source.title}.")


def _draw(product: MigProduct, placement: tuple[MigInstance, ...], console: Console) -> None:
    """Draw each slice as a row below a ruler of memory units."""
    width = max(len("memory unit"), *(len(s.profile) for s in placement)) + 2
    ruler = "".join(f"{unit:<{_CELL}}" for unit in range(product.units))
    console.print((f"{'memory unit':<{width}}{ruler.rstrip()}", "dim"))
    is_utf = (sys.stdout.encoding or "").lower().startswith("utf")
    full, empty = "█·" if is_utf else "#."
    for piece in placement:
        cells = [
            (full * (_CELL - 1) if piece.start <= unit < piece.start + piece.units else f"{empty} ")
            for unit in range(product.units)
        ]
        console.print(f"{piece.profile:<{width}}{' '.join(cells).rstrip()}")
