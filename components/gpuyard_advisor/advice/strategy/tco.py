"""Total cost of owned GPUs a year, and the utilisation and months from which they cost less than a cloud.

Assumptions are ranges, so each result is one: the low end has the assumptions that make owning cheap. On-demand and
spot nodes are paid while they are used, commitments and owned GPUs all the time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuyard_advisor.advice.offers.offers import price_of
from gpuyard_advisor.advice.strategy.answers import AdvisedCloud, OwnedHardware
from gpuyard_core.catalogue.commitments import commitments_of, unpriced_of
from gpuyard_core.catalogue.gpus import GPUS, Gpu
from gpuyard_core.catalogue.machines import MACHINES, Capacity, Machine
from gpuyard_core.catalogue.regions import prices_in_region

HOURS = 8760
_MONTHS = 12
Ends = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudComparison:
    """Owned GPUs against one price of the nearest machine."""

    option: str
    usd_per_gpu_hour: float
    """List price for each GPU."""
    usd_per_used_gpu_hour: float
    """The same at the utilisation of the owned GPUs."""
    usd_per_year: float
    """For as many GPUs at the same utilisation."""
    break_even_percent: Ends | None
    """Utilisation from which owning costs less, low and high; above 100 it never does.

    None for a commitment, which is paid all the time as well: then compare the prices.
    """
    break_even_months: tuple[float | None, float | None]
    """Months after which the purchase is paid back, at the utilisation; None is never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedCost:
    """The cost of owned GPUs; pairs are low and high."""

    gpus: int
    utilisation_percent: float
    purchase_usd: float
    depreciation_usd: Ends
    """By year, as all of these; nothing once the hardware is older than its term."""
    power_usd: Ends
    operations_usd: Ends
    total_usd: Ends
    opportunity_usd: Ends
    """The part of the total that pays for unused GPU time."""
    usd_per_gpu_hour: Ends
    usd_per_used_gpu_hour: Ends
    machine: str
    """The nearest machine of a cloud; "" if none has a price."""
    gpu: str
    clouds: tuple[CloudComparison, ...]
    unpriced: tuple[str, ...]
    """Other ways to buy the machine, whose price is unknown."""


def owned_cost(owned: OwnedHardware, cloud: AdvisedCloud, region: str) -> OwnedCost:
    """The yearly cost of owned GPUs, compared with the nearest machine."""
    gpus = owned.nodes * owned.gpus_per_node
    purchase = gpus * owned.usd_per_gpu
    depreciation = _depreciation(owned, purchase)
    kwh = gpus * owned.watts_per_gpu / 1000 * HOURS
    power = (
        kwh * owned.pue[0] * owned.usd_per_kwh[0],
        kwh * owned.pue[1] * owned.usd_per_kwh[1],
    )
    operations = (
        purchase * owned.operations_percent[0] / 100,
        purchase * owned.operations_percent[1] / 100,
    )
    running = (power[0] + operations[0], power[1] + operations[1])
    total = (depreciation[0] + running[0], depreciation[1] + running[1])
    share = owned.utilisation_percent / 100
    hourly = (total[0] / (gpus * HOURS), total[1] / (gpus * HOURS))
    nearest = nearest_machine(GPUS[owned.gpu], cloud, region)
    return OwnedCost(
        gpus=gpus,
        utilisation_percent=owned.utilisation_percent,
        purchase_usd=purchase,
        depreciation_usd=depreciation,
        power_usd=power,
        operations_usd=operations,
        total_usd=total,
        opportunity_usd=(total[0] * (1 - share), total[1] * (1 - share)),
        usd_per_gpu_hour=hourly,
        usd_per_used_gpu_hour=(hourly[0] / share, hourly[1] / share),
        machine=nearest.name if nearest else "",
        gpu=nearest.gpu.name if nearest and nearest.gpu else "",
        clouds=tuple(
            _compare(name, usd / nearest.gpus, committed, gpus, share, hourly, purchase, running)
            for name, usd, committed in _prices(nearest)
        )
        if nearest
        else (),
        unpriced=tuple(_unpriced(nearest)) if nearest else (),
    )


def _depreciation(owned: OwnedHardware, purchase: float) -> Ends:
    """Straight-line over the term; hardware older than the term costs nothing more."""
    ends = [
        purchase / years if owned.age_years < years else 0.0 for years in owned.depreciation_years
    ]
    return min(ends), max(ends)


def nearest_machine(gpu: Gpu, cloud: AdvisedCloud, region: str) -> Machine | None:
    """The machine with this GPU at the lowest on-demand price for each GPU, else one with as much memory."""
    candidates = [
        prices_in_region(machine, region if machine.cloud == cloud else None)
        for machine in MACHINES.values()
        if machine.gpu is not None
        and machine.gpu_fraction == 1
        and machine.gpu.memory_gib >= gpu.memory_gib
        and (cloud is AdvisedCloud.NONE or machine.cloud == cloud)
    ]
    return min(
        (machine for machine in candidates if machine.on_demand),
        key=lambda m: (
            m.gpu is None or m.gpu.name != gpu.name,
            m.gpu.memory_gib if m.gpu and m.gpu.name != gpu.name else 0,
            m.on_demand.high / m.gpus if m.on_demand else 0,
        ),
        default=None,
    )


def _prices(machine: Machine) -> list[tuple[str, float, bool]]:
    """Name, dollars an hour, and whether it is paid all the time."""
    results = [
        (capacity.value, price.high, False)
        for capacity in (Capacity.ON_DEMAND, Capacity.SPOT)
        if (price := price_of(machine, capacity))
    ]
    return results + [
        (each.named, each.usd_per_hour.high, True)
        for each in commitments_of(machine.name)
        if each.years and each.region == machine.region
    ]


def _unpriced(machine: Machine) -> Iterator[str]:
    if Capacity.SPOT in machine.sold and machine.spot is None:
        yield Capacity.SPOT.value
    yield from (each.named for each in unpriced_of(machine.name) if each.years)


def _compare(  # noqa: PLR0913, PLR0917  the terms of one formula
    option: str,
    usd: float,
    committed: bool,  # noqa: FBT001
    gpus: int,
    share: float,
    hourly: Ends,
    purchase: float,
    running: Ends,
) -> CloudComparison:
    paid = 1.0 if committed else share
    yearly = usd * gpus * HOURS * paid
    return CloudComparison(
        option=option,
        usd_per_gpu_hour=usd,
        usd_per_used_gpu_hour=usd * paid / share,
        usd_per_year=yearly,
        break_even_percent=None if committed else (100 * hourly[0] / usd, 100 * hourly[1] / usd),
        break_even_months=(
            _months(purchase, yearly - running[0]),
            _months(purchase, yearly - running[1]),
        ),
    )


def _months(purchase: float, saved_a_year: float) -> float | None:
    return _MONTHS * purchase / saved_a_year if saved_a_year > 0 else None
