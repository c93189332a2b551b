"""Valid MIG layouts, by exact placement instead of a sum of slices.

A GPU has at most twelve memory units and a layout at most twelve slices, so a search over start positions
with bit masks is exact and takes microseconds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from gpuyard_core.catalogue.mig import MigProduct, MigProfile


@dataclass(frozen=True, slots=True)
class MigInstance:
    """One MIG instance on a GPU: its profile and the memory unit at which it starts."""

    profile: str
    start: int
    units: int


@dataclass(frozen=True, slots=True)
class LayoutCounts:
    """How many non-empty layouts a product has."""

    placements: int
    multisets: int
    maximal_multisets: int
    maximal_placements: int


def place_profiles(
    product: MigProduct, counts: Mapping[str, int]
) -> tuple[MigInstance, ...] | None:
    """The placement of every slice of this layout; None if there is none.

    Unknown profiles make a layout impossible; `placement_error` has the reason.
    """
    requested_profiles: list[MigProfile] = []
    for name, count in counts.items():
        profile = product.profile(name)
        if profile is None or count > profile.max_count:
            return None
        requested_profiles += [profile] * count
    if _over_budget(product, requested_profiles):
        return None
    # widest first: a wide slice has few start positions, which narrow slices could take
    requested_profiles.sort(key=lambda p: (-p.units, -p.slices, p.name))
    spots = _arrange(tuple(requested_profiles), 0)
    if spots is None:
        return None
    results = (
        MigInstance(p.name, s, p.units) for p, s in zip(requested_profiles, spots, strict=True)
    )
    return tuple(sorted(results, key=lambda s: s.start))


def _over_budget(product: MigProduct, profiles: list[MigProfile]) -> bool:
    return (
        sum(p.slices for p in profiles) > product.slices
        or sum(p.media_exclusive for p in profiles) > 1
    )


def _arrange(profiles: tuple[MigProfile, ...], occupied: int) -> tuple[int, ...] | None:
    if not profiles:
        return ()
    for start in profiles[0].starts:
        mask = _mask(profiles[0], start)
        if not occupied & mask and (rest := _arrange(profiles[1:], occupied | mask)) is not None:
            return (start, *rest)
    return None


def _mask(profile: MigProfile, start: int) -> int:
    return ((1 << profile.units) - 1) << start


def placement_error(product: MigProduct, counts: Mapping[str, int]) -> str:
    """The first reason why a layout is impossible, with numbers; "" if it is possible."""
    if unknown := [name for name in counts if product.profile(name) is None]:
        return f"{product.gpu} has no MIG profile {', '.join(unknown)}"
    profiles = {p.name: p for p in product.profiles}
    for name, count in counts.items():
        if count > profiles[name].max_count:
            return f"at most {profiles[name].max_count} × {name} fit on one {product.gpu}"
    requested_profiles = [profiles[name] for name, count in counts.items() for _ in range(count)]
    if reason := _too_many(product, requested_profiles):
        return reason
    if place_profiles(product, counts) is None:
        starts = (
            f"{p.name} only at {', '.join(map(str, p.starts))}"
            for p in dict.fromkeys(requested_profiles)
        )
        return f"the slices fit in number, but have no valid placement: {'; '.join(starts)}"
    return ""


def _too_many(product: MigProduct, requested_profiles: list[MigProfile]) -> str:
    slices = sum(p.slices for p in requested_profiles)
    units = sum(p.units for p in requested_profiles)
    if slices > product.slices:
        return f"{slices} compute slices of {product.slices}"
    if units > product.units:
        alone = f"the compute slices, {slices} of {product.slices}, would fit"
        return f"{units} memory units of {product.units} ({alone})"
    if sum(p.media_exclusive for p in requested_profiles) > 1:
        return "two slices each need all media engines"
    return ""


def nearest_layout(product: MigProduct, counts: Mapping[str, int]) -> dict[str, int]:
    """The valid, non-empty layout with the fewest slices added or removed.

    A profile of another GPU is replaced by the one with the same number of compute slices on this GPU. Among
    equally near layouts, the one that uses most memory.
    """
    wanted: dict[str, int] = {}
    for name, count in counts.items():
        here = suggested_profile(product, name)
        wanted[here] = wanted.get(here, 0) + count
    with_variants = any(p.variant and p.name in wanted for p in product.profiles)
    options = multisets(product, variants=with_variants)

    def distance(option: Mapping[str, int]) -> tuple[int, int, str]:
        names = {*option, *wanted}
        changed = sum(abs(option.get(n, 0) - wanted.get(n, 0)) for n in names)
        used_units = sum(p.units * option.get(p.name, 0) for p in product.profiles)
        return (changed, -used_units, str(sorted(option.items())))

    best = min(options, key=distance)
    return {p.name: best[p.name] for p in product.profiles if p.name in best}


def suggested_profile(product: MigProduct, name: str) -> str:
    """The profile of this GPU that a name means; the name itself if unknown.

    `1g.5gb` of an A100 means `1g.10gb` on an H100, and so does the resource name
    `nvidia.com/mig-1g.10gb`.
    """
    bare = name.lower().removeprefix("nvidia.com/").removeprefix("mig-")
    if product.profile(bare) is not None:
        return bare
    slices = bare.partition("g.")[0]
    candidates = [p for p in product.profiles if not p.variant and str(p.slices) == slices]
    return min(candidates, key=lambda p: p.units).name if candidates else name


@lru_cache(maxsize=64)
def multisets(product: MigProduct, *, variants: bool = False) -> tuple[Mapping[str, int], ...]:
    """Every valid non-empty layout as counts by profile."""
    results = {
        tuple(sorted(Counter(profile.name for profile, _ in layout).items())): None
        for layout in _placements(product, variants=variants)
    }
    return tuple(dict(key) for key in results)


def count_layouts(
    product: MigProduct, *, variants: bool = False, without: frozenset[str] = frozenset()
) -> LayoutCounts:
    """Numbers of valid layouts; `without` excludes profiles, as if the driver did not offer them."""
    offered = tuple(p for p in product.profiles if p.name not in without)
    reduced = replace(product, profiles=offered)
    profiles = _offered(reduced, variants=variants)
    layouts = list(_placements(reduced, variants=variants))
    sets = multisets(reduced, variants=variants)
    legal = {tuple(sorted(s.items())) for s in sets}
    return LayoutCounts(
        placements=len(layouts),
        multisets=len(sets),
        maximal_multisets=sum(_is_maximal_multiset(s, profiles, legal) for s in sets),
        maximal_placements=sum(
            _is_maximal_placement(reduced, layout, profiles) for layout in layouts
        ),
    )


def _offered(product: MigProduct, *, variants: bool) -> tuple[MigProfile, ...]:
    return tuple(p for p in product.profiles if variants or not p.variant)


def _placements(
    product: MigProduct, *, variants: bool
) -> Iterator[tuple[tuple[MigProfile, int], ...]]:
    """Every valid non-empty set of (profile, start)."""
    spots = [(p, s) for p in _offered(product, variants=variants) for s in p.starts]

    def extend(
        chosen: tuple[tuple[MigProfile, int], ...], first: int, occupied: int
    ) -> Iterator[tuple[tuple[MigProfile, int], ...]]:
        for index in range(first, len(spots)):
            profile, start = spots[index]
            if occupied & _mask(profile, start) or not _may_add(product, chosen, profile):
                continue
            layout = (*chosen, spots[index])
            yield layout
            yield from extend(layout, index + 1, occupied | _mask(profile, start))

    yield from extend((), 0, 0)


def _may_add(
    product: MigProduct, chosen: tuple[tuple[MigProfile, int], ...], profile: MigProfile
) -> bool:
    profiles = [p for p, _ in chosen]
    return profiles.count(profile) < profile.max_count and not _over_budget(
        product, [*profiles, profile]
    )


def _is_maximal_multiset(
    counts: Mapping[str, int],
    profiles: tuple[MigProfile, ...],
    legal: set[tuple[tuple[str, int], ...]],
) -> bool:
    more = ({**counts, p.name: counts.get(p.name, 0) + 1} for p in profiles)
    return not any(tuple(sorted(m.items())) in legal for m in more)


def _is_maximal_placement(
    product: MigProduct,
    layout: tuple[tuple[MigProfile, int], ...],
    profiles: tuple[MigProfile, ...],
) -> bool:
    occupied = sum(_mask(p, s) for p, s in layout)
    return not any(
        not occupied & _mask(p, s) and _may_add(product, layout, p)
        for p in profiles
        for s in p.starts
    )
