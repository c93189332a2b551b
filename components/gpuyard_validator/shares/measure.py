"""Measures one share: visible devices, allocatable memory, and pods that run at the same time."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException

from gpuyard_validator.load.cuda import CardError, CudaCard, NoLibrary
from gpuyard_validator.rendezvous import Ask
from gpuyard_validator.shares.checks import ShareExpectations, ShareObservation
from gpuyard_validator.snapshot import Gpu, Snapshot
from gpuyard_validator.values import NOT_QUERIED, Answer, Missing, MissingReason

MIB = 1 << 20
PAUSE_SECONDS = 2.0
HOLD = 5
"""Number of polls after all pods run: an extra pod would appear."""
_NO_MEMORY = 2
"""CUDA_ERROR_OUT_OF_MEMORY."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeInputs:
    """Sources of the measurement."""

    machine: Callable[[], Snapshot]
    card: Callable[[], CudaCard]
    ask: Ask | None
    """The Job of this pod; None for a single pod."""
    seconds: float
    """Seconds to wait for the other pods."""
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def measure_share(expected: ShareExpectations, means: ProbeInputs) -> ShareObservation:
    """All measurements; a value that cannot be measured is missing, with the reason.

    Raises:
        CannotRead: no driver responds.
    """
    machine = means.machine()
    within, beyond = _memory(expected, means.card)
    most, late = _concurrent_pods(expected, means)
    return ShareObservation(
        node=machine.node,
        devices=_devices(machine.gpus),
        together=most,
        waited=late,
        within=within,
        beyond=beyond,
    )


def _devices(gpus: Iterable[Gpu]) -> Answer[int]:
    """A partitioned GPU counts as one device for each slice of this pod."""
    count = 0
    for gpu in gpus:
        if gpu.mig_current is not True:
            count += 1
        elif isinstance(gpu.instances, Missing):
            return gpu.instances
        else:
            count += len(gpu.instances)
    return count


def _memory(
    expected: ShareExpectations, open_card: Callable[[], CudaCard]
) -> tuple[Answer[bool], Answer[bool]]:
    """Half of the share, then one eighth more than all of it."""
    if expected.memory_mib is None:
        return NOT_QUERIED, NOT_QUERIED
    try:
        card = open_card()
    except (NoLibrary, CardError) as problem:
        missing = Missing(MissingReason.FAILED, str(problem))
        return missing, missing
    share_bytes = expected.memory_mib * MIB
    return _allocated(card, share_bytes // 2), _allocated(card, share_bytes + share_bytes // 8)


def _allocated(card: CudaCard, size: int) -> Answer[bool]:
    """Whether it can be allocated; an error other than out-of-memory is no answer."""
    try:
        card.device(size)
    except CardError as problem:
        return False if problem.code == _NO_MEMORY else Missing(MissingReason.FAILED, str(problem))
    finally:
        with suppress(CardError):
            card.free()
    return True


def _concurrent_pods(
    expected: ShareExpectations, means: ProbeInputs
) -> tuple[Answer[int], Answer[bool]]:
    """The most pods that ran at once, and whether some had ended before."""
    if means.ask is None:
        alone = Missing(MissingReason.UNASKED, "no Job was given")
        return alone, alone
    late: bool | None = None
    most, ended_polls = 0, 0
    silent = Missing(MissingReason.FAILED, "no time was left to read the Job")
    until = means.clock() + means.seconds
    while ended_polls < HOLD and means.clock() < until:
        try:
            status = means.ask().get("status") or {}
        except (OSError, ValueError, HTTPException) as problem:
            silent = Missing(MissingReason.FAILED, f"cannot read the Job: {problem}")
            means.pause(PAUSE_SECONDS)
            continue
        ended, ready = (int(status.get(key) or 0) for key in ("succeeded", "ready"))
        # Job status lags: a pod that passes has seen all at once, so a pod still missing started later.
        late = bool(late) or (ended > 0 and most < expected.at_once)
        most = max(most, ready)
        ended_polls += late or most >= expected.at_once or ended > 0
        means.pause(PAUSE_SECONDS)
    return (silent, silent) if late is None else (most, late)
