"""Nodes of a pool by rung of its ladder: how many run at least, as expected and at worst.

Reserved nodes are paid whether they run or not, so they are in every case. The others come from the rungs in
their order, as many as each may give; at worst they come from the dearest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuyard.plan.records import NodePrice

COVERED_BY_COMMITMENTS = frozenset({"reserved", "on-demand"})
"""What a commitment pays for. Neither spot, flex-start nor capacity blocks count towards one."""


@dataclass(frozen=True, slots=True)
class PricedOption:
    """One rung with its price."""

    price: NodePrice
    cap: int | None
    """At most this many nodes; None: as many as the pool may have."""
    is_prepaid: bool
    """Paid whether it runs or not."""

    @property
    def covered(self) -> bool:
        """True when a commitment to the machine pays for its nodes."""
        return self.price.mode in COVERED_BY_COMMITMENTS


NodesByOption = tuple[float, ...]
"""Nodes by step."""


def always_paid(steps: Sequence[PricedOption]) -> int:
    """Nodes that are paid in any case."""
    return sum(s.cap or 0 for s in steps if s.is_prepaid)


def in_preference_order(steps: Sequence[PricedOption], running: float) -> NodesByOption:
    """Nodes that are paid when so many run, from the first rung on."""
    return _filled(steps, running, range(len(steps)))


def most_expensive_first(steps: Sequence[PricedOption], running: float) -> NodesByOption:
    """The same, from the dearest rung on; one whose price is unknown counts as dearest."""
    order = sorted(range(len(steps)), key=lambda i: -_or_infinite(steps[i].price.high))
    return _filled(steps, running, order)


def _or_infinite(usd: float | None) -> float:
    return float("inf") if usd is None else usd


def _filled(steps: Sequence[PricedOption], running: float, order: Sequence[int]) -> NodesByOption:
    nodes = [float(s.cap or 0) if s.is_prepaid else 0.0 for s in steps]
    remaining = max(0.0, running - always_paid(steps))
    for index in order:
        step = steps[index]
        if not step.is_prepaid:
            nodes[index] = remaining if step.cap is None else min(remaining, step.cap)
            remaining -= nodes[index]
    return tuple(nodes)


def most_covered(steps: Sequence[PricedOption], nodes: int) -> int:
    """The most nodes of a pool that commitments can ever pay for."""
    caps = [nodes if s.cap is None else s.cap for s in steps if s.covered]
    return min(nodes, sum(caps))
