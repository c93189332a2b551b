"""Checks of capacity options: each can be purchased, they fill the pool, and none is unused."""

from collections.abc import Iterable

from gpuyard.catalogue.machines import Capacity, Machine
from gpuyard.catalogue.node_pools import max_nodes_per_pool
from gpuyard.catalogue.purchasing import (
    BLOCK_SIZES,
    EC2_OFFERING,
    FLEX_START,
    RESERVATIONS,
    ULTRASERVERS,
)
from gpuyard.findings import Finding, Fix, Path, error, info, warning
from gpuyard.plan.capacity.capacity_options import PREPAID, max_nodes
from gpuyard.plan.capacity.scaling import scaling_of
from gpuyard.plan.capacity.zone_counts import check_zone_counts
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, Pool, Scaling
from gpuyard.spec.values import MAX_NODES, Range

_SELLERS = frozenset({Cloud.AWS, Cloud.GCP})


def check_capacity_options(
    spec: PlatformSpec, pool: Pool, machines: tuple[Machine, ...], path: Path
) -> list[Finding]:
    """Check that each option can be purchased for these machines, and that they fill the pool."""
    findings: list[Finding] = []
    if spec.cloud in _SELLERS:
        for index, option in enumerate(pool.capacity):
            here = (*path, "capacity", index)
            if any(option.mode not in m.sold for m in machines):
                findings.append(_not_sold(pool, index, machines, (*path, "capacity")))
            elif option.reservation:
                findings += _check_form(spec.cloud, option, here)
                findings += _check_block(option, machines[0], here)
        findings += _check_one_zone(spec, pool, machines, path)
    findings += [*_check_bounds(pool, path), *_check_reach(pool, path)]
    if spec.cloud is Cloud.GCP:
        findings += [*_check_floor(pool, path), *check_zone_counts(spec, pool, path)]
        findings += _check_rack(pool, machines[0], path)
    if spec.cloud is Cloud.AWS and scaling_of(spec.cloud, pool) is Scaling.FIXED:
        findings += _check_fallback(pool, path)
    return findings


def _check_bounds(pool: Pool, path: Path) -> list[Finding]:
    """Check that reservations fit into the pool and that its capacity options fill it."""
    reserved_nodes = sum(r.nodes or 0 for r in pool.capacity if r.reservation)
    if reserved_nodes > pool.nodes.high:
        return [
            error(
                "capacity.over_nodes",
                (*path, "nodes"),
                f"reservations hold {reserved_nodes} nodes, but the pool may have {pool.nodes.high}:"
                " the rest is paid for and never used",
                value=str(pool.nodes),
                allowed=f"a maximum of at least {reserved_nodes} nodes",
                fix=_hold(pool, reserved_nodes, (*path, "nodes")),
            )
        ]
    if any(r.nodes is None for r in pool.capacity):
        return []
    total = sum(r.nodes or 0 for r in pool.capacity)
    if total >= pool.nodes.high:
        return []
    return [
        error(
            "capacity.short",
            (*path, "capacity"),
            f"the capacity options provide {total} nodes, but the pool may have {pool.nodes.high}:"
            f" {pool.nodes.high - total} nodes are not available",
            value=", ".join(f"{r.mode.value} {r.nodes}" for r in pool.capacity),
            allowed=f"capacity options for {pool.nodes.high} nodes, such as a last one without `nodes`",
            fix=_hold(pool, total, (*path, "nodes")),
        )
    ]


def _hold(pool: Pool, reserved_nodes: int, path: Path) -> Fix | None:
    """Lower the maximum to this many nodes; a pool of fixed size keeps a fixed size."""
    if reserved_nodes > MAX_NODES:
        return None
    low = (
        reserved_nodes if pool.nodes.low == pool.nodes.high else min(pool.nodes.low, reserved_nodes)
    )
    nodes = Range(low, reserved_nodes)
    return Fix(message=f"write {nodes}", at=path, value=str(nodes))


def _check_reach(pool: Pool, path: Path) -> list[Finding]:
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
    return [
        _unreachable(pool.capacity[i], why, (*path, "capacity", i), fix) for i, why in unreached
    ]


