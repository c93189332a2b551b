"""Hourly bill of the platform: minimum, expected and maximum cost, by pool and by commitment.

Minimum (`minimum`): every pool at its minimum, and what is paid for even when idle: reserved nodes,
commitments and the cluster fee.
Expected: a target share of every pool's maximum is in use all week, never fewer nodes than the
minimum.
Maximum (`maximum`): every pool at its maximum, on its most expensive options. Totals are added in the
order of the stack file, in full precision; only displayed values are rounded. Nodes of unknown
price are excluded from every total and listed by pool and number; known costs of the same pool are
included.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import attrgetter

from gpuyard.plan.capacity.keep_warm import warm_node_hours_per_week
from gpuyard.plan.money.commitments import (
    CommittedNodes,
    UsedCommitments,
    apply_commitments,
    plan_commitments,
)
from gpuyard.plan.money.prices import capacity_option_price, node_price
from gpuyard.plan.records import (
    COST_CASES,
    Bill,
    BillLine,
    CommitmentLine,
    Fee,
    NodePrice,
    PlatformPlan,
    PoolPlan,
    Quota,
    TeamCostShare,
    Total,
    total_of_nodes,
)
from gpuyard.provider import provider_of
from gpuyard.spec.platform import HOURS_PER_MONTH, Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, Pool, System
from gpuyard.spec.sections import Prices, Prometheus
from gpuyard_core.catalogue.fees import ClusterFee, has_standard_support_ended
from gpuyard_core.catalogue.machines import Capacity, Machine, find_machine
from gpuyard_core.catalogue.regions import prices_in_region
from gpuyard_core.findings import format_list
from gpuyard_core.models.values import Range
from gpuyard_core.names import SYSTEM_POOL

# Reserved nodes are paid for whether they run or not, so they are in every case. The others come from the
# options in order, up to the limit of each; for the maximum cost, from the most expensive first.

COVERED_BY_COMMITMENTS = frozenset({"reserved", "on-demand"})
"""What a commitment pays for. Spot, flex-start and capacity blocks do not count towards one."""


@dataclass(frozen=True, slots=True)
class PricedOption:
    """One capacity option with its price."""

    price: NodePrice
    max_nodes: int | None
    """At most this many nodes; None: as many as the pool may have."""
    is_prepaid: bool
    """Paid for whether it runs or not."""

    @property
    def counts_towards_commitments(self) -> bool:
        """True when a commitment to the machine pays for its nodes."""
        return self.price.mode in COVERED_BY_COMMITMENTS


NodesByOption = tuple[float, ...]
"""Nodes by capacity option."""


def always_paid_nodes(steps: Sequence[PricedOption]) -> int:
    """Nodes that are paid for in any case."""
    return sum(s.max_nodes or 0 for s in steps if s.is_prepaid)


def nodes_by_preference(steps: Sequence[PricedOption], running: float) -> NodesByOption:
    """Nodes that are paid for when this many run, from the first option on."""
    return _filled(steps, running, range(len(steps)))


def nodes_by_highest_price(steps: Sequence[PricedOption], running: float) -> NodesByOption:
    """The same, from the most expensive option on; an unknown price counts as the highest."""
    prices = [inf if s.price.high is None else s.price.high for s in steps]
    return _filled(steps, running, sorted(range(len(steps)), key=lambda i: -prices[i]))


def _filled(steps: Sequence[PricedOption], running: float, order: Sequence[int]) -> NodesByOption:
    nodes = [float(s.max_nodes or 0) if s.is_prepaid else 0.0 for s in steps]
    remaining = max(0.0, running - always_paid_nodes(steps))
    for index in order:
        step = steps[index]
        if not step.is_prepaid:
            nodes[index] = remaining if step.max_nodes is None else min(remaining, step.max_nodes)
            remaining -= nodes[index]
    return tuple(nodes)


def most_covered(steps: Sequence[PricedOption], nodes: int) -> int:
    """The maximum of a pool's nodes that commitments can pay for."""
    caps = [
        nodes if s.max_nodes is None else s.max_nodes for s in steps if s.counts_towards_commitments
    ]
    return min(nodes, sum(caps))


