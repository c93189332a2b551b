"""Offers: the machines of the catalogue that fit a request, ranked for a workload.

A pure function of the catalogue and the request. Offers with unknown price come last, without a score. When
none fits, the result has the matches of each condition alone, and which condition to drop first.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from itertools import combinations

from gpuyard_core.catalogue.commitments import capacity_block
from gpuyard_core.catalogue.fabric import direct_fabric
from gpuyard_core.catalogue.gpus import Gpu
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine, Price
from gpuyard_core.catalogue.sources import Source

# Each part is a figure of which more is better. It gives points in proportion up to a reference, which is
# fixed, so that a score does not depend on other offers. `docs/concepts/offers.md` explains the parts,
# weights and references.


class OfferPurpose(StrEnum):
    """The workload for which offers are ranked."""

    TRAINING = "training"
    INFERENCE = "inference"
    GENERAL = "general"


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One part of a score: the figure, and the points it gives."""

    name: str
    unit: str
    figure: float | None
    """None is unknown; it gives no points."""
    points: float
    most: int
    """Points at or above the reference."""
    note: str = ""
    """Why a figure gives fewer points than its size."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The definition of a part."""

    name: str
    unit: str
    most: int
    reference: float
    """The figure that gives all points."""
    figure: Callable[[Machine, Gpu, float], float | None]
    """Computes the figure from a machine, its GPU and US dollars an hour."""
    note: Callable[[Machine], str] = lambda _: ""
    """Not empty: the figure gives no points, for this reason."""


def gpu_memory_gib(machine: Machine, gpu: Gpu) -> float:
    """Memory of one GPU of the machine, or of its fraction of a GPU."""
    return float(gpu.memory_gib * machine.gpu_fraction)


def whole_gpus(machine: Machine) -> float:
    """GPUs of one node; a node with an eighth of a GPU has 0.125."""
    return float(machine.gpus * machine.gpu_fraction)


def max_isolated_pods(machine: Machine, gpu: Gpu) -> int:
    """How many pods one node can serve with dedicated GPU memory.

    The maximum MIG slices for whole GPUs with MIG, else its GPUs.
    """
    if gpu.mig is None or machine.gpu_fraction != 1:
        return machine.gpus
    return machine.gpus * max(p.max_count for p in gpu.mig.profiles if not p.variant)


def _memory_per_dollar(machine: Machine, gpu: Gpu, usd: float) -> float:
    return machine.gpus * gpu_memory_gib(machine, gpu) / usd


def _units_per_dollar(machine: Machine, gpu: Gpu, usd: float) -> float:
    return max_isolated_pods(machine, gpu) / usd


def _fabric_per_gpu(machine: Machine, _gpu: Gpu, _usd: float) -> float | None:
    return None if machine.network_gbps is None else machine.network_gbps / whole_gpus(machine)


def _nvlink(_machine: Machine, gpu: Gpu, _usd: float) -> float:
    return float(gpu.nvlink_gbps)


def _over_tcp(machine: Machine) -> str:
    return "" if direct_fabric(machine) else "TCP only"


def _alone(machine: Machine) -> str:
    return "one GPU" if machine.gpus == 1 else ""


MEASURES: Mapping[OfferPurpose, tuple[Measure, ...]] = {
    OfferPurpose.TRAINING: (
        Measure("memory", "GiB/$", 30, 40.0, _memory_per_dollar),
        Measure("fabric", "Gbps/GPU", 40, 400.0, _fabric_per_gpu, _over_tcp),
        Measure("nvlink", "GB/s/GPU", 30, 900.0, _nvlink, _alone),
    ),
    OfferPurpose.INFERENCE: (
        Measure("memory", "GiB/$", 60, 40.0, _memory_per_dollar),
        Measure("units", "units/$", 40, 5.0, _units_per_dollar),
    ),
    OfferPurpose.GENERAL: (Measure("memory", "GiB/$", 100, 40.0, _memory_per_dollar),),
}
"""The parts of each workload; their points add up to 100."""