def _keep(pool: Pool, options: list[CapacityOptionSpec], path: Path) -> Fix | None:
    """Fix that keeps these capacity options only."""
    if not options or len(options) == len(pool.capacity):
        return None
    value = [r.model_dump(mode="json") for r in options]
    return Fix(message=f"keep {_show(options)}", at=(*path, "capacity"), value=value)


def _show(options: Iterable[CapacityOptionSpec]) -> str:
    return ", ".join(f"{r.mode.value} {r.reservation or ''}".strip() for r in options)


def _unreachable(option: CapacityOptionSpec, why: str, path: Path, fix: Fix | None) -> Finding:
    return warning(
        "capacity.unreachable",
        path,
        f"this capacity option is never used: {why}",
        value=option.mode.value,
        allowed="the cheapest capacity option first, and `nodes` on every option but the last",
        fix=fix,
    )


def _check_fallback(pool: Pool, path: Path) -> list[Finding]:
    """Find options without fallback: a node group of fixed size waits for its own nodes."""
    remaining = pool.nodes.high
    for index, option in enumerate(pool.capacity):
        if not remaining and index and not pool.capacity[index - 1].reservation:
            return [_no_fallback(pool, index, path)]
        remaining -= min(remaining, max_nodes(option, pool))
    return []


def _no_fallback(pool: Pool, index: int, path: Path) -> Finding:
    nodes = Range(0, pool.nodes.high)
    before = pool.capacity[index - 1].mode.value
    return warning(
        "capacity.no_fallback",
        (*path, "capacity", index),
        f"a pool of fixed size does not fall back to the next capacity option: all remaining nodes are"
        f" requested from {before} before it, and if it has none the pool stays incomplete",
        value=pool.capacity[index].mode.value,
        allowed=f"nodes: {nodes}, which an autoscaler fills in order, or `nodes` on each capacity option",
        fix=Fix(message=f"write {nodes}", at=(*path, "nodes"), value=str(nodes)),
    )


def _check_floor(pool: Pool, path: Path) -> list[Finding]:
    """Check that other options provide the minimum: flex-start nodes exist for one job only."""
    if all(r.mode is not Capacity.FLEX_START for r in pool.capacity):
        return []
    steady = sum(max_nodes(r, pool) for r in pool.capacity if r.mode is not Capacity.FLEX_START)
    if steady >= pool.nodes.low:
        return []
    nodes = Range(steady, pool.nodes.high)
    return [
        error(
            "capacity.flex_floor",
            (*path, "nodes"),
            f"flex-start nodes start when a job requests them and run {FLEX_START.description}:"
            f" other capacity options provide {steady} of the {pool.nodes.low} nodes that always run",
            value=str(pool.nodes),
            allowed=f"{nodes}, or another capacity option for the nodes that always run",
            fix=Fix(message=f"write {nodes}", at=(*path, "nodes"), value=str(nodes)),
        )
    ]


def _check_rack(pool: Pool, machine: Machine, path: Path) -> list[Finding]:
    """Check the size of a rack: GKE places a node pool of these machines in one NVLink domain."""
    limit = max_nodes_per_pool(machine)
    large = [
        i for i, option in enumerate(pool.capacity) if limit and max_nodes(option, pool) > limit
    ]
    return [
        error(
            "capacity.rack_size",
            (*path, "capacity", index),
            f"GKE accepts at most {limit} nodes of {machine.name} in one node pool: one NVLink domain",
            value=str(max_nodes(pool.capacity[index], pool)),
            allowed=f"at most {limit} nodes in each capacity option, each with its own reservation",
            fix=Fix(message=f"write nodes: {limit} here, and add a capacity option for the others"),
        )
        for index in large
    ]


def _check_form(cloud: Cloud, option: CapacityOptionSpec, path: Path) -> list[Finding]:
    form, reservation = RESERVATIONS[cloud.value], option.reservation or ""
    offered = cloud is Cloud.AWS and option.mode is Capacity.BLOCK
    if form.pattern.fullmatch(reservation) or (
        offered and EC2_OFFERING.pattern.fullmatch(reservation)
    ):
        return []
    return [
        error(
            "capacity.reservation_form",
            path,
            f"not the ID of a reservation on {cloud.value}",
            value=option.reservation or "",
            allowed=f"an ID such as {form.example}",
        )
    ]