# The owner of an existing cluster pays for it, and it may have several platforms: its fee is on the bill if
# `prices.cluster_usd_per_hour` is set. Simulated clusters cost nothing.

EXCLUDED_FEES = (
    "root disks",
    "traffic and public addresses",
    "load balancers",
    "file systems and buckets",
    "logs and metrics",
)
"""What a cloud bills besides nodes and clusters: a stack file does not determine how much."""


def plan_fees(spec: PlatformSpec) -> tuple[Fee, ...]:
    """The fee of the cluster, where the platform pays one."""
    mine = spec.prices.cluster_usd_per_hour if spec.prices else None
    listed = provider_of(spec.cloud).cluster_fee
    if spec.cloud is Cloud.SIMULATED:
        return ()
    if mine is not None:
        return (
            Fee(
                service=listed.service if listed else "your own",
                minimum_usd_per_hour=mine,
                expected_usd_per_hour=mine,
                maximum_usd_per_hour=mine,
                basis="your price",
            ),
        )
    return (_listed(spec, listed),) if listed and not spec.cluster_exists else ()


def _listed(spec: PlatformSpec, fee: ClusterFee) -> Fee:
    """For the maximum cost, the cluster stays on its minor when standard support of that ends."""
    ended = has_standard_support_ended(spec.cloud.value, spec.kubernetes)
    extended = fee.standard + fee.extended
    now = extended if ended else fee.standard
    minor = f"standard support of Kubernetes {spec.kubernetes}"
    return Fee(
        service=fee.service,
        minimum_usd_per_hour=now,
        expected_usd_per_hour=now,
        maximum_usd_per_hour=extended,
        basis=f"list price {fee.source.formatted_date}{fee.source.unverified_suffix}",
        checked_on=fee.source.checked_on,
        as_of=fee.source.as_of,
        source=fee.source.title,
        note=f"{fee.extended:.2f} of it because {minor} has ended"
        if ended
        else f"at most {fee.extended:.2f} more, after {minor} ends",
    )


def excluded_fees(spec: PlatformSpec) -> tuple[str, ...]:
    """What the cloud bills and no total includes; other costs of your own nodes are unknown."""
    mode = spec.observability.prometheus if spec.observability else Prometheus.NONE
    provider = provider_of(spec.cloud)
    service = provider.managed_prometheus
    if not provider.cluster_fee:
        return ()
    if mode is Prometheus.MANAGED and service is not None:
        usd = f"{service.usd_per_million_samples:.2f} USD a million"
        return (
            *EXCLUDED_FEES,
            f"samples of {service.name} at {usd}{service.source.unverified_suffix}",
        )
    volume = ("the volume of Prometheus",) if mode is Prometheus.INSTALL else ()
    return (*EXCLUDED_FEES, *volume)


DEFAULT_UTILISATION = Range(65, 85)
"""Percent in use where the stack file sets no target: what well-run GPU fleets aim at."""


