"""Checks of a volume: it has data, and is read fast enough."""

from collections.abc import Mapping

from gpuyard_validator.results import Action, Evidence, Report, Result, Status
from gpuyard_validator.values import NOT_QUERIED, Missing
from gpuyard_validator.volumes.record import Reading, VolumeExpectations, VolumeObservation

READ = "storage.read"
VOLUMES: Mapping[str, tuple[str, str]] = {
    READ: (
        "a volume is empty, or is read more slowly than its threshold",
        "check the store's provisioned throughput, its other readers and the node's network; fill an empty volume",
    )
}


def judge(expected: VolumeExpectations, seen: VolumeObservation) -> Report:
    """The report of one pod."""
    return Report(
        node=seen.node,
        pool=expected.pool,
        source="volumes",
        driver="",
        required=True,
        results=tuple(
            Result(
                check=READ,
                scope=one.name,
                required=True,
                evidence=_evidence(one, seen),
                figure=f"{READ}.{one.name}",
            )
            for one in expected.readings
        ),
    )


def _evidence(one: Reading, seen: VolumeObservation) -> Evidence:
    """A volume that cannot be read counts as failed."""
    result = seen.reads.get(one.name, NOT_QUERIED)
    if isinstance(result, Missing):
        reason = f"not run: {result.detail or result}"
        return Evidence(status=Status.SKIP, value=None, threshold=None, source="", reason=reason)
    slow = result < one.threshold_mb_per_s
    return Evidence(
        status=Status.FAIL if slow else Status.PASS,
        value=round(result, 1),
        threshold=one.threshold_mb_per_s,
        source=one.source,
        unit="MB/s",
        reason="the read rate is below its threshold" if slow else "",
        action=Action.INVESTIGATE if slow else Action.NONE,
    )
