"""`gpuyard offers`: the catalogue machines that fit a request, ranked, with their scores."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from gpuyard.cli.views.findings import document
from gpuyard_advisor.advice.offers.offers import (
    MEASURES,
    Nearest,
    Offer,
    OfferPurpose,
    OfferRequest,
    Offers,
    ScorePart,
    price_of,
)
from gpuyard_advisor.advice.offers.offers import offers as find_offers
from gpuyard_core.catalogue.gpus import Gpu, find_gpu, gpu_spellings
from gpuyard_core.catalogue.machines import Capacity, Price
from gpuyard_core.errors import UsageError
from gpuyard_core.suggestions import format_options, suggested_names
from gpuyard_core.terminal.console import Cell, Column, Console, results, table, write
from gpuyard_core.terminal.documents import as_json, tree
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption
from gpuyard_core.terminal.text import pluralize, usd

MAX_SHOWN = 12
"""Maximum offers in the table; JSON has all."""


class CatalogueCloud(StrEnum):
    """A cloud with machines in the catalogue."""

    AWS = "aws"
    GCP = "gcp"


def offers(
    gpu: Annotated[
        str | None,
        typer.Option(
            metavar="GPU",
            help="GPU product, by any usual name: A100-40GB, H100.",
            show_default=False,
        ),
    ] = None,
    memory_gib: Annotated[
        int | None,
        typer.Option(metavar="GIB", min=1, help="Minimum memory of a GPU.", show_default=False),
    ] = None,
    cloud: Annotated[
        CatalogueCloud | None, typer.Option(help="Cloud provider.", show_default=False)
    ] = None,
    capacity: Annotated[
        Capacity | None,
        typer.Option(
            help="Capacity type: filters the machines and selects the price.", show_default=False
        ),
    ] = None,
    gpus: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Minimum GPUs of a node.", show_default=False),
    ] = None,
    workload: Annotated[
        OfferPurpose, typer.Option(help="Workload for which to rank.")
    ] = OfferPurpose.GENERAL,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Rank the machines that fit a request. The documentation explains the scores."""
    wish = OfferRequest(
        workload=workload,
        gpu=None if gpu is None else _wanted_gpu(gpu),
        memory_gib=memory_gib,
        cloud=None if cloud is None else cloud.value,
        capacity=capacity,
        gpus=gpus,
    )
    result = find_offers(wish)
    if format is Format.JSON:
        write(as_json(offers_document(result)))
        return OK
    console = results()
    if result.offers:
        _show_found(result, console)
    else:
        _show_nothing(result, console)
    return OK  # no match is a valid result


def _wanted_gpu(spelling: str) -> Gpu:
    """Find a GPU by any usual name; UsageError suggests the nearest."""
    result = find_gpu("-".join(spelling.split()))
    if result is not None:
        return result
    known = list(gpu_spellings())
    meant = suggested_names(spelling, known)
    hint = f" Did you mean {format_options(meant)}?" if meant else ""
    raise UsageError(f"no GPU {spelling!r} in the catalogue. Known: {', '.join(known)}.{hint}")


def _show_found(result: Offers, console: Console) -> None:
    ranked = [o for o in result.offers if o.score is not None]
    unknown = [o for o in result.offers if o.score is None]
    shown = result.offers[:MAX_SHOWN]
    console.print(
        (f"{result.request.workload.value}", "bold"),
        f"  {len(result.offers)} of {pluralize(result.catalogue_size, 'machine')} fit{_requested_options(result)}",
    )
    if ranked:
        console.print_wrapped(_formula(result.request), style="dim")
        console.print()
        _show_ranked(ranked[:MAX_SHOWN], result.request, console)
    free = max(0, MAX_SHOWN - len(ranked))
    if unknown and free:
        console.title("Price unknown", "not ranked")
        _show_unknown(unknown[:free], console)
    hidden = len(result.offers) - len(shown)
    if hidden:
        console.print()
        console.print_wrapped(f"… and {hidden:,} more; --format json lists all.")
    _show_origins(shown, console)


def _requested_options(result: Offers) -> str:
    options = " ".join(f"--{c.name} {c.requested}" for c in result.conditions)
    return f" {options}" if options else ""


def _formula(wish: OfferRequest) -> str:
    """How the score is computed, in a sentence."""
    parts = " + ".join(f"{m.name} {m.most}" for m in MEASURES[wish.workload])
    ends = ", ".join(f"{m.reference:g} {m.unit}" for m in MEASURES[wish.workload])
    return f"score (maximum 100) = {parts}; full points from {ends}"


def _show_ranked(ranked: Sequence[Offer], wish: OfferRequest, console: Console) -> None:
    columns = [
        Column("", "right"),
        Column("machine"),
        Column("$/hour", "right"),
        Column("score", "right"),
        *(Column(m.unit, "right") for m in MEASURES[wish.workload]),
    ]
    rows = [_row(number, offer) for number, offer in enumerate(ranked, start=1)]
    console.show(table(columns, rows, indent=0))


def _row(number: int, offer: Offer) -> tuple[Cell, ...]:
    """Two lines: figures, then their units or the points they give."""
    mark = " *" if offer.unverified else ""
    return (
        str(number),
        (f"{offer.machine.name}{mark}", f"{_gpus(offer)} {offer.gpu.memory_gib} GiB"),
        _prices(offer),
        (f"{offer.score or 0.0:.1f}", ""),
        *(_part_cell(part) for part in offer.parts),
    )


