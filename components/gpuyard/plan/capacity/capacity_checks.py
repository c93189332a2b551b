"""Checks of capacity options: each can be purchased, they fill the pool, and none is unused."""

from collections.abc import Iterator

from gpuyard.plan.capacity.capacity_options import PREPAID
from gpuyard.plan.capacity.scaling import scales_by_karpenter
from gpuyard.plan.draft import Draft
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, Pool
from gpuyard_core.catalogue.machines import Capacity, Machine
from gpuyard_core.catalogue.purchasing import IdFormat
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info, warning
from gpuyard_core.models.values import MAX_NODES, Range


def check_capacity_options(
    spec: PlatformSpec, pool: Pool, machines: tuple[Machine, ...], path: Path
) -> list[Diagnostic]:
    """Check that each option can be purchased for these machines, and that they fill the pool."""
    findings: list[Diagnostic] = []
    provider = provider_of(spec.cloud)
    for index, option in enumerate(pool.capacity):
        if provider.sells_machines and any(option.mode not in m.sold for m in machines):
            findings.append(_not_sold(pool, index, machines, (*path, "capacity")))
        elif option.reservation:
            here = (*path, "capacity", index)
            findings += provider.check_reservation(option, machines[0], here)
    if provider.sells_machines:
        findings += _check_one_zone(spec, pool, machines, path)
    findings += [*_check_bounds(pool, path), *_check_reach(pool, path)]
    return [*findings, *provider.check_capacity(spec, pool, machines[0], path)]


def _check_bounds(pool: Pool, path: Path) -> Iterator[Diagnostic]:
    """Check that reservations fit into the pool and that its capacity options fill it."""
    high, reserved = pool.nodes.high, sum(r.nodes or 0 for r in pool.capacity if r.reservation)
    total = sum(r.nodes or high for r in pool.capacity)
    if reserved > high:
        yield error(
            "capacity.over_nodes",
            (*path, "nodes"),
            f"reservations hold {reserved} nodes, but the pool may have {high}:"
            " the rest is paid for and never used",
            given=str(pool.nodes),
            allowed=f"a maximum of at least {reserved} nodes",
            fix=_hold(pool, reserved, (*path, "nodes")),
        )
    elif total < high:
        yield error(
            "capacity.short",
            (*path, "capacity"),
            f"the capacity options provide {total} nodes, but the pool may have {high}:"
            f" {high - total} nodes are not available",
            given=", ".join(f"{r.mode.value} {r.nodes}" for r in pool.capacity),
            allowed=f"capacity options for {high} nodes, such as a last one without `nodes`",
            fix=_hold(pool, total, (*path, "nodes")),
        )


def _hold(pool: Pool, reserved_nodes: int, path: Path) -> Fix | None:
    """Lower the maximum to this many nodes; a pool of fixed size keeps a fixed size."""
    if reserved_nodes > MAX_NODES:
        return None
    low = (
        reserved_nodes if pool.nodes.low == pool.nodes.high else min(pool.nodes.low, reserved_nodes)
    )
    return Fix.write(str(Range(low, reserved_nodes)), path)


def _check_reach(pool: Pool, path: Path) -> Iterator[Diagnostic]:
    """Find options that are never reached, and cheap ones after an unbounded expensive one."""
    unreached: list[tuple[int, str]] = []
    prepaid_nodes, before = 0, list[CapacityOptionSpec]()
    for index, option in enumerate(pool.capacity):
        why = ""
        if 0 < pool.nodes.high <= prepaid_nodes:
            why = f"the reservations before it provide all {pool.nodes.high} nodes of the pool"
        elif any(r.mode is option.mode and r.nodes is None and not r.reservation for r in before):
            why = f"{option.mode.value} without `nodes` comes before it"
        elif option.mode in {Capacity.SPOT, Capacity.FLEX_START} and any(
            r.mode is Capacity.ON_DEMAND and r.nodes is None for r in before
        ):
            why = "on-demand without `nodes` comes before it, and costs more"
        if why:
            unreached.append((index, why))
        prepaid_nodes += (option.nodes or 0) if option.mode in PREPAID else 0
        before.append(option)
    never = {index for index, _ in unreached}
    fix = _keep(pool, [r for i, r in enumerate(pool.capacity) if i not in never], path)
    for i, why in unreached:
        yield warning(
            "capacity.unreachable",
            (*path, "capacity", i),
            f"this capacity option is never used: {why}",
            given=pool.capacity[i].mode.value,
            allowed="the cheapest capacity option first, and `nodes` on every option but the last",
            fix=fix,
        )


def _keep(pool: Pool, options: list[CapacityOptionSpec], path: Path) -> Fix | None:
    """Fix that keeps these capacity options only."""
    if not options or len(options) == len(pool.capacity):
        return None
    shown = ", ".join(f"{r.mode.value} {r.reservation or ''}".strip() for r in options)
    value = [r.model_dump(mode="json") for r in options]
    return Fix(message=f"keep {shown}", at=(*path, "capacity"), value=value)


