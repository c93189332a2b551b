"""Pools as drawings: every node and GPU, the MIG slices at their placement, and the measured activity."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.records.pools import GpuLayout
from gpuyard_advisor.cli.views.report.html import FOLD_FROM, Element, el, fold, legend, section, svg
from gpuyard_advisor.usage.fleet import Fleet, GpuReading
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.mig_layouts import MigInstance
from gpuyard_core.terminal.text import pluralize

_WIDTH = 336
_PER_LINE, _GAP, _ROW = 4, 4, 44
"""Drawn GPUs in a line, the gap between them, and the height of a line."""
_CELLS = ((48, 9), (192, 7))
"""Width of a GPU in the drawing of all nodes, by the number of GPUs up to which it applies."""
_SMALL_CELL = 4
_LETTER = 7
"""Room for a letter of a label."""
_MAX_SHARES = 16
_DRAWN_NODES = 72
"""Nodes of a pool that are drawn at once; more are folded."""
_HEAT, _HEAT_ROW, _PER_ROW = 16, 34, 20
_FULL, _NAME = 10, 28


def pools_section(plan: PlatformPlan, fleet: Fleet | None) -> Element:
    """A card for each pool; of many pools, each card is folded."""
    many = len(plan.pools) > FOLD_FROM
    cards = [_card(pool, fleet, folded=many) for pool in plan.pools]
    first = sum(p.gpus_per_node * p.start_nodes for p in plan.pools)
    most = sum(p.gpus_per_node * p.nodes.high for p in plan.pools)
    gpus = pluralize(most, "GPU") if first == most else f"{first:,} to {most:,} GPUs"
    note = f"{pluralize(len(plan.pools), 'pool')}, {gpus}. Each small square is a GPU, each block a node."
    marks = [("full", "runs from the start"), ("may", "added on demand")]
    if any(pool.layouts for pool in plan.pools):
        marks += [("slice", "MIG slice"), ("none", "memory in no MIG slice")]
    if fleet is not None:
        marks.append(("", "numbers: activity in tenths, F full, – not allocated, ? no data"))
    return section("pools", "Pools", note, legend(*marks), el("div", {"class": "cards"}, *cards))


def _card(pool: PoolPlan, fleet: Fleet | None, *, folded: bool) -> Element:
    gpu = pool.machine.gpu.name if pool.machine.gpu else "GPU"
    total = (
        f"{pool.nodes} {'node' if pool.nodes.high == 1 else 'nodes'} × {pool.gpus_per_node} {gpu}"
    )
    facts = el(
        "dl",
        None,
        *_fact("machine", ", ".join(pool.machines) or pool.machine.name),
        *_fact("capacity", ", then ".join(pool.capacity) or "your own nodes"),
        *_fact("sharing", sharing_text(pool)),
        *_fact("a node offers", _offers(pool)),
        *_fact("dedicated to", ", ".join(pool.owners)),
    )
    measured = [] if fleet is None else [g for g in fleet.gpus if g.pool == pool.name]
    body = [facts, _node(pool), *_nodes(pool)]
    if fleet is not None:
        body += _heat(pool, measured)
    if folded:
        return el(
            "details",
            {"class": "card"},
            el("summary", None, el("h3", None, pool.name), el("span", None, total)),
            *body,
        )
    return el("article", {"class": "card"}, el("h3", None, pool.name), el("p", None, total), *body)


def _fact(name: str, value: str) -> Iterator[Element]:
    if value:
        yield el("dt", None, name)
        yield el("dd", None, value)


def sharing_text(pool: PoolPlan) -> str:
    """How pods share a GPU of the pool."""
    words = {"none": "whole GPUs", "mig": "MIG", "mps": "MPS", "dra": "claims (DRA)"}
    how = words.get(pool.sharing.value, pool.sharing.value.replace("_", "-"))
    return f"{how}, {pool.replicas} pods each" if pool.replicas > 1 else how


def _offers(pool: PoolPlan) -> str:
    return ", ".join(
        f"{a.per_node} × {a.unit or 'whole GPU'}"
        + ("" if a.gpu_share == 1 else f" ({a.gpu_share} of a GPU)")
        for a in pool.advertised
    )


def _node(pool: PoolPlan) -> Element:
    """One node GPU by GPU: all nodes of a pool are equal."""
    layout_of = {index: layout for layout in pool.layouts for index in layout.gpus}
    per_row = min(_PER_LINE, pool.gpus_per_node)
    width = _WIDTH / per_row
    rows = -(-pool.gpus_per_node // per_row)
    parts = [
        el(
            "g",
            {"transform": f"translate({index % per_row * width:g} {index // per_row * _ROW})"},
            *_gpu(pool, index, layout_of.get(index), width - _GAP),
        )
        for index in range(pool.gpus_per_node)
    ]
    name = f"One node of {pool.name}"
    described = "; ".join(_described(pool, layout) for layout in pool.layouts) or sharing_text(pool)
    drawing = svg(name, described, (_WIDTH, rows * _ROW), *parts)
    count = "the only node" if pool.nodes.high == 1 else f"one of {pool.nodes} equal nodes"
    return el("figure", None, drawing, el("figcaption", None, count))


def _described(pool: PoolPlan, layout: GpuLayout) -> str:
    gpus = ", ".join(map(str, layout.gpus))
    placed = ", ".join(f"{s.profile} at {s.start}" for s in layout.placement)
    word = "GPU" if len(layout.gpus) == 1 else "GPUs"
    return f"{word} {gpus} of {pool.gpus_per_node}: {placed}"


def _gpu(pool: PoolPlan, index: int, layout: GpuLayout | None, width: float) -> Iterator[Element]:
    yield _text(f"GPU {index}", 0, 9, "tiny")
    if layout is not None and layout.placement:
        yield from _slices(pool, layout.placement, width)
    elif pool.replicas > 1:
        yield from _shares(pool.replicas, width)
    else:
        yield _rect("full", 0.5, 13.5, width - 1, 24)
        yield _text("whole", width / 2, 29, "on")


def _slices(pool: PoolPlan, placement: Sequence[MigInstance], width: float) -> Iterator[Element]:
    product = MIG_PRODUCTS.get(pool.machine.gpu.name) if pool.machine.gpu else None
    units = product.units if product else max(s.start + s.units for s in placement)
    yield _rect("none", 0.5, 13.5, width - 1, 24)
    for each in placement:
        x, wide = each.start * width / units, each.units * width / units
        slice_ = el("g", None, el("title", None, each.profile))
        slice_.append(_rect("slice", x + 0.5, 13.5, wide - 1, 24))
        label = next((t for t in _labels(each.profile) if wide >= _LETTER * len(t)), "")
        slice_.append(_text(label, x + wide / 2, 29, "on"))
        yield slice_


def _labels(profile: str) -> tuple[str, ...]:
    """The longest label first: `3g.20gb`, `3g`, `3`."""
    return profile, profile.split(".", maxsplit=1)[0], profile[0]


def _shares(replicas: int, width: float) -> Iterator[Element]:
    drawn = min(replicas, _MAX_SHARES)
    wide = width / drawn
    for n in range(drawn):
        yield _rect("share", n * wide + 0.5, 13.5, wide - 1, 24)
    yield el("rect", {"class": "plate", "x": width / 2 - 14, "y": 18, "width": 28, "height": 15})
    yield _text(f"1/{replicas}", width / 2, 29, "ink")


def _nodes(pool: PoolPlan) -> Iterator[Element]:
    """Every node of the pool at its maximum; many are folded after the first ones."""
    first, most = pool.start_nodes, pool.nodes.high
    yield _strip(pool, 0, min(most, _DRAWN_NODES), f"{first} of {most} nodes run from the start")
    if most > _DRAWN_NODES:
        more = most - _DRAWN_NODES
        yield fold(f"{more:,} more nodes", _strip(pool, _DRAWN_NODES, most, "further nodes"))


def _strip(pool: PoolPlan, start: int, end: int, text: str) -> Element:
    total = pool.nodes.high * pool.gpus_per_node
    cell = next((size for most, size in _CELLS if total <= most), _SMALL_CELL)
    columns = min(pool.gpus_per_node, 8)
    lines = -(-pool.gpus_per_node // columns)
    wide, high = columns * cell + cell, lines * cell + cell
    per_row = max(1, _WIDTH // wide)
    paths: dict[str, list[str]] = {"full": [], "may": []}
    for n in range(start, end):
        x, y = (n - start) % per_row * wide, (n - start) // per_row * high
        side = cell - 1 - cell // 8
        gpus = (
            f"M{x + g % columns * cell + 1} {y + g // columns * cell + 1}h{side}v{side}h-{side}z"
            for g in range(pool.gpus_per_node)
        )
        paths["full" if n < pool.start_nodes else "may"].extend(gpus)
    rows = -(-(end - start) // per_row)
    drawn = (el("path", {"class": style, "d": "".join(d)}) for style, d in paths.items() if d)
    size = (_WIDTH, max(rows * high, 1))
    return el(
        "figure",
        None,
        svg(f"Nodes of {pool.name}", text, size, *drawn),
        el("figcaption", None, text),
    )


def _heat(pool: PoolPlan, gpus: Sequence[GpuReading]) -> Iterator[Element]:
    """The measured GPUs by node, the activity as a number and a shade."""
    if not gpus:
        yield el("p", {"class": "nodata"}, "Activity: no data")
        return
    nodes = [(node, list(each)) for node, each in groupby(gpus, key=lambda g: g.node)]
    shown = max(1, _DRAWN_NODES // 4)
    yield _heat_of(pool, nodes[:shown])
    if len(nodes) > shown:
        yield fold(f"{len(nodes) - shown:,} more measured nodes", _heat_of(pool, nodes[shown:]))


def _heat_of(pool: PoolPlan, nodes: Sequence[tuple[str, list[GpuReading]]]) -> Element:
    known = [g.active for _, gpus in nodes for g in gpus if g.active is not None]
    mean = (
        f"{100 * sum(known) / len(known):.0f} % active on average" if known else "no activity data"
    )
    held = [g.allocated for _, gpus in nodes for g in gpus if g.allocated is not None]
    allocated = f"{sum(held):.4g} allocated" if held else "allocation: no data"
    total = sum(len(gpus) for _, gpus in nodes)
    text = f"{pluralize(total, 'measured GPU')}, {allocated}, {mean}"
    y = 0.0
    drawn: list[Element] = []
    for column, node, gpus in _placed(nodes):
        if column == 0 and drawn:
            y += _HEAT_ROW
        drawn.append(_heat_node(node, gpus, column * _WIDTH / 2, y))
        y += (-(-len(gpus) // _PER_ROW) - 1) * _HEAT
    picture = svg(f"Activity of {pool.name}", text, (_WIDTH, y + _HEAT_ROW), *drawn)
    return el("figure", {"class": "heat"}, picture, el("figcaption", None, text))


def _placed(
    nodes: Sequence[tuple[str, list[GpuReading]]],
) -> Iterator[tuple[int, str, list[GpuReading]]]:
    """Two nodes to a row if each fits in half of it."""
    halves = all(len(gpus) <= _PER_ROW // 2 for _, gpus in nodes)
    for n, (node, gpus) in enumerate(nodes):
        yield (n % 2 if halves else 0), node, gpus


def _heat_node(node: str, gpus: Sequence[GpuReading], x: float, y: float) -> Element:
    group = el("g", {"transform": f"translate({x:g} {y:g})"}, el("title", None, node))
    group.append(_text(_shortened(node), 0, 9, "tiny"))
    for n, gpu in enumerate(gpus):
        left, top = n % _PER_ROW * _HEAT, 12 + n // _PER_ROW * _HEAT
        sign, style = _sign(gpu)
        group.append(_rect(style, left, top, _HEAT - 1, _HEAT - 1))
        group.append(_text(sign, left + 7.5, top + 11, f"{style}t"))
    return group


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _sign(gpu: GpuReading) -> tuple[str, str]:
    """The sign and the style of a GPU: tenths of activity, or why there are none."""
    if gpu.allocated == 0:
        return "–", "hn"
    if gpu.active is None:
        return "?", "hn"
    tenths = max(0, min(_FULL, int(gpu.active * _FULL + 0.5)))
    return ("F" if tenths == _FULL else str(tenths)), f"h{tenths // 2}"


def _rect(style: str, x: float, y: float, width: float, height: float) -> Element:
    return el("rect", {"class": style, "x": x, "y": y, "width": width, "height": height})


def _text(text: str, x: float, y: float, style: str) -> Element:
    return el("text", {"class": style, "x": x, "y": y}, text)
