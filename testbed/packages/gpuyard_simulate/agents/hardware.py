"""A node's GPUs: those of its machine type, and the current MIG layout of each.

The layout is stored in an annotation of the node: real GPUs also keep theirs when an agent restarts.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpuyard_core.catalogue.machines import Machine, find_machine
from gpuyard_core.catalogue.mig import MigProduct, MigProfile

LAYOUT: Final = "sim.gpuyard.dev/mig-layout"
MACHINE_LABEL: Final = "node.kubernetes.io/instance-type"

Slices = Mapping[str, int]
"""Slices of one GPU by profile; empty: MIG is on without slices."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The GPUs of one node. A GPU's entry is None while MIG is off on it."""

    machine: Machine
    layout: tuple[Slices | None, ...]

    @property
    def product(self) -> MigProduct | None:
        """The MIG profiles of these GPUs."""
        return self.machine.gpu.mig if self.machine.gpu else None

    def slices(self) -> Counter[str]:
        """All slices on the node by profile."""
        total: Counter[str] = Counter()
        for gpu in self.layout:
            total.update(gpu or {})
        return total

    @property
    def whole(self) -> int:
        """GPUs with MIG off."""
        return sum(gpu is None for gpu in self.layout)


def hardware_of(node: Mapping[str, Any]) -> Hardware | None:
    """The hardware of a node by its instance type; None for an unknown machine."""
    metadata = node.get("metadata", {})
    machine = find_machine(metadata.get("labels", {}).get(MACHINE_LABEL, ""))
    if machine is None:
        return None
    return Hardware(
        machine, _read_layout(metadata.get("annotations", {}).get(LAYOUT), machine.gpus)
    )


def layout_text(layout: Sequence[Slices | None]) -> str:
    """The layout, as the node's annotation stores it."""
    return json.dumps([None if gpu is None else dict(sorted(gpu.items())) for gpu in layout])


def _read_layout(text: str | None, gpus: int) -> tuple[Slices | None, ...]:
    """The layout in the annotation; without a valid one MIG is off, as on a new node."""
    try:
        result = json.loads(text or "")
        if len(result) == gpus:
            return tuple(
                None if gpu is None else {str(k): int(v) for k, v in gpu.items()} for gpu in result
            )
    except (ValueError, TypeError, AttributeError):
        pass
    return (None,) * gpus


def fits(product: MigProduct, expected: Slices) -> bool:
    """Whether the driver can partition one GPU this way, by trying every placement.

    Deliberately not the library's solver: two independent searches check each other.
    """
    profiles: list[MigProfile] = []
    for name, count in sorted(expected.items()):
        profile = product.profile(name)
        if profile is None or not 0 <= count <= profile.max_count:
            return False
        profiles += [profile] * count
    if sum(profile.slices for profile in profiles) > product.slices:
        return False
    if sum(profile.media_exclusive for profile in profiles) > 1:
        return False
    return _place(profiles, 0, product.units)


def _place(profiles: Sequence[MigProfile], occupied: int, units: int) -> bool:
    """Whether the remaining instances find a run of free memory units each; `taken` is a bit a unit."""
    if not profiles:
        return True
    first, *others = profiles
    for start in first.starts:
        run = ((1 << first.units) - 1) << start
        if (
            start + first.units <= units
            and not run & occupied
            and _place(others, occupied | run, units)
        ):
            return True
    return False