def check_reservation_id(
    cloud: Cloud, option: CapacityOptionSpec, path: Path, *formats: IdFormat
) -> list[Diagnostic]:
    """Check that the ID of a reservation has one of these formats."""
    if any(each.pattern.fullmatch(option.reservation or "") for each in formats):
        return []
    return [
        error(
            "capacity.reservation_form",
            path,
            f"not the ID of a reservation on {cloud.value}",
            given=option.reservation or "",
            allowed=f"an ID such as {formats[0].example}",
        )
    ]


def _check_one_zone(
    spec: PlatformSpec, pool: Pool, machines: tuple[Machine, ...], path: Path
) -> Iterator[Diagnostic]:
    """Check zones: a reservation is in one zone, so its nodes start in that zone only.

    Only Karpenter reads the zone of a reservation, and only of on-demand reservations, not of
    blocks.
    """
    finds_it = scales_by_karpenter(spec, pool)
    blind = [
        i
        for i, r in enumerate(pool.capacity)
        if r.mode in PREPAID
        and not (finds_it and r.mode is Capacity.RESERVED)
        and all(r.mode in m.sold for m in machines)
    ]
    if not blind or len(pool.zones) == 1:
        return
    option = pool.capacity[blind[0]]
    first = pool.zones[0] if pool.zones else None
    yield error(
        "capacity.one_zone",
        (*path, "zones") if pool.zones else (*path, "capacity", blind[0]),
        f"{option.mode.value} {option.reservation} is in one zone, and its nodes start in that zone only",
        given=", ".join(pool.zones) or "any zone of the region",
        allowed="the zone of the reservation; nodes in other zones need their own pool",
        fix=Fix(message=f"write zones: [{first}]", at=(*path, "zones"), value=[first])
        if first
        else Fix(message="add zones: [ZONE] with the zone of the reservation"),
    )


def _not_sold(pool: Pool, index: int, machines: tuple[Machine, ...], path: Path) -> Diagnostic:
    """Report the option, or all capacity options where the stack file uses the default."""
    mode, written = pool.capacity[index].mode, "capacity" in pool.model_fields_set
    lacking = next(m for m in machines if mode not in m.sold)
    sold = frozenset.intersection(*(m.sold for m in machines))
    names = [c.value for c in Capacity if c in sold]
    plain = next((n for n in names if n not in {"reserved", "block"}), None)
    here = (*path, index) if written else path
    return error(
        "capacity.not_sold",
        here,
        f"{lacking.name} is not sold as {mode.value} ({lacking.source.title.partition(' as ')[0]})",
        given=mode.value if written else f"{mode.value}, by default",
        allowed=", ".join(names),
        fix=Fix(message=f"write {plain}", at=here, value=plain if written else [plain])
        if plain
        else None,
    )


def check_reservations(draft: Draft) -> Iterator[Diagnostic]:
    """Find a reservation in several options: of one pool, of two machines, or of two pools."""
    spec = draft.spec
    first: dict[str, tuple[Pool, int]] = {}
    for number, pool in enumerate(spec.pools):
        for index, option in enumerate(pool.capacity):
            if option.reservation is None:
                continue
            if option.reservation not in first:
                first[option.reservation] = pool, option.nodes or 0
                continue
            first_pool, nodes = first[option.reservation]
            yield _duplicate_reservation(pool, index, first_pool, nodes, ("pools", number))


def _duplicate_reservation(
    pool: Pool, index: int, other: Pool, nodes: int, path: Path
) -> Diagnostic:
    option, here = pool.capacity[index], (*path, "capacity", index)
    if other is not pool and other.machine == pool.machine and option.purchase is None:
        return info(
            "capacity.reservation_shared",
            here,
            f"{other.name} uses this reservation too: it must have"
            f" {nodes + (option.nodes or 0)} nodes for both",
            given=f"{other.name} {nodes}, {pool.name} {option.nodes}",
        )
    why = (
        "another capacity option of this pool has the reservation"
        if other is pool
        else f"{other.name} purchases this block: an offering is purchased once, for one pool"
        if option.purchase is not None
        else f"{other.name} uses it for other machines: a reservation has one machine type"
    )
    mine = [i for i, r in enumerate(pool.capacity) if r.reservation == option.reservation]
    twice = mine[1:] if other is pool else mine
    return error(
        "capacity.reservation_twice",
        here,
        why,
        given=option.reservation or "",
        allowed="each reservation once, with all its nodes",
        fix=_keep(pool, [r for i, r in enumerate(pool.capacity) if i not in twice], path),
    )


def check_blocks(draft: Draft) -> Iterator[Diagnostic]:
    """Check every block: approved, not over, and at a plausible price."""
    for number, pool in enumerate(draft.spec.pools):
        for index, option in enumerate(pool.capacity):
            if option.mode is Capacity.BLOCK or option.purchase is not None:
                path = ("pools", number, "capacity", index)
                yield from draft.provider.check_block(draft, pool, option, path)
