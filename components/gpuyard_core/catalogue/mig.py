"""MIG geometry as data: the slices into which a GPU can be partitioned, and their placements.

A GPU instance uses consecutive memory units from a valid start; instances may not overlap; the sum of
their compute slices may not exceed the GPU's; a profile has a maximum count; only one instance may have
exclusive media engines. Counting compute slices is not enough: four 1g.10gb and three 1g.5gb are seven
slices, and impossible on an A100-40.

The solver that uses these rows is `gpuyard_core.catalogue.mig_layouts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpuyard_core.catalogue.sources import Source, find_source
from gpuyard_core.catalogue.tables import read_keyed


@dataclass(frozen=True, slots=True)
class MigProfile:
    """One profile: `slices` compute slices on `units` consecutive memory units."""

    name: str
    slices: int
    units: int
    starts: tuple[int, ...]
    max_count: int
    media_exclusive: bool = False
    """Has exclusive media engines: at most one such instance per GPU."""
    variant: bool = False
    """A media or graphics variant of a base profile; excluded from layout counts by default."""

    @property
    def resource(self) -> str:
        """The extended resource that a node advertises for it with the mixed strategy."""
        return "nvidia.com/mig-" + self.name.replace("+", ".")


@dataclass(frozen=True, slots=True)
class MigProduct:
    """The MIG geometry of one GPU product."""

    gpu: str
    family: str
    units: int
    slices: int
    profiles: tuple[MigProfile, ...]
    source: Source

    @staticmethod
    def from_cell(cell: str) -> "MigProduct":
        """The geometry of a family, the GB of its base profiles and a source: `F4 6 12 24 mig-guide`."""
        family, *gb, source = cell.split()
        profiles = _FAMILIES[family]
        bases = (profile.slices for profile in profiles if not profile.variant)
        names = [f"{slices}g.{each}gb" for slices, each in zip(bases, gb, strict=True)]
        return MigProduct(
            gpu="",
            family=family,
            units=max(profile.units for profile in profiles),
            slices=max(profile.slices for profile in profiles),
            profiles=tuple(replace(each, name=each.name.format(*names)) for each in profiles),
            source=find_source(source),
        )

    def profile(self, name: str) -> MigProfile | None:
        """The profile with that name; None if this product does not have it."""
        return next((p for p in self.profiles if p.name == name), None)


_FAMILIES: dict[str, list[MigProfile]] = {}
"""The profiles of each family; {0} in a name is its first base profile."""
for _family, _profile in read_keyed("mig_profiles", MigProfile):
    _FAMILIES.setdefault(_family, []).append(_profile)
ALTERNATIVE_PRODUCTS: Mapping[str, MigProduct] = {
    "GB200": replace(MigProduct.from_cell("F8 24 47 47 95 95 189 mig-inferred"), gpu="GB200")
}
"""Other profile names of some boards and drivers, by the GPU's catalogue name."""