def _check_block(option: CapacityOptionSpec, machine: Machine, path: Path) -> list[Finding]:
    """Check block sizes: EC2 limits them, and sells UltraServers as a whole."""
    if option.mode is not Capacity.BLOCK or machine.cloud != "aws":
        return []
    nodes, sizes = option.nodes or 0, ULTRASERVERS.get(machine.name)
    if sizes and nodes % sizes[0]:
        machines = " or ".join(str(size) for size in sizes)
        problem = f"{machine.name} is sold as whole UltraServers of {machines} machines"
        whole = -(-nodes // sizes[0]) * sizes[0]
        return [_block_size(problem, nodes, f"a multiple of {sizes[0]}, such as {whole}", path)]
    if nodes > BLOCK_SIZES.most:
        problem = f"EC2 sells at most {BLOCK_SIZES.most} instances in one capacity block"
        return [_block_size(problem, nodes, f"{BLOCK_SIZES.most}, and more blocks", path)]
    return []


def _block_size(problem: str, nodes: int, allowed: str, path: Path) -> Finding:
    return error(
        "capacity.block_size",
        path,
        f"{problem}, so EC2 sells no capacity block of {nodes}",
        value=str(nodes),
        allowed=allowed,
        fix=Fix(message="write the block's size, here and in `nodes` of the pool"),
    )


def _check_one_zone(
    spec: PlatformSpec, pool: Pool, machines: tuple[Machine, ...], path: Path
) -> list[Finding]:
    """Check zones: a reservation is in one zone, so its nodes start in that zone only.

    Only Karpenter reads the zone of a reservation, and only of on-demand reservations, not of
    blocks.
    """
    finds_it = spec.cloud is Cloud.AWS and scaling_of(spec.cloud, pool) is Scaling.KARPENTER
    blind = [
        i
        for i, r in enumerate(pool.capacity)
        if r.mode in PREPAID
        and not (finds_it and r.mode is Capacity.RESERVED)
        and all(r.mode in m.sold for m in machines)
    ]
    if not blind or len(pool.zones) == 1:
        return []
    option = pool.capacity[blind[0]]
    first = pool.zones[0] if pool.zones else None
    return [
        error(
            "capacity.one_zone",
            (*path, "zones") if pool.zones else (*path, "capacity", blind[0]),
            f"{option.mode.value} {option.reservation} is in one zone, and its nodes start in that zone only",
            value=", ".join(pool.zones) or "any zone of the region",
            allowed="the zone of the reservation; nodes in other zones need their own pool",
            fix=Fix(message=f"write zones: [{first}]", at=(*path, "zones"), value=[first])
            if first
            else Fix(message="add zones: [ZONE] with the zone of the reservation"),
        )
    ]


def _not_sold(pool: Pool, index: int, machines: tuple[Machine, ...], path: Path) -> Finding:
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
        value=mode.value if written else f"{mode.value}, by default",
        allowed=", ".join(names),
        fix=Fix(message=f"write {plain}", at=here, value=plain if written else [plain])
        if plain
        else None,
    )


def check_reservations(draft: Draft) -> list[Finding]:
    """Find a reservation in several options: of one pool, of two machines, or of two pools."""
    spec = draft.spec
    findings: list[Finding] = []
    first: dict[str, tuple[Pool, int]] = {}
    for number, pool in enumerate(spec.pools):
        for index, option in enumerate(pool.capacity):
            if option.reservation is None:
                continue
            if option.reservation not in first:
                first[option.reservation] = pool, option.nodes or 0
                continue
            first_pool, nodes = first[option.reservation]
            findings.append(
                _duplicate_reservation(pool, index, first_pool, nodes, ("pools", number))
            )
    return findings


def _duplicate_reservation(pool: Pool, index: int, other: Pool, nodes: int, path: Path) -> Finding:
    option, here = pool.capacity[index], (*path, "capacity", index)
    if other is not pool and other.machine == pool.machine and option.purchase is None:
        return info(
            "capacity.reservation_shared",
            here,
            f"{other.name} uses this reservation too: it must have"
            f" {nodes + (option.nodes or 0)} nodes for both",
            value=f"{other.name} {nodes}, {pool.name} {option.nodes}",
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
        value=option.reservation or "",
        allowed="each reservation once, with all its nodes",
        fix=_keep(pool, [r for i, r in enumerate(pool.capacity) if i not in twice], path),
    )
