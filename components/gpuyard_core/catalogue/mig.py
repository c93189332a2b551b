"""MIG geometry as data: the slices into which a GPU can be partitioned, and their placements.

A GPU instance uses consecutive memory units from a valid start; instances may not overlap; the sum of
their compute slices may not exceed the GPU's; a profile has a maximum count; only one instance may have
exclusive media engines. Counting compute slices is not enough: four 1g.10gb and three 1g.5gb are seven
slices, and impossible on an A100-40.

The solver that uses these rows is `gpuyard_core.catalogue.mig_layouts`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuyard_core.catalogue.sources import MIG_GUIDE, MIG_INFERRED, MIG_RTX4500, MIG_RTX5000, Source


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


def _rtx5000() -> tuple[MigProfile, ...]:
    """Like two units, with an additional variant that has one set of media engines instead of all."""
    profiles = _two_units("1g.24gb", "2g.48gb")
    media = MigProfile("1g.24gb+me", 1, 1, (0, 1), 1, media_exclusive=True, variant=True)
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


# gpu: 1g, 1g of double memory, 2g, 3g, 4g, 7g (memory in GB); placements seen or inferred
_EIGHT_UNIT_PRODUCTS: tuple[tuple[str, tuple[int, ...], Source], ...] = (
    ("A100-40", (5, 10, 10, 20, 20, 40), MIG_GUIDE),
    ("A100-80", (10, 20, 20, 40, 40, 80), MIG_GUIDE),
    ("H100", (10, 20, 20, 40, 40, 80), MIG_GUIDE),
    ("H100-94", (12, 24, 24, 47, 47, 94), MIG_GUIDE),
    ("H100-96", (12, 24, 24, 48, 48, 96), MIG_INFERRED),
    ("H200", (18, 35, 35, 71, 71, 141), MIG_INFERRED),
    ("GH200-144", (18, 36, 36, 72, 72, 144), MIG_INFERRED),
    ("B200", (23, 45, 45, 90, 90, 180), MIG_INFERRED),
    ("GB200", (23, 47, 47, 93, 93, 186), MIG_INFERRED),
    ("B300", (34, 67, 67, 135, 135, 269), MIG_INFERRED),
    ("GB300", (35, 70, 70, 139, 139, 278), MIG_INFERRED),
)


def _eight_unit_product(gpu: str, gb: tuple[int, ...], source: Source) -> MigProduct:
    slices = (1, 1, 2, 3, 4, 7)
    names = [f"{s}g.{m}gb" for s, m in zip(slices, gb, strict=True)]
    return MigProduct(gpu, "F8", 8, 7, _eight_units(*names), source)


MIG_PRODUCTS: Mapping[str, MigProduct] = {
    product.gpu: product
    for product in (
        *(_eight_unit_product(*row) for row in _EIGHT_UNIT_PRODUCTS),
        MigProduct("A30", "F4", 4, 4, _four_units("1g.6gb", "2g.12gb", "4g.24gb"), MIG_GUIDE),
        MigProduct("RTX4500", "F2", 2, 2, _two_units("1g.16gb", "2g.32gb"), MIG_RTX4500),
        MigProduct("RTX5000-48", "F2m", 2, 2, _rtx5000(), MIG_RTX5000),
        MigProduct(
            "RTX6000", "F12", 12, 4, _twelve_units("1g.24gb", "2g.48gb", "4g.96gb"), MIG_GUIDE
        ),
    )
}
"""Products by the GPU's catalogue name. Other GPUs have no MIG, or their geometry is unknown."""
ALTERNATIVE_PRODUCTS: Mapping[str, MigProduct] = {
    "GB200": _eight_unit_product("GB200", (24, 47, 47, 95, 95, 189), MIG_INFERRED)
}
"""Other profile names of some boards and drivers, by the GPU's catalogue name."""