HOURS_PER_WEEK = 168


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The nodes of one line in the three cases."""

    pool: str
    machine: Machine
    nodes: Range
    steps: tuple[PricedOption, ...]
    one_machine: bool
    running: float
    used: float
    minimum: NodesByOption
    expected: NodesByOption
    maximum: NodesByOption
    note: str = ""

    def covered(self, nodes: NodesByOption) -> float:
        """How many of the nodes a commitment may pay for."""
        return sum(
            n for n, s in zip(nodes, self.steps, strict=True) if s.counts_towards_commitments
        )

    def surely_covered(self) -> float:
        """The same for the maximum cost: nodes without another machine or capacity option."""
        if not self.one_machine:
            return 0.0
        if all(s.counts_towards_commitments for s in self.steps if not s.is_prepaid):
            return self.covered(self.maximum)
        return float(
            sum(
                s.max_nodes or 0
                for s in self.steps
                if s.is_prepaid and s.counts_towards_commitments
            )
        )


def bill_of(
    spec: PlatformSpec,
    pools: Sequence[PoolPlan],
    system: Machine | None,
    quotas: Mapping[int, Sequence[Quota]],
    region: str | None = None,
) -> Bill:
    """The bill; pools of other clusters have no cost here, because other stacks bill them."""
    if not spec.queueing.clusters:
        return plan_bill(spec, list(pools), system, quotas, region)
    nothing = {"keep_warm": (), "capacity": (CapacityOptionSpec(mode=Capacity.ON_DEMAND),)}
    empty = spec.model_copy(
        update={"pools": tuple(p.model_copy(update=nothing) for p in spec.pools)}
    )
    absent = [replace(p, nodes=Range(0, 0), start_nodes=0) for p in pools]
    bill = plan_bill(empty, absent, system, quotas, region)
    names = {pool.name for pool in pools}
    where = f"billed in the stacks of {format_list(w.name for w in spec.queueing.clusters)}"
    lines = [replace(line, note=where) if line.pool in names else line for line in bill.lines]
    return replace(bill, lines=tuple(lines))


def plan_bill(
    spec: PlatformSpec,
    pools: list[PoolPlan],
    system: Machine | None,
    quotas: Mapping[int, Sequence[Quota]],
    region: str | None = None,
) -> Bill:
    """The bill of all pools and the system nodes, and each team's share of it."""
    percent = utilisation_percent(spec)
    parts = _parts(spec, pools, system and prices_in_region(system, region), percent / 100, region)
    needs = {
        "minimum": [(p.machine.name, p.covered(p.minimum)) for p in parts],
        "expected": [(p.machine.name, p.covered(p.expected)) for p in parts],
        "maximum": [(p.machine.name, p.surely_covered()) for p in parts],
    }
    committed = {case: apply_commitments(spec.prices, each) for case, each in needs.items()}
    lines = tuple(_line(part, index, committed) for index, part in enumerate(parts))
    commitments = plan_commitments(
        spec.prices,
        committed,
        [(p.pool, p.machine, most_covered(p.steps, p.nodes.high), p.nodes.high) for p in parts],
    )
    fees = plan_fees(spec)
    overhead = {
        case: _sum([*(c.idle_cost(case) for c in commitments), *(fee.total(case) for fee in fees)])
        for case in COST_CASES
    }
    totals = {
        case: _sum(getattr(line, case) for line in lines) + overhead[case] for case in overhead
    }
    return Bill(
        lines=lines,
        commitments=commitments,
        shares=plan_cost_shares(spec, pools, quotas, lines, overhead),
        minimum=totals["minimum"],
        expected=totals["expected"],
        maximum=totals["maximum"],
        utilisation_percent=percent,
        simulated=spec.cloud is Cloud.SIMULATED,
        region=region,
        fees=fees,
        left_out=excluded_fees(spec),
    )


def utilisation_percent(spec: PlatformSpec) -> float:
    """The middle of the target range, or of the default."""
    target = spec.targets.utilisation_percent if spec.targets else None
    aim = target or DEFAULT_UTILISATION
    return (aim.low + aim.high) / 2


def _sum(parts: Iterable[Total]) -> Total:
    return sum(parts, start=Total())


def _parts(
    spec: PlatformSpec,
    pools: list[PoolPlan],
    system: Machine | None,
    usage: float,
    region: str | None,
) -> list[_Part]:
    by_name = {p.name: p for p in spec.pools}
    parts = [_pool_part(spec.prices, by_name[p.name], p, usage, region) for p in pools]
    if spec.system and system:
        parts.insert(0, _system_part(spec.prices, system, spec.system))
    return parts


def _system_part(prices: Prices | None, machine: Machine, system: System) -> _Part:
    """System nodes do not depend on the use of GPUs: the minimum is expected to suffice."""
    steps = (PricedOption(node_price(prices, machine, Capacity.ON_DEMAND), None, is_prepaid=False),)
    low = nodes_by_preference(steps, system.nodes.low)
    return _Part(
        pool=SYSTEM_POOL,
        machine=machine,
        nodes=system.nodes,
        steps=steps,
        one_machine=True,
        running=system.nodes.low,
        used=0,
        minimum=low,
        expected=low,
        maximum=nodes_by_preference(steps, system.nodes.high),
    )


