"""Commitments: nodes that are paid for in any case, the nodes that they cover, and idle ones.

A commitment pays for nodes of its machine that are reserved or on-demand, in the order of the bill;
spot, flex-start and capacity blocks never count towards one. What no pool uses is paid for all the
same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuyard.plan.draft import Draft
from gpuyard.plan.money.prices import commitment_price, node_price
from gpuyard.plan.records import Bill, CommitmentLine, CoveredNodes, Total
from gpuyard.spec.sections import Prices
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine
from gpuyard_core.findings import Diagnostic, Fix, Path, warning


@dataclass(frozen=True, slots=True)
class UsedCommitments:
    """What commitments pay for on one line of the bill."""

    nodes: float = 0.0
    usd: float = 0.0
    """The known part of their price."""
    unknown: float = 0.0
    """Nodes whose price is unknown."""

    def cost(self, pool: str) -> Total:
        """What they cost the pool."""
        return Total(self.usd, (pool,) if self.unknown else (), self.unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedNodes:
    """In each case: what commitments pay for by line, and nodes by commitment and line."""

    minimum: tuple[UsedCommitments, ...]
    expected: tuple[UsedCommitments, ...]
    maximum: tuple[UsedCommitments, ...]
    min_nodes: tuple[tuple[float, ...], ...]
    expected_nodes: tuple[tuple[float, ...], ...]
    max_nodes: tuple[tuple[float, ...], ...]


Needs = Sequence[tuple[str, float]]
"""By line: machine, and how many of its nodes a commitment may pay for."""


def apply_commitments(
    prices: Prices | None, *, minimum: Needs, expected: Needs, maximum: Needs
) -> CommittedNodes:
    """Apply the commitments in their order to the lines in their order."""
    low, middle, high = (_handed_out(prices, needs) for needs in (minimum, expected, maximum))
    return CommittedNodes(
        minimum=_used_by_line(prices, low, len(minimum)),
        expected=_used_by_line(prices, middle, len(expected)),
        maximum=_used_by_line(prices, high, len(maximum)),
        min_nodes=low,
        expected_nodes=middle,
        max_nodes=high,
    )


def _handed_out(prices: Prices | None, needs: Needs) -> tuple[tuple[float, ...], ...]:
    remaining = [nodes for _, nodes in needs]
    out = []
    for entry in prices.commitments if prices else ():
        rest = float(entry.nodes)
        row = []
        for index, (machine, _) in enumerate(needs):
            used = min(rest, remaining[index]) if machine == entry.machine else 0.0
            remaining[index] -= used
            rest -= used
            row.append(used)
        out.append(tuple(row))
    return tuple(out)


def _used_by_line(
    prices: Prices | None, rows: tuple[tuple[float, ...], ...], lines: int
) -> tuple[UsedCommitments, ...]:
    result = [UsedCommitments()] * lines
    if prices is None:
        return tuple(result)
    for entry, row in zip(prices.commitments, rows, strict=True):
        usd = commitment_price(prices, entry.machine, entry.years, entry.usd_per_hour).usd
        for index, nodes in enumerate(row):
            if nodes:
                before = result[index]
                unknown = nodes if usd is None else 0.0
                result[index] = UsedCommitments(
                    before.nodes + nodes,
                    before.usd + nodes * (usd or 0.0),
                    before.unknown + unknown,
                )
    return tuple(result)


CommittableNodes = Sequence[tuple[str, Machine, int, int]]
"""By line: pool, machine, the maximum of nodes that commitments can pay for, all its nodes."""


def plan_commitments(
    prices: Prices | None, committed: CommittedNodes, most: CommittableNodes
) -> tuple[CommitmentLine, ...]:
    """Every commitment, the nodes that it covers, and its idle nodes."""
    if prices is None:
        return ()
    baseline = _handed_out(prices, [(machine.name, float(n)) for _, machine, n, _ in most])
    lines = []
    for index, entry in enumerate(prices.commitments):
        price = commitment_price(prices, entry.machine, entry.years, entry.usd_per_hour)
        rows = (
            committed.min_nodes[index],
            committed.expected_nodes[index],
            committed.max_nodes[index],
        )
        machine = next((m for _, m, _, _ in most if m.name == entry.machine), None)
        on_demand = node_price(prices, machine, Capacity.ON_DEMAND).high if machine else None
        lines.append(
            CommitmentLine(
                machine=entry.machine,
                nodes=entry.nodes,
                years=entry.years,
                usd_per_node=price.usd,
                basis=price.basis,
                as_of=price.as_of,
                region=price.region,
                on_demand_usd=on_demand,
                covers=tuple(
                    CoveredNodes(
                        pool=pool,
                        minimum=rows[0][at],
                        expected=rows[1][at],
                        baseline=int(baseline[index][at]),
                        burst=nodes - int(baseline[index][at]),
                    )
                    for at, (pool, _, _, nodes) in enumerate(most)
                    if baseline[index][at] or rows[0][at] or rows[1][at]
                ),
                idle_minimum=entry.nodes - sum(rows[0]),
                idle_expected=entry.nodes - sum(rows[1]),
                idle_maximum=entry.nodes - sum(rows[2]),
            )
        )
    return tuple(lines)


def check_commitments(draft: Draft) -> list[Diagnostic]:
    """Commitments that are paid for and never used, and those of unknown price."""
    if not draft.all_pools_valid:
        return []
    findings: list[Diagnostic] = []
    bill = draft.bill
    machines = {line.machine for line in bill.lines}
    perhaps = {name for pool in draft.valid_pools.values() for name in pool.machines} - machines
    for index, line in enumerate(bill.commitments):
        path: Path = ("prices", "commitments", index)
        if line.machine not in {*MACHINES, *machines}:
            continue  # another check rejects an unknown machine; one finding is enough
        used = sum(c.baseline for c in line.covers)
        if line.machine not in machines | perhaps:
            findings.append(_no_pool(line, path, bill))
        elif used < line.nodes and line.machine not in perhaps:
            findings.append(_unused(line, path, used))
        if line.usd_per_node is None:
            findings.append(
                warning(
                    "prices.commitment_unpriced",
                    path,
                    f"the price of {line.machine} with a commitment of {_years(line.years)} is unknown,"
                    " so the bill excludes these nodes",
                    allowed="usd_per_hour: the price in your contract",
                    fix=Fix(message="add usd_per_hour"),
                )
            )
    return findings


def _years(years: int) -> str:
    return f"{years} year{'s' if years != 1 else ''}"


def _no_pool(line: CommitmentLine, path: Path, bill: Bill) -> Diagnostic:
    machines = dict.fromkeys(x.machine for x in bill.lines)
    return warning(
        "prices.no_pool",
        (*path, "machine"),
        f"no pool uses this machine: {line.nodes} committed nodes are paid for and never used",
        given=line.machine,
        allowed=", ".join(machines),
        fix=Fix(message="remove it, or add a pool with this machine", at=path),
    )


def _unused(line: CommitmentLine, path: Path, used: int) -> Diagnostic:
    fix = (
        Fix(message=f"write {used}", at=(*path, "nodes"), value=used)
        if used
        else Fix(message="remove it", at=path)
    )
    return warning(
        "prices.unused_commitment",
        (*path, "nodes"),
        f"{line.nodes - used} of them are paid for and never used, even with every node running: pools have"
        f" at most {used} {line.machine} that are reserved or on demand and not committed elsewhere",
        given=str(line.nodes),
        allowed=f"at most {used}" if used else "none; spot nodes do not count",
        fix=fix,
    )
