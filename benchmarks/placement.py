"""Placement against published algorithms: pods with parts of GPUs, MIG slices that come and go, services on slices.

    python benchmarks/placement.py                         about 10 minutes on two idle cores
    python benchmarks/placement.py --seeds 1 --traces default

Reads openb and ParvaGPU from $GPUYARD_TRACES, else from `traces` next to $GPUYARD_UPSTREAM. The exit code is 1 if
a target is missed. benchmarks/placement.md describes the sides.
"""

from __future__ import annotations

import argparse
import heapq
import importlib.metadata
import platform
import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from shared import openb, parvagpu

from gpuyard_advisor.advice.packing.slices import pack_slices
from gpuyard_advisor.advice.placement.serving import pack_services
from gpuyard_advisor.advice.placement.slices import SliceCluster
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS

TRACES = ("default", "gpushare100", "multigpu50", "gpuspec33")
SEEDS = range(42, 52)
EXACT = ("BestFit", "FGD")
WITHIN = 0.3  # points between a random policy and its published mean
UNALLOCATED = 4.61  # FGD on the default trace
PLACEMENTS_PER_SECOND = 1000

A100 = MIG_PRODUCTS["A100-40"]
GPUS, ARRIVALS, CHURN_SEEDS = 50, 4000, range(3)
MIX = {"1g.5gb": 45, "2g.10gb": 25, "3g.20gb": 18, "4g.20gb": 7, "7g.40gb": 5}
COMPUTE = {profile.name: profile.slices for profile in A100.profiles}
LOADS = (1.0, 0.85)
MAX_MOVES = 1
ACCEPTED = 0.90

PARVAGPU = (2, 3, 5, 7, 13, 17)


def pods(traces: list[str], seeds: int) -> bool:
    """Percent of GPUs left unallocated when pods for 130 % of them have arrived."""
    sound = True
    for trace in traces:
        print(f"\nopenb, {trace}: unallocated GPUs at 130 % load, {seeds} seeds")
        print(
            f"{'policy':<36}{'mean':>7}{'min':>7}{'max':>7}{'published':>11}{'equal':>9}{'pods/s':>9}"
        )
        means = {}
        for policy in openb.POLICIES:
            published = openb.published(trace, policy)
            left, equal, rates = [], 0, []
            for seed in SEEDS[:seeds]:
                started = time.process_time()
                allocated, count = openb.run(policy, trace, seed)
                rates.append(count / (time.process_time() - started))
                if policy in EXACT:
                    allocated, _ = openb.run_as_published(policy, trace, seed)
                left.append(100 - allocated[130])
                if published:
                    equal += openb.equal_points(allocated, published[seed])
            means[policy] = statistics.mean(left)
            theirs = (
                statistics.mean(100 - published[seed][130] for seed in SEEDS[:seeds])
                if published
                else None
            )
            print(
                f"{policy:<36}{means[policy]:>7.2f}{min(left):>7.2f}{max(left):>7.2f}"
                f"{'' if theirs is None else f'{theirs:.2f}':>11}"
                f"{f'{equal / seeds / 131:.1%}' if published else '':>9}{statistics.median(rates):>9,.0f}",
                flush=True,
            )
            if policy in EXACT:
                sound &= equal == seeds * 131
            elif theirs is not None:
                sound &= abs(means[policy] - theirs) <= WITHIN
            if policy == "gpuyard":
                sound &= statistics.median(rates) >= PLACEMENTS_PER_SECOND
        sound &= means["gpuyard"] <= means["FGD"]
        if trace == "default":
            sound &= means["gpuyard"] <= UNALLOCATED
    return sound


@dataclass(frozen=True, slots=True)
class Arrival:
    """A slice that arrives, and when it leaves."""

    at: float
    until: float
    profile: str


def churn(load: float, seed: int) -> Iterator[Arrival]:
    """Arrivals with exponential gaps and durations of mean 1, whose compute is `load` of all GPUs'."""
    rng = random.Random(seed)  # noqa: S311  the same arrivals every time
    mean = sum(COMPUTE[name] * weight for name, weight in MIX.items()) / sum(MIX.values())
    rate = load * GPUS * A100.slices / mean
    at = 0.0
    for _ in range(ARRIVALS):
        at += rng.expovariate(rate)
        profile = rng.choices(list(MIX), list(MIX.values()))[0]
        yield Arrival(at, at + rng.expovariate(1), profile)


class FirstFit:
    """The first GPU and start that is free; with `fullest`, of the fullest GPU."""

    def __init__(self, *, fullest: bool) -> None:
        """All GPUs empty."""
        self._used, self._on, self._fullest = [0] * GPUS, dict[int, tuple[int, int]](), fullest

    def place(self, key: int, profile: str) -> tuple[bool, int]:
        """Whether the slice was placed, and no moves."""
        order = range(GPUS)
        if self._fullest:
            order = sorted(order, key=lambda gpu: -self._used[gpu].bit_count())
        wanted = A100.profile(profile)
        assert wanted  # noqa: S101  the mix has profiles of the product only
        for gpu in order:
            for start in wanted.starts:
                units = ((1 << wanted.units) - 1) << start
                if not self._used[gpu] & units:
                    self._used[gpu] |= units
                    self._on[key] = (gpu, units)
                    return True, 0
        return False, 0

    def remove(self, key: int) -> None:
        """Free the units of a slice."""
        gpu, units = self._on.pop(key)
        self._used[gpu] &= ~units


