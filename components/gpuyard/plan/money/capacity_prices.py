"""Nodes of a pool by capacity option, for the minimum, the expected and the maximum cost.

Reserved nodes are paid for whether they run or not, so they are in every case. The others come from
the options in order, up to the limit of each; for the maximum cost, from the most expensive first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuyard.plan.records import NodePrice

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
    order = sorted(range(len(steps)), key=lambda i: -_or_infinite(steps[i].price.high))
    return _filled(steps, running, order)


def _or_infinite(usd: float | None) -> float:
    return float("inf") if usd is None else usd


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