def _gpus(offer: Offer) -> str:
    machine = offer.machine
    count = str(machine.gpus) if machine.gpu_fraction == 1 else str(machine.gpu_fraction)
    return f"{count} × {offer.gpu.name}"


def _prices(offer: Offer) -> Cell:
    """The price used for ranking; below it the spot price, if known."""
    first = f"{_range(offer.price)} {offer.capacity.value}"
    spot = price_of(offer.machine, Capacity.SPOT)
    if offer.capacity is Capacity.SPOT or spot is None:
        return (first, "")
    return (first, f"{_range(spot)} spot")


def _range(price: Price | None) -> str:
    if price is None:
        return "unknown"
    if price.low == price.high:
        return usd(price.low)
    return f"{usd(price.low)}-{usd(price.high)}"


def _part_cell(part: ScorePart) -> Cell:
    """The figure; below it its points, or why it gives none."""
    if part.figure is None:
        return ("unknown", "+0.0")
    return (f"{part.figure:.1f}", part.note or f"+{part.points:.1f}")


def _show_unknown(unknown: Sequence[Offer], console: Console) -> None:
    columns = [Column("machine"), Column("GPUs"), Column("price"), Column("", wraps=True)]
    rows = [
        (
            offer.machine.name + (" *" if offer.unverified else ""),
            _gpus(offer),
            offer.capacity.value,
            f"unknown as of {offer.unknown_since}",
        )
        for offer in unknown
    ]
    console.show(table(columns, rows, indent=0))


def _show_origins(shown: Sequence[Offer], console: Console) -> None:
    """Show what is not verified, and every source with its date."""
    console.title("Sources")
    regions = sorted({f"{o.machine.region} ({o.machine.cloud})" for o in shown})
    console.print_wrapped(f"prices apply to {', '.join(regions)}; other regions differ", indent=2)
    if any(o.unverified for o in shown):
        what = dict.fromkeys(name for o in shown for name in o.unverified)
        console.print_wrapped(f"not verified: {', '.join(what)}", first="* ", indent=2)
    for source in dict.fromkeys(s for o in shown for s in o.sources):
        of = f"of {source.as_of}, " if source.as_of != source.checked_on else ""
        console.print_wrapped(
            f"{source.title}; {of}retrieved on {source.checked_on}{source.unverified_suffix}",
            indent=2,
        )
        if source.second:
            console.print_wrapped(f"second source: {source.second}", indent=4)


def _show_nothing(result: Offers, console: Console) -> None:
    console.print_wrapped(
        f"None of {result.catalogue_size} machines in the catalogue fits{_requested_options(result)}."
    )
    console.print()
    rows = [(f"--{c.name} {c.requested}", f"{c.matching_alone:,}") for c in result.conditions]
    console.show(table([Column("condition"), Column("matching machines", "right")], rows))
    for nearest in result.relaxed_offers:
        console.print()
        console.print_wrapped(_suggestion(nearest), first="nearest  ")


def _suggestion(nearest: Nearest) -> str:
    names = " and ".join(f"--{name}" for name in nearest.dropped_condition)
    offer = nearest.best
    ways = ", ".join(sorted(c.value for c in offer.machine.sold))
    known = f" at {_range(offer.price)} $/hour {offer.capacity.value}"
    price = known if offer.price else f", price unknown as of {offer.unknown_since}"
    more = f", and {nearest.count - 1} more" if nearest.count > 1 else ""
    by_size = nearest.count > 1 and {"memory-gib", "gpus"} & {*nearest.dropped_condition}
    largest = "the largest is " if by_size else ""
    gpus = f"{_gpus(offer)} of {offer.gpu.memory_gib} GiB" if largest else _gpus(offer)
    return (
        f"without {names}: {largest}{offer.machine.name} in {offer.machine.cloud} ({gpus},"
        f" sold {ways}){price}{more}"
    )


def offers_document(result: Offers) -> dict[str, Any]:
    """The result as a document; an unknown price is null, with the date of the search."""
    wish = result.request
    return document(
        "offers",
        workload=wish.workload.value,
        asked={c.name: c.requested for c in result.conditions},
        catalogued=result.catalogue_size,
        conditions=tree(result.conditions),
        score=[
            {"name": m.name, "unit": m.unit, "most": m.most, "reference": m.reference}
            for m in MEASURES[wish.workload]
        ],
        offers=[_offer_document(n, o) for n, o in enumerate(result.offers, start=1)],
        nearest=[
            {
                "without": list(n.dropped_condition),
                "count": n.count,
                "best": _offer_document(1, n.best),
            }
            for n in result.relaxed_offers
        ],
    )


def _offer_document(rank: int, offer: Offer) -> dict[str, Any]:
    machine = offer.machine
    return {
        "rank": rank,
        "machine": machine.name,
        "cloud": machine.cloud,
        "region": machine.region,
        "gpu": offer.gpu.name,
        "gpus": machine.gpus,
        "gpu_fraction": str(machine.gpu_fraction),
        "gpu_memory_gib": tree(float(offer.gpu.memory_gib * machine.gpu_fraction)),
        "sold": tree(machine.sold),
        "capacity": offer.capacity.value,
        "usd_per_hour": _price_document(offer.price),
        "spot_usd_per_hour": _price_document(machine.spot),
        "unknown_since": tree(offer.unknown_since),
        "score": tree(offer.score),
        "parts": tree(offer.parts),
        "unverified": list(offer.unverified),
        "sources": tree(offer.sources),
    }


def _price_document(price: Price | None) -> dict[str, Any] | None:
    return None if price is None else {"low": tree(price.low), "high": tree(price.high)}