class Ours:
    """`SliceCluster` with a number of moves for each arrival."""

    def __init__(self, max_moves: int) -> None:
        """All GPUs empty."""
        self._cluster, self._max_moves = SliceCluster(A100, GPUS), max_moves

    def place(self, key: int, profile: str) -> tuple[bool, int]:
        """Whether the slice was placed, and the number of moves."""
        placed, moves = self._cluster.place(key, profile, self._max_moves)
        return placed is not None, len(moves)

    def remove(self, key: int) -> None:
        """Delete a slice."""
        self._cluster.remove(key)


class Repack:
    """The limit: every slice may move at each arrival, so only the numbers by profile count."""

    def __init__(self) -> None:
        """All GPUs empty."""
        self._profiles: dict[int, str] = {}

    def place(self, key: int, profile: str) -> tuple[bool, int]:
        """Whether all slices with this one fit on the GPUs."""
        counts = dict.fromkeys(MIX, 0)
        for each in (*self._profiles.values(), profile):
            counts[each] += 1
        fits = simple_gpus(counts) <= GPUS or pack_slices(A100, counts).minimum_gpus <= GPUS
        if fits:
            self._profiles[key] = profile
        return fits, 0

    def remove(self, key: int) -> None:
        """Delete a slice."""
        del self._profiles[key]


def simple_gpus(counts: dict[str, int]) -> int:
    """GPUs of a simple layout of all slices: enough, so that the solver decides only when they are too many."""
    one, two, three, four, seven = (counts[name] for name in MIX)
    beside_four = max(four - three, 0)  # free for one 2g and one 1g each
    gpus = seven + four + -(-max(three - four, 0) // 2)
    two, one = two - min(two, beside_four), one - min(one, beside_four)
    thirds = -(-max(two, 0) // 3)
    return gpus + thirds + -(-max(one - thirds, 0) // A100.slices)


def accepted(side: FirstFit | Ours | Repack, load: float, seed: int) -> tuple[float, float]:
    """The share of the arriving compute that was placed, and moves for each 1,000 arrivals."""
    leaving: list[tuple[float, int]] = []
    offered = placed = moved = 0
    for key, arrival in enumerate(churn(load, seed)):
        while leaving and leaving[0][0] <= arrival.at:
            side.remove(heapq.heappop(leaving)[1])
        offered += COMPUTE[arrival.profile]
        fits, moves = side.place(key, arrival.profile)
        moved += moves
        if fits:
            placed += COMPUTE[arrival.profile]
            heapq.heappush(leaving, (arrival.until, key))
    return placed / offered, moved * 1000 / ARRIVALS


def slices(*, limit: bool) -> bool:
    """Accepted slices of 50 GPUs, by load and side."""
    sound = True
    sides = {
        "first fit": lambda: FirstFit(fullest=False),
        "best fit": lambda: FirstFit(fullest=True),
        "gpuyard, no moves": lambda: Ours(0),
        f"gpuyard, {MAX_MOVES} move an arrival": lambda: Ours(MAX_MOVES),
        "gpuyard, 3 moves an arrival": lambda: Ours(3),
    }
    if limit:
        sides["limit: repack all"] = Repack
    print(
        f"\nMIG slices: accepted compute, {len(CHURN_SEEDS)} seeds, and moves for each 1,000 arrivals"
    )
    for load in LOADS:
        for name, make in sides.items():
            runs = [accepted(make(), load, seed) for seed in CHURN_SEEDS]
            share, moves = (statistics.mean(each) for each in zip(*runs, strict=True))
            print(f"load {load:<6}{name:<28}{share:>8.1%}{moves:>8.1f}", flush=True)
            if name.startswith(f"gpuyard, {MAX_MOVES}"):
                sound &= share >= ACCEPTED
    return sound


def services() -> bool:
    """GPUs for ParvaGPU's sets of services, at 1, 3 and 10 times their rates."""
    sound = True
    folder = openb.traces()
    print("\nGPUs for ParvaGPU's six sets of services")
    for factor in (1, 3, 10):
        demands = [parvagpu.demands(folder, index, factor) for index in range(parvagpu.SETS)]
        theirs = [parvagpu.parvagpu_gpus(each) for each in demands]
        started = time.process_time()
        packed = [pack_services(MIG_PRODUCTS["A100-80"], each) for each in demands]
        took = (time.process_time() - started) * 1000 / parvagpu.SETS
        ours = [each.gpus if each else 0 for each in packed]
        bounds = [ceil(each.bound - 1e-6) if each else 0 for each in packed]
        print(f"x {factor:<4}ParvaGPU {theirs}\n      gpuyard  {ours}, {took:.0f} ms a set")
        print(f"      bound    {bounds}", flush=True)
        if factor == 1:
            sound &= tuple(theirs) == PARVAGPU
        sound &= all(0 < a <= b for a, b in zip(ours, theirs, strict=True))
        sound &= factor == 1 or all(a < b for a, b in zip(ours, theirs, strict=True))
    return sound


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="of the published ten")
    parser.add_argument("--traces", nargs="*", default=list(TRACES), choices=TRACES)
    parser.add_argument("--only", choices=("pods", "slices", "services"))
    given = parser.parse_args()
    print(
        f"Python {platform.python_version()}, numpy {importlib.metadata.version('numpy')},"
        f" highspy {importlib.metadata.version('highspy')}"
    )
    sound = True
    if given.only in {None, "services"}:
        sound &= services()
    if given.only in {None, "slices"}:
        sound &= slices(limit=True)
    if given.only in {None, "pods"}:
        sound &= pods(given.traces, given.seeds)
    print("\nok" if sound else "\nfailed: a target is missed")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
