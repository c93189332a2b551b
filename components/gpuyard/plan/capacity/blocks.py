"""Capacity blocks that a stack file purchases, each with its own approval: `purchase`."""

from collections.abc import Iterator

from gpuyard.plan.draft import Draft
from gpuyard.spec.pools import CapacityOptionSpec, Pool
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.findings import Diagnostic, Path


def check_blocks(draft: Draft) -> list[Diagnostic]:
    """Check every block: approved, not over, and at a plausible price."""
    findings: list[Diagnostic] = []
    for pool, option, path in _blocks(draft):
        findings += draft.provider.check_block(draft, pool, option, path)
    return findings


def _blocks(draft: Draft) -> Iterator[tuple[Pool, CapacityOptionSpec, Path]]:
    for number, pool in enumerate(draft.spec.pools):
        for index, option in enumerate(pool.capacity):
            if option.mode is Capacity.BLOCK or option.purchase is not None:
                yield pool, option, ("pools", number, "capacity", index)
