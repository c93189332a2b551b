"""Sums of a plan as text."""

from typing import TYPE_CHECKING

from gpuyard_core.terminal.text import usd

if TYPE_CHECKING:
    from gpuyard.plan.records import Total


def money(total: "Total", *, nodes: bool = True) -> str:
    """A sum with its unknown part: `757.48 + unknown for 10 nodes`."""
    if not total.unknown:
        return usd(total.known_usd)
    if not total.known_usd:
        return "unknown"
    count = total.unknown_nodes
    whose = f" for {count:.4g} {'node' if count == 1 else 'nodes'}" if nodes else ""
    return f"{usd(total.known_usd)} + unknown{whose}"
