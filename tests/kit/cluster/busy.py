"""How busy the machine is while something is measured, so that a limit can be that of an idle machine."""

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PIECE = 0.02
"""Seconds of work, every half a second: 4 % of one core."""


@contextmanager
def busy() -> Iterator[Callable[[], float]]:
    """How many times longer work took meanwhile than on an idle core; read it afterwards.

    If two cores do nothing but the measured work, that is little more than 1.
    """
    looks: list[float] = []
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(looks, done))
    watch.start()
    try:
        yield lambda: max(1.0, statistics.fmean(looks)) if looks else 1.0
    finally:
        done.set()
        watch.join()


def _watch(looks: list[float], done: threading.Event) -> None:
    while not done.wait(0.5):
        wall, cpu = time.monotonic(), time.thread_time()
        while time.thread_time() - cpu < _PIECE:
            pass
        looks.append((time.monotonic() - wall) / _PIECE)
