"""A plan on one screen: capacity, teams, cost."""

from collections.abc import Iterator, Sequence

from gpuyard.cli.views.cost import priced, show_totals
from gpuyard.cli.views.pool import show_pool
from gpuyard.cli.views.queues import show_queues
from gpuyard.plan.capacity.capacity_options import startup_time
from gpuyard.plan.records import (
    AdvertisedResource,
    NodeSoftware,
    PlatformPlan,
    PoolInterruption,
    PoolPlan,
    Quota,
    ShapePlan,
    ValidationPlan,
)
from gpuyard.spec.platform import Cloud
from gpuyard.spec.pools import Scaling
from gpuyard_core.catalogue.sharing import SharingMethod
from gpuyard_core.findings import format_list
from gpuyard_core.names import GPU_CLAIM, MIG_PREFIX
from gpuyard_core.terminal.console import Cell, Column, Console, number_columns, table
from gpuyard_core.terminal.text import pluralize, usd

_FEW = 3
"""Maximum names in a cell."""


def show_plan(plan: PlatformPlan, console: Console, *, verbose: bool = False) -> None:
    """Show the derived platform."""
    where = f" in {plan.region}" if plan.region else ""
    console.print((plan.name, "bold"), f"  {plan.cloud}{where}, Kubernetes {plan.kubernetes}")
    _pools(plan, console)
    if plan.queueing.dispatch is None:
        _capacity(plan, console)
    _nodes(plan, console)
    if plan.queueing.dispatch is None:
        _software(plan, console)
    if verbose:
        console.title("Nodes of each pool")
        for pool in plan.pools:
            show_pool(pool, console)
    _teams(plan, console)
    if verbose:
        show_limits(plan, console)
    _queues(plan, console)
    _shapes(plan, console)
    show_services(plan, console)
    show_stores(plan, console)
    console.title("Bill", _prices(plan))
    show_totals(plan, console)
    console.title("Hardware validation")
    for line in _hardware_check(plan.validation):
        console.print_wrapped(line, indent=2)


_LATER = {
    "taint": "later nodes accept no jobs until they have passed",
    "label": "later nodes are validated and labelled",
}
"""What happens to nodes that start after a deployment."""


def _hardware_check(validation: ValidationPlan | None) -> list[str]:
    """The nodes that a deployment validates, and what happens to later nodes."""
    if validation is None:
        return ["not requested"]
    profile = f"{validation.profile}{', required' if validation.required else ''}"
    if not validation.image:
        return [f"{profile}: no node is validated, because no image is set"]
    checked = [f"{p.nodes} of {p.pool}" for p in validation.pools if p.checks_any_node]
    gates = {each.gate for each in validation.pools}
    later = [text for gate, text in _LATER.items() if gate in gates]
    lower = [
        f"{each.check} on {each.pool}: {each.value:g} {each.unit} accepted until {each.until}: {each.reason}"
        for each in validation.accepted_thresholds
    ]
    return [f"{profile}: validated nodes: {', '.join(checked) or 'none'}", *later, *lower]


def _prices(plan: PlatformPlan) -> str:
    """Which prices the bill uses."""
    if plan.queueing.dispatch:
        return "without the pools, which the worker clusters bill"
    prices = priced(plan).removeprefix("at ")
    simulated = " of the same machines; simulated nodes cost nothing"
    return prices + (simulated if plan.bill.simulated else "")


def _pools(plan: PlatformPlan, console: Console) -> None:
    console.title("Pools", _total_gpus(plan))
    columns = [
        Column("pool", name=True),
        Column("nodes", "right"),
        *map(Column, ("machine", "GPUs per node", "sharing")),
    ]
    rows: list[tuple[Cell, ...]] = [
        (
            pool.name,
            # what scales them is below their number
            (str(pool.nodes), *([] if pool.scaling is Scaling.FIXED else [pool.scaling])),
            pool.machines or pool.machine.name,
            _gpus(pool),
            _sharing(pool),
        )
        for pool in plan.pools
    ]
    console.show(table(columns, rows))


def _capacity(plan: PlatformPlan, console: Console) -> None:
    """Show the capacity options of each pool, or the labels of your own nodes."""
    rows: list[tuple[Cell, ...]]
    if plan.cloud is Cloud.NONE:
        console.title("Capacity", "your own nodes, selected by their labels")
        head = "labels"
        rows = [(p.name, tuple(f"{k}={v}" for k, v in p.node_selector.items())) for p in plan.pools]
    else:
        console.title("Capacity", "nodes come from the first capacity option that has capacity")
        head = "capacity options"
        rows = [(pool.name, ", then ".join(pool.capacity)) for pool in plan.pools]
    columns = [Column("pool", name=True), Column(head, wraps=True)]
    if any(pool.owners for pool in plan.pools):
        columns.append(Column("dedicated to", wraps=True))
        whose = [", ".join(pool.owners) or "-" for pool in plan.pools]
        rows = [(*row, each) for row, each in zip(rows, whose, strict=True)]
    console.show(table(columns, rows))


