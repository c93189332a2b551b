"""What a volume is held to: that there is something to read, and that it is read fast enough."""

from collections.abc import Mapping

from gpuyard_validator.results import Action, Evidence, Report, Result, Status
from gpuyard_validator.values import UNASKED, Missing
from gpuyard_validator.volumes.record import Reading, Seen, Wanted

READ = "storage.read"
VOLUMES: Mapping[str, tuple[str, str]] = {
    READ: (
        "a volume is read more slowly than its floor, or there is nothing to read",
        "look at how the store is sold, what else reads it now, and the node's way to it; fill what is empty",
    )
}


def judge(wanted: Wanted, seen: Seen) -> Report:
    """The report of one pod."""
    return Report(
        node=seen.node,
        pool=wanted.pool,
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
            for one in wanted.readings
        ),
    )


def _evidence(one: Reading, seen: Seen) -> Evidence:
    """What could not be read has not run, and counts against it."""
    found = seen.reads.get(one.name, UNASKED)
    if isinstance(found, Missing):
        reason = f"not run: {found.detail or found}"
        return Evidence(status=Status.SKIP, value=None, floor=None, source="", reason=reason)
    slow = found < one.floor_mb_per_s
    return Evidence(
        status=Status.FAIL if slow else Status.PASS,
        value=round(found, 1),
        floor=one.floor_mb_per_s,
        source=one.source,
        unit="MB/s",
        reason="it is read more slowly than its floor" if slow else "",
        action=Action.LOOK if slow else Action.NONE,
    )
