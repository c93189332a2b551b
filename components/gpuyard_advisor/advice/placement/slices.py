"""Placement of MIG slices that come and go: on which GPU, at which start, and which slices to move.

A slice gets the fullest GPU that fits it, at the start that leaves the most starts of other profiles free. If no
GPU fits it, a few slices may move to other GPUs to make room. A move is a restart of the workload on the slice.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from gpuyard_core.catalogue.mig import MigProduct, MigProfile


@dataclass(frozen=True, slots=True)
class PlacedSlice:
    """A profile on a GPU, from a memory unit on."""

    gpu: int
    profile: MigProfile
    start: int

    @property
    def units(self) -> int:
        """The memory units, as bits."""
        return _units(self.profile, self.start)


@dataclass(frozen=True, slots=True)
class SliceMove:
    """A slice that moves to make room."""

    key: Hashable
    source: PlacedSlice
    target: PlacedSlice


@dataclass(slots=True)
class SliceCluster:
    """Slices on GPUs of one product, by the caller's keys."""

    product: MigProduct
    gpus: int
    slices: dict[Hashable, PlacedSlice] = field(default_factory=dict)
    _used: list[int] = field(init=False)
    _keys: list[list[Hashable]] = field(init=False)
    _rooms: dict[int, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """All GPUs empty."""
        self._used = [0] * self.gpus
        self._keys = [[] for _ in range(self.gpus)]

    def place(
        self, key: Hashable, profile: str, max_moves: int = 0
    ) -> tuple[PlacedSlice | None, tuple[SliceMove, ...]]:
        """Place a slice, with up to `max_moves` moves if it fits nowhere; None if it does not fit.

        KeyError for a profile that the product lacks.
        """
        wanted = self.product.profile(profile)
        if wanted is None:
            raise KeyError(f"{self.product.gpu} has no profile {profile}")
        moves: tuple[SliceMove, ...] = ()
        found = self._best(wanted, self._used)
        if found is None and max_moves:
            found, moves = self._make_room(wanted, max_moves)
        for move in moves:
            self.remove(move.key)
        for move in moves:
            self._add(move.key, move.target)
        if found is not None:
            self._add(key, found)
        return found, moves

    def remove(self, key: Hashable) -> None:
        """Delete a slice."""
        placed = self.slices.pop(key)
        self._used[placed.gpu] &= ~placed.units
        self._keys[placed.gpu].remove(key)

    def _add(self, key: Hashable, placed: PlacedSlice) -> None:
        self.slices[key] = placed
        self._used[placed.gpu] |= placed.units
        self._keys[placed.gpu].append(key)

    def _best(self, profile: MigProfile, used: Sequence[int]) -> PlacedSlice | None:
        """The fullest GPU, then the start that leaves the most free; equal GPUs in order."""
        best: tuple[tuple[int, float], PlacedSlice] | None = None
        for gpu, units in enumerate(used):
            for start in profile.starts:
                taken = _units(profile, start)
                if units & taken:
                    continue
                rank = (-units.bit_count(), -self._room(units | taken))
                if best is None or rank < best[0]:
                    best = (rank, PlacedSlice(gpu, profile, start))
        return best[1] if best else None

    def _room(self, used: int) -> float:
        """Free starts of all profiles, weighted by their compute."""
        known = self._rooms.get(used)
        if known is None:
            known = self._rooms[used] = sum(
                profile.slices
                for profile in self.product.profiles
                if not profile.variant
                for start in profile.starts
                if not used & _units(profile, start)
            )
        return known

    def _make_room(
        self, profile: MigProfile, max_moves: int
    ) -> tuple[PlacedSlice | None, tuple[SliceMove, ...]]:
        """The start that frees with the fewest moves, then the least moved compute."""
        best: tuple[PlacedSlice | None, tuple[SliceMove, ...]] = (None, ())
        least = (max_moves + 1, 0)
        for target in self._starts(profile):
            keys = [k for k in self._keys[target.gpu] if self.slices[k].units & target.units]
            cost = (len(keys), sum(self.slices[key].profile.slices for key in keys))
            if cost < least and (moves := self._moves(keys, target)):
                best, least = (target, moves), cost
        return best

    def _starts(self, profile: MigProfile) -> Iterator[PlacedSlice]:
        for gpu in range(self.gpus):
            for start in profile.starts:
                yield PlacedSlice(gpu, profile, start)

    def _moves(self, keys: Sequence[Hashable], target: PlacedSlice) -> tuple[SliceMove, ...]:
        """Where the slices move, the largest first; empty if one fits nowhere."""
        used = list(self._used)
        for key in keys:
            used[target.gpu] &= ~self.slices[key].units
        used[target.gpu] |= target.units
        moves: list[SliceMove] = []
        for key in sorted(keys, key=lambda k: -self.slices[k].profile.slices):
            source = self.slices[key]
            found = self._best(source.profile, used)
            if found is None:
                return ()
            used[found.gpu] |= found.units
            moves.append(SliceMove(key, source, found))
        return tuple(moves)


def _units(profile: MigProfile, start: int) -> int:
    return ((1 << profile.units) - 1) << start