def parts_of(
    machine: Machine, gpu: Gpu, usd: float, workload: OfferPurpose
) -> tuple[ScorePart, ...]:
    """The parts of the score of a machine at a price."""
    return tuple(_part(m, machine, gpu, usd) for m in MEASURES[workload])


def _part(measure: Measure, machine: Machine, gpu: Gpu, usd: float) -> ScorePart:
    figure = measure.figure(machine, gpu, usd)
    if figure is None:
        return ScorePart(measure.name, measure.unit, None, 0.0, measure.most, "unknown")
    note = measure.note(machine)
    points = 0.0 if note else measure.most * min(1.0, figure / measure.reference)
    return ScorePart(measure.name, measure.unit, figure, points, measure.most, note)


STEADIEST = (
    Capacity.ON_DEMAND,
    Capacity.RESERVED,
    Capacity.SPOT,
    Capacity.FLEX_START,
    Capacity.BLOCK,
)
"""Without a requested capacity type, the first of these that the machine has sets the price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferRequest:
    """A request; None omits a condition."""

    workload: OfferPurpose = OfferPurpose.GENERAL
    gpu: Gpu | None = None
    memory_gib: int | None = None
    """Minimum memory of each GPU."""
    cloud: str | None = None
    capacity: Capacity | None = None
    """Capacity type, which also selects the price."""
    gpus: int | None = None
    """Minimum GPUs in one node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A machine with one capacity type, its score and the parts of the score."""

    machine: Machine
    gpu: Gpu
    capacity: Capacity
    """The capacity type of `price`."""
    price: Price | None
    """None means unknown as of `unknown_since`, not free."""
    score: float | None
    """Score from 0 to 100; None when the price is unknown."""
    parts: tuple[ScorePart, ...]
    unverified: tuple[str, ...]
    """Its unverified facts."""
    sources: tuple[Source, ...]
    """Sources of its facts, with dates."""

    @property
    def unknown_since(self) -> date | None:
        """The date on which no price was found."""
        return None if self.price else self.machine.source.checked_on


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a request, and how many machines meet it alone."""

    name: str
    requested: str
    matching_alone: int


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest offer without the named conditions, which are as few as possible."""

    dropped_condition: tuple[str, ...]
    best: Offer
    """The largest machine if a minimum size was dropped, else the best by score."""
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """The offers for a request, best first."""

    request: OfferRequest
    catalogue_size: int
    """Number of GPU machines in the catalogue."""
    conditions: tuple[Condition, ...]
    offers: tuple[Offer, ...]
    relaxed_offers: tuple[Nearest, ...]
    """Without offers: one for each smallest set of conditions to drop."""


def offers(wish: OfferRequest, machines: Mapping[str, Machine] = MACHINES) -> Offers:
    """Rank the machines that fit a request; when none does, find the nearest."""
    all_of_them = [m for m in machines.values() if m.is_gpu_machine]
    tests = _tests(wish)
    result = _ranked(all_of_them, tests, wish)
    return Offers(
        request=wish,
        catalogue_size=len(all_of_them),
        conditions=tuple(
            Condition(name, requested, sum(test(m) for m in all_of_them))
            for name, (requested, test) in tests.items()
        ),
        offers=result,
        relaxed_offers=() if result else _nearest(all_of_them, tests, wish),
    )


_Test = Callable[[Machine], bool]


def _tests(wish: OfferRequest) -> dict[str, tuple[str, _Test]]:
    """The conditions of a request by name: the requested value, and a test for a machine."""
    gpu, memory, cloud, capacity, gpus = (
        wish.gpu, wish.memory_gib, wish.cloud, wish.capacity, wish.gpus,
    )  # fmt: skip
    results: dict[str, tuple[str, _Test]] = {}
    if gpu is not None:
        results["gpu"] = (gpu.name, lambda m: m.gpu is not None and m.gpu.name == gpu.name)
    if memory is not None:
        results["memory-gib"] = (
            str(memory),
            lambda m: m.gpu is not None and gpu_memory_gib(m, m.gpu) >= memory,
        )
    if cloud is not None:
        results["cloud"] = (cloud, lambda m: m.cloud == cloud)
    if capacity is not None:
        results["capacity"] = (capacity.value, lambda m: capacity in m.sold)
    if gpus is not None:
        results["gpus"] = (str(gpus), lambda m: whole_gpus(m) >= gpus)
    return results


def _ranked(
    machines: Iterable[Machine], tests: Mapping[str, tuple[str, _Test]], wish: OfferRequest
) -> tuple[Offer, ...]:
    fitting = [m for m in machines if all(test(m) for _, test in tests.values())]
    return tuple(sorted((_offer(m, m.gpu, wish) for m in fitting if m.gpu), key=_order))


def _order(offer: Offer) -> tuple[bool, float, float, str]:
    """Sort key: best score, then lowest price, unknown prices last, then name."""
    return (
        offer.score is None,
        -(offer.score or 0.0),
        offer.price.high if offer.price else 0.0,
        offer.machine.name,
    )


def _offer(machine: Machine, gpu: Gpu, wish: OfferRequest) -> Offer:
    capacity = wish.capacity or next(c for c in STEADIEST if c in machine.sold)
    price = price_of(machine, capacity)
    parts = parts_of(machine, gpu, price.high, wish.workload) if price else ()
    facts = _facts(machine, gpu, price, wish.workload)
    return Offer(
        machine=machine,
        gpu=gpu,
        capacity=capacity,
        price=price,
        score=sum(p.points for p in parts) if price else None,
        parts=parts,
        unverified=tuple(name for name, source in facts if not source.verified),
        sources=tuple(dict.fromkeys(source for _, source in facts)),
    )


def price_of(machine: Machine, capacity: Capacity) -> Price | None:
    """The hourly price of a machine with a capacity type; None when unknown.

    Both clouds bill a reservation without commitment at list price. Capacity blocks have their own prices;
    those of flex-start are not published.
    """
    if capacity is Capacity.BLOCK:
        block = capacity_block(machine.name)
        return block.usd_per_hour if block else None
    if capacity is Capacity.SPOT:
        return machine.spot
    return machine.on_demand if capacity in {Capacity.ON_DEMAND, Capacity.RESERVED} else None


def _facts(
    machine: Machine, gpu: Gpu, price: Price | None, workload: OfferPurpose
) -> list[tuple[str, Source]]:
    """The facts of an offer, with the source of each."""
    results = [("machine", machine.source), ("GPU", gpu.source)]
    if price:
        results.append(("price", price.source))
    fabric = direct_fabric(machine)
    if workload is OfferPurpose.TRAINING and fabric:
        results.append(("fabric", fabric.source))
    if workload is OfferPurpose.INFERENCE and gpu.mig:
        results.append(("MIG slices", gpu.mig.source))
    return results


def _nearest(
    machines: list[Machine], tests: Mapping[str, tuple[str, _Test]], wish: OfferRequest
) -> tuple[Nearest, ...]:
    """The best offer for every smallest set of conditions to drop.

    When a minimum size is dropped, the largest machine comes first.
    """
    for size in range(1, len(tests) + 1):
        results: list[Nearest] = []
        for without in combinations(tests, size):
            retained = {name: test for name, test in tests.items() if name not in without}
            ranked = _ranked(machines, retained, _without(wish, without))
            if ranked:
                best = min(ranked, key=lambda offer: _below(offer, without))
                results.append(Nearest(without, best, len(ranked)))
        if results:
            return tuple(results)
    return ()


def _below(offer: Offer, without: tuple[str, ...]) -> list[float]:
    """How far an offer is below the dropped minimum sizes, for comparison."""
    sizes = {
        "memory-gib": gpu_memory_gib(offer.machine, offer.gpu),
        "gpus": whole_gpus(offer.machine),
    }
    return [-sizes[name] for name in without if name in sizes]


def _without(wish: OfferRequest, names: tuple[str, ...]) -> OfferRequest:
    """The request without the dropped capacity type; the machine's own capacity types then set the price."""
    return replace(wish, capacity=None) if "capacity" in names else wish
