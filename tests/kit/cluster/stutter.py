"""A simulated cluster whose parts stand still now and then: what a busy machine does to a test, on purpose.

`GPUYARD_STUTTER=7 pytest tests/cluster` stops one part after the other for up to three seconds and lets it
go on, chosen by that number. A test that reads once what another part has yet to write fails here, and not
some day in CI. Tests that measure time fail here too, and rightly.
"""

import contextlib
import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from gpuyard.simulate import processes

QUICK = ("etcd", "kube-apiserver")
"""Nothing goes on without these, so they stand still for a moment only."""
MOST_SECONDS = {True: 0.4, False: 3.0}


@contextlib.contextmanager
def stuttering(homes: Path, chance: random.Random) -> Iterator[None]:
    """While this lasts, one of the parts of the clusters below this folder often stands still."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(chance.uniform(0, 0.5)):
            if parts := _parts(homes):
                _stand_still(chance.choice(parts), chance, over)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _parts(homes: Path) -> list[Path]:
    """In /proc, what belongs to a cluster below this folder: our own, and those that kwokctl starts."""
    marks = [f"{name}={homes}/".encode() for name in (processes.MARK, "KWOK_WORKDIR")]
    results = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(mark in (folder / "environ").read_bytes() for mark in marks):
                results.append(folder)
    return results


def _stand_still(part: Path, chance: random.Random, over: threading.Event) -> None:
    with contextlib.suppress(OSError):
        name = (part / "exe").resolve().name
        os.kill(int(part.name), signal.SIGSTOP)
        try:
            over.wait(chance.uniform(0.1, MOST_SECONDS[name in QUICK]))
        finally:
            os.kill(int(part.name), signal.SIGCONT)
