"""Offers: the machines of the catalogue that fit a wish, ranked for a workload.

A pure function of the catalogue and the wish. An offer whose price is unknown comes last, without a
score. When nothing fits, the answer says what each condition leaves alone and which to give up first.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations

from gpuyard.advice.offers.scores import (
    OfferPurpose,
    ScorePart,
    gpu_memory_gib,
    parts_of,
    whole_gpus,
)
from gpuyard.catalogue.commitments import capacity_block
from gpuyard.catalogue.fabric import direct_fabric
from gpuyard.catalogue.gpus import Gpu
from gpuyard.catalogue.machines import MACHINES, Capacity, Machine, Price
from gpuyard.catalogue.sources import Source

STEADIEST = (
    Capacity.ON_DEMAND,
    Capacity.RESERVED,
    Capacity.SPOT,
    Capacity.FLEX_START,
    Capacity.BLOCK,
)
"""Without a wish for one, an offer is priced the first of these ways that the machine is sold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferRequest:
    """What is looked for; None leaves a condition out."""

    workload: OfferPurpose = OfferPurpose.GENERAL
    gpu: Gpu | None = None
    memory_gib: int | None = None
    """At least so much memory on each GPU."""
    cloud: str | None = None
    capacity: Capacity | None = None
    """Sold this way, and priced this way."""
    gpus: int | None = None
    """At least so many GPUs in one node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A machine bought in one way, with its score and what the score is made of."""

    machine: Machine
    gpu: Gpu
    capacity: Capacity
    """The way of buying that `price` is for."""
    price: Price | None
    """None is unknown as of `unknown_since`, never free."""
    score: float | None
    """Points of a hundred; None when the price is unknown."""
    parts: tuple[ScorePart, ...]
    unverified: tuple[str, ...]
    """Which of its facts nobody verified."""
    sources: tuple[Source, ...]
    """Where its facts come from, and of what day."""

    @property
    def unknown_since(self) -> date | None:
        """The day on which its price was looked for and not found."""
        return None if self.price else self.machine.source.checked_on


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a wish, and how many machines meet it when it stands alone."""

    name: str
    requested: str
    matching_alone: int


@dataclass(frozen=True, slots=True)
class Nearest:
    """What there is when the named conditions are given up: as few as possible."""

    dropped_condition: tuple[str, ...]
    best: Offer
    """Without a least size the largest, else the best by score."""
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """The answer to a wish, best first."""

    request: OfferRequest
    catalogue_size: int
    """GPU machines there are to choose from."""
    conditions: tuple[Condition, ...]
    offers: tuple[Offer, ...]
    nearest: tuple[Nearest, ...]
    """When there is no offer: one for each smallest set of conditions that hides some."""


def offers(wish: OfferRequest, machines: Mapping[str, Machine] = MACHINES) -> Offers:
    """Rank the machines that fit a wish; when none does, say why and what is nearest."""
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
        nearest=() if result else _nearest(all_of_them, tests, wish),
    )


_Test = Callable[[Machine], bool]


def _tests(wish: OfferRequest) -> dict[str, tuple[str, _Test]]:
    """The conditions a wish has, by name: as it was asked, and whether a machine meets it."""
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
    """Best score first, then the cheaper; unknown prices last; names decide what is left."""
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
    """What one machine costs an hour, bought this way; None when nobody has said.

    Both clouds bill a reservation that is not a commitment at the list price. Capacity blocks have prices of
    their own; those of flex-start nobody publishes.
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
    """What an offer rests on, in words, with the source of each."""
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
    """For every smallest set of conditions without which there is an offer: the best there is then.

    Of a least size that is given up, the largest there is comes first.
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
    """How far an offer is below the least sizes that are given up, for comparing offers."""
    sizes = {
        "memory-gib": gpu_memory_gib(offer.machine, offer.gpu),
        "gpus": whole_gpus(offer.machine),
    }
    return [-sizes[name] for name in without if name in sizes]


def _without(wish: OfferRequest, names: tuple[str, ...]) -> OfferRequest:
    """The wish without a way of buying when that is given up: prices are then those of what is sold."""
    return replace(wish, capacity=None) if "capacity" in names else wish