def _pool_part(
    prices: Prices | None, spec: Pool, pool: PoolPlan, usage: float, region: str | None
) -> _Part:
    rows = [m for name in pool.machines if (m := find_machine(name))] or [pool.machine]
    machines = [prices_in_region(machine, region) for machine in rows]
    steps = _steps(prices, spec, machines)
    in_use = usage * pool.nodes.high
    running = max(float(pool.start_nodes), in_use)
    running += warm_node_hours_per_week(spec, above=running) / HOURS_PER_WEEK
    paid_when_idle = always_paid_nodes(steps)
    once = [
        f"{r.reservation} is paid once, for {r.purchase.hours} hours, not by the month"
        for r in spec.capacity
        if r.purchase
    ]
    return _Part(
        pool=pool.name,
        machine=prices_in_region(pool.machine, region),
        nodes=pool.nodes,
        steps=steps,
        one_machine=len(machines) == 1,
        running=running,
        used=in_use,
        minimum=nodes_by_preference(steps, pool.start_nodes),
        expected=nodes_by_preference(steps, running),
        maximum=nodes_by_highest_price(steps, pool.nodes.high),
        note="; ".join([f"{paid_when_idle} reserved nodes are paid even when idle", *once])
        if paid_when_idle
        else "",
    )


def _steps(prices: Prices | None, spec: Pool, machines: list[Machine]) -> tuple[PricedOption, ...]:
    """The priced options; another check rejects options that end before the maximum."""
    return tuple(
        PricedOption(
            _option_price(prices, machines, r), r.nodes, is_prepaid=r.reservation is not None
        )
        for r in spec.capacity
    )


def _option_price(
    prices: Prices | None, machines: list[Machine], option: CapacityOptionSpec
) -> NodePrice:
    """Of equivalent machines the first is preferred; the maximum cost assumes the costliest."""
    each = [replace(capacity_option_price(prices, m, option), machine=m.name) for m in machines]
    first, *others = each
    if not others:
        return first
    regions = (region for price in each for region in price.regions)
    where = tuple(dict.fromkeys(regions))
    return replace(first, high=_highest(each), each=tuple(each), regions=where)


def _highest(prices: Iterable[NodePrice]) -> float | None:
    highs = [p.high for p in prices]
    known = [usd for usd in highs if usd is not None]
    return None if len(known) < len(highs) else max(known)


def _line(part: _Part, index: int, committed: Mapping[str, CommittedNodes]) -> BillLine:
    prices = tuple(s.price for s in part.steps)
    minimum, expected, maximum = (committed[case].lines[index] for case in COST_CASES)
    return BillLine(
        pool=part.pool,
        machine=part.machine.name,
        nodes=part.nodes,
        running_nodes=part.running,
        used_nodes=part.used,
        usd_per_node=_highest(prices),
        minimum=_cost(part, part.minimum, minimum, "low"),
        expected=_cost(part, part.expected, expected, "mean"),
        maximum=_cost(part, part.maximum, maximum, "high"),
        basis=prices[0].basis,
        checked_on=prices[0].checked_on,
        prices=prices,
        open_minimum=part.covered(part.minimum) - minimum.nodes,
        open_expected=part.covered(part.expected) - expected.nodes,
        note=part.note,
    )


def _cost(part: _Part, nodes: NodesByOption, used: UsedCommitments, end: str) -> Total:
    """Committed nodes at that price, others at their own; reserved nodes are covered first."""
    price = attrgetter(end)
    remaining, cost = used.nodes, used.cost(part.pool)
    for step, count in sorted(
        zip(part.steps, nodes, strict=True), key=lambda each: not each[0].is_prepaid
    ):
        paid = min(remaining, count) if step.counts_towards_commitments else 0.0
        remaining -= paid
        cost += total_of_nodes(part.pool, count - paid, price(step.price))
    return cost


