"""Fewest partitioned GPUs for services with a rate and a latency objective.

A service runs replicas on slices, each with the throughput that was measured for its profile. The layouts of the
GPUs and the replicas of each service are one integer program, so no fewer GPUs exist for these measurements.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpuyard_advisor.advice.packing.slices import PartitionedGpus, full_layouts
from gpuyard_advisor.advice.packing.solver import UNBOUNDED, IntegerProgram, solve
from gpuyard_core.catalogue.mig import MigProduct


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredReplica:
    """One measurement of a service on a slice: batch size and processes are the caller's choice."""

    profile: str
    throughput: float
    """Requests per second."""
    latency_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDemand:
    """A service and the best throughput of a replica by profile."""

    name: str
    rate: float
    """Requests per second."""
    throughput: Mapping[str, float]


def best_throughput(
    measured: Iterable[MeasuredReplica], latency_below_ms: float
) -> Mapping[str, float]:
    """The highest throughput by profile among the measurements below a latency."""
    best: dict[str, float] = {}
    for each in measured:
        if each.latency_ms < latency_below_ms:
            best[each.profile] = max(best.get(each.profile, 0.0), each.throughput)
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingPacking:
    """GPUs and replicas for a set of services."""

    partitions: tuple[PartitionedGpus, ...]
    replicas: Mapping[str, Mapping[str, int]]
    """Replicas by service and profile."""
    bound: float
    """Lower bound of the number of GPUs."""
    proved: bool
    """Whether the search finished: fewer GPUs are impossible."""

    @property
    def gpus(self) -> int:
        """Number of partitioned GPUs."""
        return sum(partition.gpus for partition in self.partitions)


def pack_services(
    product: MigProduct, services: Sequence[ServiceDemand], max_nodes: int = 2000
) -> ServingPacking | None:
    """The fewest GPUs for all services; None if a service has no replica that meets its objective."""
    if any(not service.throughput for service in services):
        return None
    layouts = full_layouts(product)
    profiles = [profile.name for profile in product.profiles if not profile.variant]
    columns: list[dict[int, int | float]] = [
        {profiles.index(name): count for name, count in layout.items()} for layout in layouts
    ]
    choices = [
        (row, name)
        for row, service in enumerate(services)
        for name in profiles
        if service.throughput.get(name)
    ]
    columns += [
        {profiles.index(name): -1, len(profiles) + row: services[row].throughput[name]}
        for row, name in choices
    ]
    result = solve(
        IntegerProgram(
            costs=[1.0] * len(layouts) + [0.0] * len(choices),
            columns=columns,
            at_least=[0.0] * len(profiles) + [service.rate for service in services],
            at_most=[UNBOUNDED] * (len(profiles) + len(services)),
            most=[UNBOUNDED] * len(columns),
            max_nodes=max_nodes,
        )
    )
    if result is None:
        return None
    counts = result.counts
    replicas: dict[str, dict[str, int]] = {service.name: {} for service in services}
    for (row, name), count in zip(choices, counts[len(layouts) :], strict=True):
        if count:
            replicas[services[row].name][name] = count
    return ServingPacking(
        partitions=tuple(
            PartitionedGpus(layout, count)
            for layout, count in zip(layouts, counts[: len(layouts)], strict=True)
            if count
        ),
        replicas=replicas,
        bound=result.bound,
        proved=result.proved,
    )
