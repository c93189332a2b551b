"""What a pod with one share finds: devices, memory, and who runs beside it."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException

from gpuyard_validator.load.card import Broke, Card, NoLibrary
from gpuyard_validator.shares.record import Seen, Wanted
from gpuyard_validator.snapshot import Gpu, Reader
from gpuyard_validator.together import Ask
from gpuyard_validator.values import UNASKED, Answer, Missing, Why

MIB = 1 << 20
PAUSE_SECONDS = 2.0
HOLD = 5
"""So many looks after all have come: one too many would be seen."""
_NO_MEMORY = 2
"""CUDA_ERROR_OUT_OF_MEMORY."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """By what it is found out."""

    reader: Reader
    card: Callable[[], Card]
    ask: Ask | None
    """The Job of this pod; None for one that runs alone."""
    seconds: float
    """For so long it waits for the others."""
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def find_out(wanted: Wanted, means: Means) -> Seen:
    """All of it; what cannot be found out is missing, with the reason.

    Raises:
        CannotRead: no driver answers.
    """
    machine = means.reader.read()
    within, beyond = _memory(wanted, means.card)
    most, late = _beside(wanted, means)
    return Seen(
        node=machine.node,
        devices=_devices(machine.gpus),
        together=most,
        late=late,
        within=within,
        beyond=beyond,
    )


def _devices(gpus: Iterable[Gpu]) -> Answer[int]:
    """A GPU that is cut is as many devices as this pod has slices of it."""
    count = 0
    for gpu in gpus:
        if gpu.mig_current is not True:
            count += 1
        elif isinstance(gpu.instances, Missing):
            return gpu.instances
        else:
            count += len(gpu.instances)
    return count


def _memory(wanted: Wanted, made: Callable[[], Card]) -> tuple[Answer[bool], Answer[bool]]:
    """Half of the share, and then an eighth more than all of it."""
    if wanted.memory_mib is None:
        return UNASKED, UNASKED
    try:
        card = made()
    except (NoLibrary, Broke) as problem:
        missing = Missing(Why.FAILED, str(problem))
        return missing, missing
    whole = wanted.memory_mib * MIB
    return _allocated(card, whole // 2), _allocated(card, whole + whole // 8)


def _allocated(card: Card, size: int) -> Answer[bool]:
    """Whether so much is to be had; another error says nothing of memory."""
    try:
        card.device(size)
    except Broke as problem:
        return False if problem.code == _NO_MEMORY else Missing(Why.FAILED, str(problem))
    finally:
        with suppress(Broke):
            card.free()
    return True


def _beside(wanted: Wanted, means: Means) -> tuple[Answer[int], Answer[bool]]:
    """The most that ran at once, and whether some had ended before."""
    if means.ask is None:
        alone = Missing(Why.UNASKED, "no Job is named")
        return alone, alone
    late: bool | None = None
    most, held = 0, 0
    silent = Missing(Why.FAILED, "there was no time to ask the Job")
    until = means.clock() + means.seconds
    while held < HOLD and means.clock() < until:
        try:
            status = means.ask().get("status") or {}
        except (OSError, ValueError, HTTPException) as problem:
            silent = Missing(Why.FAILED, f"the Job cannot be asked: {problem}")
            means.pause(PAUSE_SECONDS)
            continue
        ended, ready = (int(status.get(key) or 0) for key in ("succeeded", "ready"))
        # A Job counts late: who ends well has seen all at once, so whoever still has not began after that.
        late = bool(late) or (ended > 0 and most < wanted.at_once)
        most = max(most, ready)
        held += late or most >= wanted.at_once or ended > 0
        means.pause(PAUSE_SECONDS)
    return (silent, silent) if late is None else (most, late)
