"""`gpuyard pack slices`: GPUs for a demand of MIG slices, and their layouts."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from gpuyard.cli.commands.mig import find_product, mig_unsupported_finding, show_gpu_rejection
from gpuyard.cli.views.findings import document
from gpuyard.plan.sharing.sharing import format_layout
from gpuyard_advisor.advice.packing.slices import (
    SlicePacking,
    pack_slices,
    slice_for,
    whole_memory_gib,
)
from gpuyard_core.catalogue.mig import MigProduct
from gpuyard_core.catalogue.mig_layouts import suggested_profile
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Severity
from gpuyard_core.suggestions import nearest_name
from gpuyard_core.terminal.console import STYLES, Column, Console, results, table, write
from gpuyard_core.terminal.documents import as_json, tree
from gpuyard_core.terminal.exit_codes import FINDINGS, OK
from gpuyard_core.terminal.text import pluralize

_ENTRY = re.compile(r"([^\s=]{1,40})=(\d{1,7})")
_NEED = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)(gib|%)", re.IGNORECASE)
_PERCENT = 100


def pack(gpu: str, demand: Sequence[str], available: int | None, *, as_document: bool) -> int:
    """Write how many GPUs a demand needs; exit code 3 when fewer are available."""
    name, product = find_product(gpu)
    entries = [_entry(text) for text in demand]
    if product is None:
        return show_gpu_rejection(
            name, mig_unsupported_finding(name), as_document=as_document, command="pack"
        )
    counts, requests = _slices(product, entries)
    packing = pack_slices(product, counts, available)
    if as_document:
        write(as_json(_document(packing, requests)))
    else:
        _show(packing, requests, results())
    return FINDINGS if packing.unplaced else OK


def _entry(text: str) -> tuple[str, int]:
    match = _ENTRY.fullmatch(text.strip())
    if match is None or int(match[2]) == 0:
        raise UsageError(
            f"{text!r} is not a demand. Write SLICE=COUNT, as in 1g.5gb=20, 18gib=4 or 30%=12."
        )
    return match[1], int(match[2])


def _slices(
    product: MigProduct, entries: Sequence[tuple[str, int]]
) -> tuple[dict[str, int], dict[str, str]]:
    """The demand by profile, and the profile of each request."""
    counts: dict[str, int] = {}
    requests: dict[str, str] = {}
    for what, count in entries:
        profile = _profile(product, what)
        if profile != what:
            requests[what] = profile
        counts[profile] = counts.get(profile, 0) + count
    return counts, requests


def _profile(product: MigProduct, what: str) -> str:
    """The profile of that name, or the smallest that is large enough; UsageError when none is."""
    base = [p.name for p in product.profiles if not p.variant]
    need = _NEED.fullmatch(what)
    if need is None:
        if what.lower() in base:
            return what.lower()
        meant = suggested_profile(product, what)
        suggestion = meant if meant in base else nearest_name(what, base)
        raise UsageError(
            f"{product.gpu} has no slice {what!r}. Available: {', '.join(base)}."
            + (f" Did you mean {suggestion}?" if suggestion else "")
        )
    amount = Fraction(need[1])
    smallest = (
        slice_for(product, memory_gib=amount)
        if need[2].lower() == "gib"
        else slice_for(product, compute=amount / _PERCENT)
    )
    if smallest is None:
        raise UsageError(
            f"{what} is more than one {product.gpu} has: {whole_memory_gib(product)}gib, 100%."
            " A request for several GPUs cannot use slices."
        )
    return smallest.name


def _show(packing: SlicePacking, requests: Mapping[str, str], console: Console) -> None:
    count = sum(packing.demand.values())
    console.print(
        (packing.product.gpu, "bold"),
        f"  {pluralize(count, 'slice')} on {pluralize(packing.minimum_gpus, 'GPU')}, {_verdict(packing)}",
    )
    for what, profile in requests.items():
        console.print(f"{what} gets {profile}", indent=2)
    if packing.partitions:
        _show_cuts(packing, console)
    if packing.unplaced:
        _show_left_out(packing, console)


def _show_cuts(packing: SlicePacking, console: Console) -> None:
    console.print()
    rows = [(f"{cut.gpus:,}", format_layout(cut.layout)) for cut in packing.partitions]
    console.show(table([Column("GPUs", "right"), Column("partitioned into", wraps=True)], rows))
    spare = format_layout(packing.spare) if packing.spare else "nothing"
    console.print()
    console.print_wrapped(f"{spare} beyond the demand", first="spare   ", indent=2)


def _show_left_out(packing: SlicePacking, console: Console) -> None:
    console.print()
    console.print_wrapped(
        f"unplaced: {format_layout(packing.unplaced)}: the demand needs"
        f" {pluralize(packing.minimum_gpus, 'GPU')}, {packing.gpus:,} are available",
        first="error   ",
        style=STYLES[Severity.ERROR],
    )


def _verdict(packing: SlicePacking) -> str:
    if packing.gap:
        return f"lower bound: {packing.bound:,}"
    fewer = packing.bound - 1
    return f"optimal: {fewer:,} cannot fit them" if fewer else "optimal"


def _document(packing: SlicePacking, requests: Mapping[str, str]) -> dict[str, Any]:
    return document(
        "pack",
        gpu=packing.product.gpu,
        demand=tree(packing.demand),
        requests=tree(requests),
        gpus=packing.gpus,
        least_gpus=packing.minimum_gpus,
        bound=packing.bound,
        gap=packing.gap,
        proved=packing.gap == 0,
        cuts=tree(packing.partitions),
        spare=tree(packing.spare),
        left_out=tree(packing.unplaced),
    )
