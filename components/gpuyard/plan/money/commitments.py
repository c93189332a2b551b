"""Commitments: nodes that are paid for in any case, the nodes that they cover, and idle ones.

A commitment pays for nodes of its machine that are reserved or on-demand, in the order of the bill;
spot, flex-start and capacity blocks never count towards one. What no pool uses is paid for all the
same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpuyard.plan.draft import Draft
from gpuyard.plan.money.prices import commitment_price, node_price
from gpuyard.plan.records import COST_CASES, CommitmentLine, CoveredNodes, Total
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


@dataclass(frozen=True, slots=True)
class CommittedNodes:
    """What commitments pay for by line in one case of the bill, and nodes by commitment and line."""

    lines: tuple[UsedCommitments, ...]
    nodes: tuple[tuple[float, ...], ...]


Needs = Sequence[tuple[str, float]]
"""By line: machine, and how many of its nodes a commitment may pay for."""


def apply_commitments(prices: Prices | None, needs: Needs) -> CommittedNodes:
    """Apply the commitments in their order to the lines in their order."""
    rows, lines = _handed_out(prices, needs), [UsedCommitments()] * len(needs)
    if prices is None:
        return CommittedNodes(tuple(lines), rows)
    for entry, row in zip(prices.commitments, rows, strict=True):
        usd = commitment_price(prices, entry.machine, entry.years, entry.usd_per_hour).usd
        for index, nodes in enumerate(row):
            if nodes:
                before = lines[index]
                lines[index] = UsedCommitments(
                    before.nodes + nodes,
                    before.usd + nodes * (usd or 0.0),
                    before.unknown + (nodes if usd is None else 0.0),
                )
    return CommittedNodes(tuple(lines), rows)


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


CommittableNodes = Sequence[tuple[str, Machine, int, int]]
"""By line: pool, machine, the maximum of nodes that commitments can pay for, all its nodes."""


def plan_commitments(
    prices: Prices | None, committed: Mapping[str, CommittedNodes], most: CommittableNodes
) -> tuple[CommitmentLine, ...]:
    """Every commitment, the nodes that it covers, and its idle nodes; `committed` by case of the bill."""
    if prices is None:
        return ()
    baseline = _handed_out(prices, [(machine.name, float(n)) for _, machine, n, _ in most])
    lines = []
    for index, entry in enumerate(prices.commitments):
        price = commitment_price(prices, entry.machine, entry.years, entry.usd_per_hour)
        low, middle, high = (committed[case].nodes[index] for case in COST_CASES)
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
                        minimum=low[at],
                        expected=middle[at],
                        baseline=int(baseline[index][at]),
                        burst=nodes - int(baseline[index][at]),
                    )
                    for at, (pool, _, _, nodes) in enumerate(most)
                    if baseline[index][at] or low[at] or middle[at]
                ),
                idle_minimum=entry.nodes - sum(low),
                idle_expected=entry.nodes - sum(middle),
                idle_maximum=entry.nodes - sum(high),
            )
        )
    return tuple(lines)


def check_commitments(draft: Draft) -> Iterator[Diagnostic]:
    """Commitments that are paid for and never used, and those of unknown price."""
    if not draft.all_pools_valid:
        return
    bill = draft.bill
    machines = {line.machine for line in bill.lines}
    perhaps = {name for pool in draft.valid_pools.values() for name in pool.machines} - machines
    for index, line in enumerate(bill.commitments):
        path: Path = ("prices", "commitments", index)
        if line.machine not in {*MACHINES, *machines}:
            continue  # another check rejects an unknown machine; one finding is enough
        used = sum(c.baseline for c in line.covers)
        if line.machine not in machines | perhaps:
            yield warning(
                "prices.no_pool",
                (*path, "machine"),
                f"no pool uses this machine: {line.nodes} committed nodes are paid for and never used",
                given=line.machine,
                allowed=", ".join(dict.fromkeys(x.machine for x in bill.lines)),
                fix=Fix(message="remove it, or add a pool with this machine", at=path),
            )
        elif used < line.nodes and line.machine not in perhaps:
            yield warning(
                "prices.unused_commitment",
                (*path, "nodes"),
                f"{line.nodes - used} of them are paid for and never used, even with every node running: pools have"
                f" at most {used} {line.machine} that are reserved or on demand and not committed elsewhere",
                given=str(line.nodes),
                allowed=f"at most {used}" if used else "none; spot nodes do not count",
                fix=Fix.write(used, (*path, "nodes")) if used else Fix.remove(path),
            )
        if line.usd_per_node is None:
            yield warning(
                "prices.commitment_unpriced",
                path,
                f"the price of {line.machine} with a commitment of {line.years}"
                f" year{'s' if line.years != 1 else ''} is unknown, so the bill excludes these nodes",
                allowed="usd_per_hour: the price in your contract",
                fix=Fix(message="add usd_per_hour"),
            )
