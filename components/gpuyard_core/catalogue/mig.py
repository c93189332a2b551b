"""MIG geometry as data: the slices into which a GPU can be partitioned, and their placements.

A GPU instance uses consecutive memory units from a valid start; instances may not overlap; the sum of
their compute slices may not exceed the GPU's; a profile has a maximum count; only one instance may have
exclusive media engines. Counting compute slices is not enough: four 1g.10gb and three 1g.5gb are seven
slices, and impossible on an A100-40.

The solver that uses these rows is `gpuyard_core.catalogue.mig_layouts`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gpuyard_core.catalogue.sources import Source, find_source


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
        """The geometry of a family, the GB of its profiles and a source: `F4 6 12 24 mig-guide`."""
        family, *gb, source = cell.split()
        units, slices, sizes, profiles = _FAMILIES[family]
        names = (f"{s}g.{m}gb" for s, m in zip(sizes, gb, strict=True))
        return MigProduct("", family, units, slices, profiles(*names), find_source(source))

    def profile(self, name: str) -> MigProfile | None:
        """The profile with that name; None if this product does not have it."""
        return next((p for p in self.profiles if p.name == name), None)


def _eight_units(
    one: str, double: str, two: str, three: str, four: str, seven: str
) -> tuple[MigProfile, ...]:
    """Eight memory units, seven compute slices: A100, H100, H200, B200 and similar GPUs."""
    return (
        MigProfile(one, 1, 1, (0, 1, 2, 3, 4, 5, 6), 7),
        MigProfile(f"{one}+me", 1, 1, (0, 1, 2, 3, 4, 5, 6), 1, media_exclusive=True, variant=True),
        MigProfile(double, 1, 2, (0, 2, 4, 6), 4),
        MigProfile(two, 2, 2, (0, 2, 4), 3),
        MigProfile(three, 3, 4, (0, 4), 2),
        MigProfile(four, 4, 4, (0,), 1),
        MigProfile(seven, 7, 8, (0,), 1),
    )


def _four_units(one: str, two: str, four: str) -> tuple[MigProfile, ...]:
    """Four memory units, four compute slices: A30."""
    return (
        MigProfile(one, 1, 1, (0, 1, 2, 3), 4),
        MigProfile(f"{one}+me", 1, 1, (0, 1, 2, 3), 1, media_exclusive=True, variant=True),
        MigProfile(two, 2, 2, (0, 2), 2),
        MigProfile(f"{two}+me", 2, 2, (0, 2), 1, media_exclusive=True, variant=True),
        MigProfile(four, 4, 4, (0,), 1),
    )


def _two_units(one: str, two: str) -> tuple[MigProfile, ...]:
    """Two memory units, two compute slices: RTX PRO 4500 and 5000 Blackwell."""
    return (
        MigProfile(one, 1, 1, (0, 1), 2),
        MigProfile(f"{one}+gfx", 1, 1, (0, 1), 2, variant=True),
        MigProfile(f"{one}+me.all", 1, 1, (0, 1), 1, media_exclusive=True, variant=True),
        MigProfile(f"{one}-me", 1, 1, (0, 1), 2, variant=True),
        MigProfile(two, 2, 2, (0,), 1),
        MigProfile(f"{two}+gfx", 2, 2, (0,), 1, variant=True),
    )


def _two_units_and_media(one: str, two: str) -> tuple[MigProfile, ...]:
    """Like two units, with an additional variant that has one set of media engines instead of all."""
    profiles = _two_units(one, two)
    media = MigProfile(f"{one}+me", 1, 1, (0, 1), 1, media_exclusive=True, variant=True)
    return (profiles[0], media, *profiles[1:])


def _twelve_units(one: str, two: str, four: str) -> tuple[MigProfile, ...]:
    """Twelve memory units, four compute slices: RTX PRO 6000 Blackwell, with its many variants."""
    ones, twos = (0, 3, 6, 9), (0, 6)
    return (
        MigProfile(one, 1, 3, ones, 4),
        MigProfile(f"{one}+me", 1, 3, ones, 1, media_exclusive=True, variant=True),
        MigProfile(f"{one}+gfx", 1, 3, ones, 4, variant=True),
        MigProfile(f"{one}+me.all", 1, 3, ones, 1, media_exclusive=True, variant=True),
        MigProfile(f"{one}-me", 1, 3, ones, 4, variant=True),
        MigProfile(two, 2, 6, twos, 2),
        MigProfile(f"{two}+gfx", 2, 6, twos, 2, variant=True),
        MigProfile(f"{two}+me.all", 2, 6, twos, 1, media_exclusive=True, variant=True),
        MigProfile(f"{two}-me", 2, 6, twos, 2, variant=True),
        MigProfile(four, 4, 12, (0,), 1),
        MigProfile(f"{four}+gfx", 4, 12, (0,), 1, variant=True),
    )


_FAMILIES: Mapping[str, tuple[int, int, tuple[int, ...], Callable[..., tuple[MigProfile, ...]]]] = {
    "F8": (8, 7, (1, 1, 2, 3, 4, 7), _eight_units),
    "F4": (4, 4, (1, 2, 4), _four_units),
    "F2": (2, 2, (1, 2), _two_units),
    "F2m": (2, 2, (1, 2), _two_units_and_media),
    "F12": (12, 4, (1, 2, 4), _twelve_units),
}
"""By family: memory units, compute slices, those of the profiles that a table has the memory of, and all profiles."""
ALTERNATIVE_PRODUCTS: Mapping[str, MigProduct] = {
    "GB200": replace(MigProduct.from_cell("F8 24 47 47 95 95 189 mig-inferred"), gpu="GB200")
}
"""Other profile names of some boards and drivers, by the GPU's catalogue name."""
