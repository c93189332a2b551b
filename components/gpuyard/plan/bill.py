"""What the platform costs an hour: at least, at worst, and for each team.

List prices of the catalogue. Reserved nodes are paid whether they run or not, so they are in the floor.
The worst case takes the dearest machine of a pool at its list price for every node it may have; spot never
costs more than that. A price that nobody has published is unknown and stays out of every sum, by name.
"""

from collections.abc import Iterable

from gpuyard.catalogue.machines import Capacity, Machine, Price, find_machine
from gpuyard.findings import Finding, Fix
from gpuyard.plan.records import Bill, BillLine, PoolPlan, Quota
from gpuyard.plan.refusals import refuse, warn
from gpuyard.spec.platform import HOURS_PER_MONTH, Cloud, PlatformSpec
from gpuyard.spec.pools import Pool
from gpuyard.spec.values import Range


def plan_bill(spec: PlatformSpec, pools: list[PoolPlan], system: Machine | None) -> Bill:
    """The bill of all pools and the system nodes."""
    by_name = {p.name: p for p in spec.pools}
    lines = [_pool_line(by_name[p.name], p) for p in pools]
    if spec.system and system:
        lines.insert(0, _system_line(system, spec.system.nodes))
    return Bill(
        lines=tuple(lines),
        floor_usd=sum(line.floor_usd for line in lines if line.floor_usd is not None),
        worst_usd=sum(line.worst_usd for line in lines if line.worst_usd is not None),
        unknown=tuple(
            line.pool for line in lines if line.worst_usd is None or line.floor_usd is None
        ),
        simulated=spec.cloud is Cloud.SIMULATED,
    )


def _system_line(machine: Machine, nodes: Range) -> BillLine:
    price = machine.on_demand.high if machine.on_demand else None
    return BillLine(
        pool="system",
        machine=machine.name,
        nodes=nodes,
        usd_per_node=price,
        floor_usd=_times(price, nodes.low),
        worst_usd=_times(price, nodes.high),
        basis=_basis(machine),
        checked_on=machine.source.checked_on,
    )


def _pool_line(spec: Pool, pool: PoolPlan) -> BillLine:
    machines = [m for name in pool.machines if (m := find_machine(name))] or [pool.machine]
    worst = _worst_node(spec, machines)
    held = sum(r.nodes or 0 for r in spec.capacity if r.reservation)
    list_price = _highest(m.on_demand for m in machines[:1])
    first = _first_node(spec, machines[0])
    beyond = max(0, pool.start_nodes - held)
    floor = _sum(_times(list_price, held), _times(first, beyond))
    return BillLine(
        pool=pool.name,
        machine=pool.machine.name,
        nodes=pool.nodes,
        usd_per_node=worst,
        floor_usd=floor,
        worst_usd=_times(worst, pool.nodes.high),
        basis=_basis(pool.machine),
        checked_on=pool.machine.source.checked_on,
        note=f"{held} reserved nodes are paid even when idle" if held else "",
    )


def _worst_node(spec: Pool, machines: list[Machine]) -> float | None:
    """The dearest way any rung can buy any of the machines."""
    only_spot = all(r.mode is Capacity.SPOT for r in spec.capacity)
    return _highest((m.spot or m.on_demand) if only_spot else m.on_demand for m in machines)


def _first_node(spec: Pool, machine: Machine) -> float | None:
    """What a node beyond the reservations costs at best: the first rung that is not a reservation."""
    mode = next((r.mode for r in spec.capacity if not r.reservation), Capacity.ON_DEMAND)
    price = (machine.spot or machine.on_demand) if mode is Capacity.SPOT else machine.on_demand
    return price.low if price else None


def _highest(prices: Iterable[Price | None]) -> float | None:
    known = list(prices)
    return None if None in known else max(p.high for p in known if p)


def _times(price: float | None, nodes: int) -> float | None:
    """No nodes cost nothing, whatever the price."""
    if nodes == 0:
        return 0.0
    return None if price is None else price * nodes


def _sum(*parts: float | None) -> float | None:
    return None if None in parts else sum(p for p in parts if p is not None)


def _basis(machine: Machine) -> str:
    if machine.on_demand is None:
        return f"price unknown since {machine.source.checked_on}"
    seen = "" if machine.on_demand.source.verified else ", not verified"
    return f"list price in {machine.region} on {machine.on_demand.source.checked_on}{seen}"


def guarantee_usd_per_month(
    quotas: tuple[Quota, ...], pools: dict[str, PoolPlan], bill: Bill
) -> float | None:
    """A team's guarantees at full use: each resource at its share of the node, at list price."""
    prices = {line.pool: line.usd_per_node for line in bill.lines}
    total = 0.0
    for quota in quotas:
        pool, price = pools[quota.pool], prices[quota.pool]
        if price is None:
            return None
        share = next(a.gpu_share for a in pool.advertised if a.resource == quota.resource)
        node = pool.gpus_per_node * pool.machine.gpu_fraction
        total += quota.nominal * float(share / node) * price
    return total * HOURS_PER_MONTH


def check_budgets(
    spec: PlatformSpec, bill: Bill, monthly: dict[int, float | None]
) -> list[Finding]:
    """Limits that the stack file sets itself: on the worst hour, and on every team's guarantees."""
    findings: list[Finding] = []
    if spec.budget:
        findings += _check_worst(spec.budget.worst_usd_per_hour, bill)
    for index, team in enumerate(spec.teams):
        limit, cost = team.budget_usd_per_month, monthly.get(index)
        path = ("teams", index, "budget_usd_per_month")
        if limit is None:
            continue
        if cost is None:
            findings.append(
                warn(
                    "budget.unproved",
                    path,
                    f"a price that the guarantees of {team.name} need is unknown",
                )
            )
        elif cost > limit:
            findings.append(
                refuse(
                    "budget.team",
                    path,
                    f"the guarantees of {team.name} cost {cost:,.0f} $/month at full use",
                    given=f"{limit:,.0f} $/month",
                    allowed=f"at least {_up(cost):,} $/month, or smaller guarantees",
                    fix=Fix(says=f"write {_up(cost)}", at=path, value=_up(cost)),
                )
            )
    return findings


def _check_worst(limit: float, bill: Bill) -> list[Finding]:
    path = ("budget", "worst_usd_per_hour")
    if bill.worst_usd > limit:
        dearest = max(bill.lines, key=lambda line: line.worst_usd or 0.0)
        return [
            refuse(
                "budget.worst",
                path,
                f"with every node running the platform costs {bill.worst_usd:,.2f} $/hour;"
                f" the most of it is {dearest.pool}: {dearest.nodes.high} × {dearest.machine}",
                given=f"{limit:,.2f} $/hour",
                allowed=f"at least {bill.worst_usd:,.2f} $/hour, or fewer nodes",
                fix=Fix(says=f"write {_up(bill.worst_usd)}", at=path, value=_up(bill.worst_usd)),
            )
        ]
    if bill.unknown:
        names = ", ".join(bill.unknown)
        return [warn("budget.unproved", path, f"prices are unknown and not in the sum: {names}")]
    return []


def _up(amount: float) -> int:
    """The next whole dollar."""
    return int(-(-amount // 1))
