"""Checks of a volume: it has data, and is read fast enough."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpuyard_validator.checks.check import check, evaluate, skipped
from gpuyard_validator.results import Evidence, Report
from gpuyard_validator.run import result_of
from gpuyard_validator.values import NOT_QUERIED, Answer, Malformed, Missing, decode, parsed_as

SCHEMA = "gpuyard.dev/volumes/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A volume, and the minimum read rate of one node."""

    name: str
    path: str
    threshold_mb_per_s: float
    """10^6 bytes a second."""
    source: str
    """Source of the minimum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeExpectations:
    """All volumes that a node of a pool reads."""

    schema: str
    pool: str
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeObservation:
    """The measurements."""

    node: str
    reads: Mapping[str, Answer[float]]
    """MB/s by volume; the reason where it could not be read."""


def read_expectations(text: str) -> VolumeExpectations:
    """The expectations of a document.

    Raises:
        Malformed: it is invalid or empty.
    """
    result: VolumeExpectations = decode(VolumeExpectations, parsed_as(SCHEMA, text, "volumes"))
    if not result.readings:
        raise Malformed("readings: must have at least one")
    return result


READ = "storage.read"


def read_rate(one: Reading, seen: VolumeObservation) -> Evidence:
    """A volume that cannot be read counts as failed."""
    result = seen.reads.get(one.name, NOT_QUERIED)
    if isinstance(result, Missing):
        return skipped(f"not run: {result.detail or result}")
    threshold = one.threshold_mb_per_s
    wrong = "the read rate is below its threshold" if result < threshold else ""
    return evaluate(round(result, 1), threshold, one.source, wrong, unit="MB/s")


VOLUMES = {READ: check(READ, read_rate)}


def judge(expected: VolumeExpectations, seen: VolumeObservation) -> Report:
    """The report of one pod."""
    return Report(
        node=seen.node,
        pool=expected.pool,
        source="volumes",
        driver="",
        required=True,
        results=tuple(
            replace(
                result_of(VOLUMES[READ], one.name, one, seen, must=True),
                figure=f"{READ}.{one.name}",
            )
            for one in expected.readings
        ),
    )