def _sharing(pool: PoolPlan) -> str:
    words = {
        SharingMethod.NONE: "whole GPUs",
        SharingMethod.MIG: "MIG",
        SharingMethod.MPS: "MPS",
        SharingMethod.DRA: "claims (DRA)",
        SharingMethod.MIG_TIME_SLICING: "MIG, time-slicing",
    }
    how = words.get(pool.sharing, pool.sharing)
    return f"{how} × {pool.replicas}" if pool.replicas > 1 else how


def _total_gpus(plan: PlatformPlan) -> str:
    """The whole GPUs of all nodes, and of the initial nodes."""
    most = sum(p.gpus_per_node * p.nodes.high for p in plan.pools)
    first = sum(p.gpus_per_node * p.start_nodes for p in plan.pools)
    if dispatch := plan.queueing.dispatch:
        return f"{pluralize(most, 'GPU')} of {format_list(dispatch.names)} in total, none in this cluster"
    if first == most:
        return pluralize(most, "GPU")
    return f"{pluralize(first, 'GPU')} initially, {most:,} maximum"


def _gpus(pool: PoolPlan) -> str:
    name = pool.machine.gpu.name if pool.machine.gpu else "none"
    part = f" ({pool.machine.gpu_fraction} each)" if pool.machine.gpu_fraction != 1 else ""
    return f"{pool.gpus_per_node} × {name}{part}"


def _nodes(plan: PlatformPlan, console: Console) -> None:
    console.title("What a node advertises")
    rows = [
        ("" if number else pool.name, str(offer.per_node), offer.resource, _one(offer))
        for pool in plan.pools
        for number, offer in enumerate(pool.advertised)
    ]
    count, resource = Column("count", "right"), Column("resource", wraps=True)
    columns = [Column("pool", name=True), count, resource, Column("equals")]
    console.show(table(columns, rows))


def _one(offer: AdvertisedResource) -> str:
    if offer.resource == GPU_CLAIM:
        return "a GPU that a pod claims"
    return "a GPU" if offer.gpu_share == 1 else f"{offer.gpu_share} of a GPU"


_PARTS = {
    "driver": "driver",
    "toolkit": "toolkit",
    "devicePlugin": "plugin",
    "migManager": "MIG manager",
}
"""Short names of the parts of a node's GPU software."""


def _software(plan: PlatformPlan, console: Console) -> None:
    """Show one line for pools with equal software; simulated nodes have none."""
    pools_by_line: dict[tuple[str, str, str], list[str]] = {}
    cut = any(pool.layouts for pool in plan.pools)
    claims = plan.operator is not None and plan.operator.claims
    for pool in plan.pools:
        if result := pool.node_software:
            line = (result.image, _driver(result), _bundled(result, cut=cut, claims=claims))
            pools_by_line.setdefault(line, []).append(pool.name)
    if plan.spec.software:  # JSON also has the pinned versions
        console.title("Versions", "set by the stack file; all others are pinned")
        versions = (f"{name} {plan.software[name]}" for name in plan.spec.software)
        console.print_wrapped(", ".join(versions), indent=2)
    if not pools_by_line:
        return
    console.title("Node software")
    columns = [
        Column("pool", name=True),
        *map(Column, ("image", "driver", "from the GPU Operator")),
    ]
    every = len(pools_by_line) == 1 and len(plan.pools) > 1
    rows = [
        ("every pool" if every else tuple(pools), *line) for line, pools in pools_by_line.items()
    ]
    console.show(table(columns, rows))


def _driver(result: NodeSoftware) -> str:
    by = result.owners["driver"]
    if result.driver is None:
        return f"from {by}"
    return f"{result.driver} ({'operator' if by == 'GPU Operator' else by})"


def _bundled(result: NodeSoftware, *, cut: bool, claims: bool) -> str:
    """Components that the GPU Operator installs: a MIG manager for MIG, the DRA driver for claims."""
    possible = {part: word for part, word in _PARTS.items() if cut or part != "migManager"}
    parts = [word for part, word in possible.items() if result.owners[part] == "GPU Operator"]
    if claims:
        parts.append("DRA driver")
    return "all" if len(parts) == len(possible) else ", ".join(parts) or "nothing"


