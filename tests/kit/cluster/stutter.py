"""A simulated cluster whose parts pause now and then: it simulates a busy machine.

`GPUYARD_STUTTER=7 pytest tests/cluster` pauses one part after the other for up to three seconds, chosen by
that seed. A test that reads a value once before another part has written it fails here, instead of
occasionally in CI. Tests that measure time also fail here, rightly.
"""

import contextlib
import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from gpuyard_simulate import processes

QUICK = ("etcd", "kube-apiserver")
"""Everything depends on these, so they pause only briefly."""
MOST_SECONDS = {True: 0.4, False: 3.0}


@contextlib.contextmanager
def stuttering(homes: Path, chance: random.Random) -> Iterator[None]:
    """Pause random parts of the clusters below this folder until the block ends."""
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
    """Processes in /proc of a cluster below this folder: gpuyard's, and those that kwokctl starts."""
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