@dataclass(frozen=True, slots=True)
class RunningCosts:
    """The hourly cost of a platform at any number of nodes, by the rules of its bill."""

    prices: Prices | None
    parts: tuple[_Part, ...]
    fees: Total

    def at(self, nodes: Mapping[str, float]) -> Total:
        """USD an hour while this many nodes of each pool run; other pools have their minimum."""
        paid = [
            nodes_by_preference(part.steps, nodes.get(part.pool, part.nodes.low))
            for part in self.parts
        ]
        needs = [(p.machine.name, p.covered(n)) for p, n in zip(self.parts, paid, strict=True)]
        committed = apply_commitments(self.prices, needs)
        lines = (
            _cost(part, n, used, "mean")
            for part, n, used in zip(self.parts, paid, committed.lines, strict=True)
        )
        idle = (line.idle_cost("expected") for line in self._commitments(committed))
        return _sum([*lines, *idle, self.fees])

    def _commitments(self, committed: CommittedNodes) -> tuple[CommitmentLine, ...]:
        if self.prices is None or not self.prices.commitments:
            return ()
        return plan_commitments(self.prices, dict.fromkeys(COST_CASES, committed), [])


def running_costs(plan: PlatformPlan) -> RunningCosts:
    """The costs of a plan's nodes, commitments, system nodes and fees."""
    spec = plan.spec
    system = find_machine(plan.system.machine) if plan.system else None
    host = system and prices_in_region(system, plan.region)
    parts = _parts(spec, [*plan.pools], host, 0, plan.region)
    constant = [fee.total("expected") for fee in plan_fees(spec)]
    if plan.system and not host:
        constant.append(plan.system.expected)
    return RunningCosts(spec.prices, tuple(parts), _sum(constant))


# A pool's cost is divided by parts of its GPUs when every node runs. Guarantees and unassigned capacity are
# all that a pool has, so all shares together are the bill, in each of the three cases.

CostShares = Mapping[str, float]
"""By pool, the share of its cost: 0 to 1."""


def plan_cost_shares(
    spec: PlatformSpec,
    pools: Sequence[PoolPlan],
    quotas: Mapping[int, Sequence[Quota]],
    lines: Sequence[BillLine],
    others: Mapping[str, Total],
) -> tuple[TeamCostShare, ...]:
    """One for each team, then the unassigned one: with system nodes and other costs."""
    by_pool = {line.pool: line for line in lines}
    of_one = _of_one(pools)
    shared_by_pool = {pool.name: 0.0 for pool in pools}
    shares = []
    for index, team in enumerate(spec.teams):
        portions: dict[str, float] = {}
        for quota in quotas[index]:
            if quota.nominal:
                part = quota.nominal * of_one[quota.pool, quota.resource]
                portions[quota.pool] = portions.get(quota.pool, 0.0) + part
        for name, part in portions.items():
            shared_by_pool[name] += part
        shares.append(_share(team.name, portions, by_pool))
    rest = {line.pool: 1.0 - shared_by_pool.get(line.pool, 0.0) for line in lines}
    # a fully guaranteed pool leaves rounding errors only, and no cost
    rest = {name: part for name, part in rest.items() if part > _ROUNDING}
    unassigned = _share(None, rest, by_pool)
    totals = {case: getattr(unassigned, case) + others[case] for case in COST_CASES}
    return (*shares, TeamCostShare(team=None, **totals))


_ROUNDING = 1e-9


def _of_one(pools: Iterable[PoolPlan]) -> dict[tuple[str, str], float]:
    """The part of a pool's GPUs that one unit is; 0 if the pool never has nodes."""
    results = {}
    for pool in pools:
        gpus = pool.gpus_per_node * pool.machine.gpu_fraction * pool.nodes.high
        for offer in pool.counted_resources:
            results[pool.name, offer.resource] = float(offer.gpu_share / gpus) if gpus else 0.0
    return results


def _share(team: str | None, portions: CostShares, lines: Mapping[str, BillLine]) -> TeamCostShare:
    return TeamCostShare(
        team=team,
        minimum=_sum(lines[p].minimum.times(part) for p, part in portions.items()),
        expected=_sum(lines[p].expected.times(part) for p, part in portions.items()),
        maximum=_sum(lines[p].maximum.times(part) for p, part in portions.items()),
    )


def total_usd_per_month(total: Total) -> float | None:
    """Dollars a month; None when a part is unknown."""
    return None if total.usd is None else total.usd * HOURS_PER_MONTH