def _teams(plan: PlatformPlan, console: Console) -> None:
    console.title("Teams", "" if plan.teams else "none: all capacity is unassigned")
    if not plan.teams:
        return
    columns = [
        Column("team", name=True),
        Column("guarantee", wraps=True),
        Column("may borrow", wraps=True),
        *number_columns("$/month", "budget"),
    ]
    rows: list[tuple[Cell, ...]] = [
        (
            team.name,
            _amounts(plan, [(q, q.nominal) for q in team.quotas if q.nominal]),
            _amounts(plan, [(q, q.borrow) for q in team.quotas if q.borrow]),
            usd(team.guarantee_usd_per_month),
            "-" if team.budget_usd_per_month is None else usd(team.budget_usd_per_month),
        )
        for team in plan.teams
    ]
    console.show(table(columns, rows))
    console.print(("  $/month: the guarantees at full use", "dim"))


def _amounts(plan: PlatformPlan, amounts: Sequence[tuple[Quota, int]]) -> tuple[str, ...]:
    """`8 train`, `1,200 serve/3g.20gb`, as in the stack file."""
    return tuple(
        f"{amount:,} {plan.pool(q.pool).stack_file_key(q.resource)}" for q, amount in amounts
    ) or ("-",)


def _queues(plan: PlatformPlan, console: Console) -> None:
    queueing = plan.queueing
    sharing = "by weight" if queueing.fair_sharing else "first come, first served"
    console.title("Queues", f"Kueue, preemption {queueing.preemption}, borrowed capacity {sharing}")
    show_queues(plan, console)
    if queueing.priorities:
        entries = []
        for priority in queueing.priorities:  # with the teams that have it by default
            whose = ", ".join(t.name for t in plan.teams if t.priority == priority.name)
            default = f" (default of {whose})" if whose else ""
            entries.append(f"{priority.name} {priority.value}{default}")
        console.note(f"{', '.join(entries)}; a job without one has 0", "priority  ")
    if known := queueing.slices_of:  # compute slices of each profile, where quotas count them
        takes = (f"{r.removeprefix(MIG_PREFIX)} takes {n}" for r, n in known.items())
        console.note(", ".join(takes), "slices    ")
    _idle(plan, console)
    show_interruption(plan, console)
    if dispatch := queueing.dispatch:
        where = ", ".join(f"{w.name} (secret {w.secret})" for w in dispatch.clusters)
        console.note(f"{where}; the first cluster that admits a job runs it", "clusters  ")
    text = "none: every GPU is guaranteed to a team"
    if queueing.unassigned:
        spare = ", ".join(_amounts(plan, [(q, q.nominal) for q in queueing.unassigned]))
        text = f"{spare}; teams may borrow it within their limits{_of_owners(plan)}"
    console.note(text, "unassigned  ")


def _of_owners(plan: PlatformPlan) -> str:
    spare = {q.pool for q in plan.queueing.unassigned}
    owned = [p for p in plan.pools if p.owners and p.name in spare]
    return "".join(f", of {p.name} only {' and '.join(p.owners)}" for p in owned)


def _idle(plan: PlatformPlan, console: Console) -> None:
    """Show when idle workloads are warned and suspended; equal teams in one line."""
    if plan.idle is None:
        return
    teams_by_text: dict[str, dict[str, None]] = {}
    for team in plan.idle.teams:
        how = (
            f"warned after {team.after_minutes} minutes at {team.below_percent:g} % or less,"
            f" suspended {team.grace_minutes} minutes later"
        )
        teams_by_text.setdefault(how + (": dry run" if team.dry_run else ""), {})[team.team] = None
    for how, names in teams_by_text.items():
        console.note(f"{_some(list(names))}: {how}", "idle      ")


def _shapes(plan: PlatformPlan, console: Console) -> None:
    if not plan.shapes:
        return
    console.title("Shapes", "each can start")
    columns = [
        Column("shape", name=True),
        Column("starts in", name=True),
        Column("takes", wraps=True),
        Column("start", wraps=True),
    ]
    rows: list[tuple[Cell, ...]] = [_shape(plan, shape) for shape in plan.shapes]
    if plan.teams:
        columns.append(Column("teams with quota", wraps=True))
        rows = [(*row, _some(s.teams)) for row, s in zip(rows, plan.shapes, strict=True)]
    console.show(table(columns, rows))


def _some(names: Sequence[str]) -> str:
    """The first few names, and the number of others."""
    rest = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {rest} more" if rest > 0 else "")


def _shape(plan: PlatformPlan, shape: ShapePlan) -> tuple[Cell, ...]:
    pool = plan.pool(shape.pool)
    times = f"{pluralize(shape.nodes, 'node')} × " if shape.nodes > 1 else ""
    unit = next((a.unit for a in pool.advertised if a.resource == shape.resource), "")
    kind = {"": "GPU", "shared": "share"}.get(unit)
    resources = times + (pluralize(shape.per_node, kind) if kind else f"{shape.per_node} × {unit}")
    lines = [resources]
    if shape.needs:
        lines.append(f"for {shape.needs}")
    if shape.bound_by:
        most = next(a.per_node for a in pool.advertised if a.resource == shape.resource)
        lines.append(f"{shape.pods_per_node} of {most} per node, limited by {shape.bound_by}")
    missing = shape.nodes - pool.start_nodes
    starts = ["at once"]
    if shape.scales_from_zero:
        takes = startup_time(pool)
        starts = [f"{pluralize(missing, 'node')} first", *([str(takes)] if takes else [])]
    return (shape.name, shape.pool, tuple(lines), tuple(starts))


def show_interruption(plan: PlatformPlan, console: Console) -> None:
    """Show a line for all pools with equal text; nothing when no node is interruptible."""
    pools_by_text: dict[str, list[str]] = {}
    for each in plan.interruption.pools if plan.interruption else ():
        pools_by_text.setdefault("; ".join(_messages(each)), []).append(each.pool)
    for how, pools in pools_by_text.items():
        console.note(f"{', '.join(pools)}: {how}", "interrupt ")


def _messages(pool: PoolInterruption) -> Iterator[str]:
    ways = ", ".join(pool.capacity_options)
    yield f"a gang that loses a node{f' ({ways})' if ways else ''} is requeued as a whole"
    if pool.notice_seconds is None:
        return
    yield f"spot notice: {pluralize(pool.notice_seconds, 'second')}"
    if pool.loss is None:
        yield "lost work unknown (set queueing.interruption)"
    elif not pool.loss.worst_minutes:
        yield "jobs checkpoint on the notice, so no work is lost"
    else:
        missing = pool.loss
        yield (
            f"lost work: {missing.expected_minutes:.0f} minutes expected, {missing.worst_minutes:.0f} at most:"
            f" {missing.expected_gpu_hours:,.1f} GPU hours of {pluralize(missing.gpus, 'GPU')}"
        )


def show_services(plan: PlatformPlan, console: Console) -> None:
    """Show each group of replicas; nothing without services."""
    if not plan.services:
        return
    console.title("Services")
    columns = [
        Column("service", name=True),
        Column("team", name=True),
        Column("kind"),
        Column("runs in", name=True),
        Column("replicas"),
        Column("scales on", wraps=True),
    ]
    rows = [
        (
            group.name,
            service.spec.team,
            group.kind.value,
            group.shape.pool,
            str(group.replicas),
            "" if group.is_fixed else ", ".join(service.spec.scale_on),
        )
        for service in plan.services
        for group in service.groups
    ]
    console.show(table(columns, rows))


def show_stores(plan: PlatformPlan, console: Console) -> None:
    """Show the stores; the bill does not include them."""
    stores = plan.storage.stores
    if not stores:
        return
    guarded = "protected" if plan.storage.protect else "not protected: a destroy deletes it"
    console.title("Storage", f"{guarded}; not in the bill")
    columns = [
        Column("store", name=True),
        Column("kind", wraps=True),
        Column("size", "right"),
        *map(Column, ("zone", "kept")),
        Column("$/month", "right"),
    ]
    rows = [
        (
            store.name,
            store.kind,
            "as needed" if store.size_gib is None else f"{store.size_gib:,} GiB",
            store.zone or "-",
            store.retention,
            "unpriced" if store.usd_per_month is None else usd(store.usd_per_month),
        )
        for store in stores
    ]
    console.show(table(columns, rows))
    for basis in dict.fromkeys(each.basis for each in stores):
        whose = ", ".join(each.name for each in stores if each.basis == basis)
        console.note(f"{whose}: {basis}")


def show_limits(plan: PlatformPlan, console: Console) -> None:
    """Show the limits for all pods of a team, and for one container."""
    if not plan.teams:
        return
    console.title("Limits besides GPUs", "all pods of a team together")
    figures = number_columns("CPUs", "GiB", "storage", "claims", "pods", "one container")
    rows = [
        (
            team.name,
            f"{team.limits.cpu:,}",
            f"{team.limits.memory_gib:,}",
            f"{team.limits.storage_gib:,} GiB",
            f"{team.limits.claims:,}",
            f"{team.limits.pods:,}",
            f"{team.limits.container.cpu:,} CPUs, {team.limits.container.memory_gib:,} GiB",
        )
        for team in plan.teams
    ]
    console.show(table([Column("team", name=True), *figures], rows))
