"""How fast a volume is read: its largest files, by several streams, past what the node has in its memory.

What a node has read before stands in its memory, and says nothing of the store. So files are read directly;
where a file system knows no such way, the kernel is asked to forget them first.
"""

import fcntl
import mmap
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from pathlib import Path

from gpuyard_validator.values import Answer, Missing, MissingReason
from gpuyard_validator.volumes.record import Reading, VolumeExpectations, VolumeObservation

BLOCK = 8 << 20
STREAMS = 8
READ_BYTES, READ_SECONDS = 4 << 30, 20.0
"""Of one volume and pass, at most."""
LEAST_FILE, LEAST_BYTES = 1 << 20, 256 << 20
"""Smaller files say how fast names are looked up; less than that, how fast a file is opened."""
NAMES, LIST_SECONDS = 2000, 20.0
"""So much of a volume is looked at: a bucket may have millions of names."""
PASSES = 2
"""What a store has to fetch first from elsewhere is fast the second time alone."""
PATIENCE_SECONDS = 60.0
"""Beyond what it takes: a mount whose server is gone answers never."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class FileRange:
    """Some bytes of a file that follow each other."""

    path: Path
    begin: int
    size: int


def measure_volumes(
    expected: VolumeExpectations, node: str, clock: Clock = time.monotonic
) -> VolumeObservation:
    """All volumes, one after the other; what cannot be read is missing, with the reason."""
    patience = LIST_SECONDS + PASSES * READ_SECONDS + PATIENCE_SECONDS
    reads = {one.name: in_time(partial(speed, one, clock), patience) for one in expected.readings}
    return VolumeObservation(node=node, reads=reads)


def in_time(work: Callable[[], Answer[float]], seconds: float) -> Answer[float]:
    """What it comes to; a thread that never comes back is left behind."""
    results: list[Answer[float]] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(seconds)
    return results[0] if results else _missing(f"it has not answered for {seconds:.0f} s")


def speed(one: Reading, clock: Clock) -> Answer[float]:
    """MB/s of the first pass, or of the next where that is faster and needed."""
    try:
        pieces = pieces_of(Path(one.path), clock)
        if isinstance(pieces, Missing):
            return pieces
        best = 0.0
        for _ in range(PASSES):
            best = max(best, _pass(pieces, clock))
            if best >= one.threshold_mb_per_s:
                break
    except OSError as problem:
        return _missing(f"it cannot be read: {problem.strerror or problem}")
    return best


def pieces_of(volume: Path, clock: Clock) -> Answer[list[list[FileRange]]]:
    """What each stream reads, one behind the other."""
    sizes = list(_sizes(volume, clock))
    if not sizes:
        return _missing("it is empty")
    large = sorted(((path, size) for path, size in sizes if size >= LEAST_FILE), key=_by_size)
    available = sum(size for _, size in large)
    if available < LEAST_BYTES:
        return _missing(
            f"of its first {len(sizes)} files those of {LEAST_FILE >> 20} MiB and more come to"
            f" {available >> 20} MiB, and at least {LEAST_BYTES >> 20} are needed to tell"
        )
    blocks = list(_blocks(large))
    each = -(-len(blocks) // STREAMS)
    return [blocks[begin : begin + each] for begin in range(0, len(blocks), each)]


def _by_size(file: tuple[Path, int]) -> tuple[int, Path]:
    return -file[1], file[0]


def _sizes(volume: Path, clock: Clock) -> Iterator[tuple[Path, int]]:
    """The first files of the volume with their sizes, as far as one gets in time.

    Raises:
        OSError: the volume itself cannot be looked at.
    """
    with os.scandir(volume):
        until = clock() + LIST_SECONDS
    for entry in islice(_files(volume), NAMES):
        if clock() > until:
            return
        with suppress(OSError):
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path), entry.stat(follow_symlinks=False).st_size


def _files(volume: Path) -> "Iterator[os.DirEntry[str]]":
    """One name after the other: a folder may have more than anybody wants to list."""
    waiting = [str(volume)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry


def _blocks(files: Iterable[tuple[Path, int]]) -> Iterator[FileRange]:
    remaining = READ_BYTES
    for path, size in files:
        for begin in range(0, size, BLOCK):
            if remaining <= 0:
                return
            piece = FileRange(path, begin, min(BLOCK, size - begin))
            remaining -= piece.size
            yield piece


def _pass(streams: list[list[FileRange]], clock: Clock) -> float:
    """MB/s of all streams together.

    Raises:
        OSError: one of them could not read.
    """
    began = clock()
    until, done, problems = began + READ_SECONDS, list[int](), list[OSError]()

    def stream(pieces: list[FileRange]) -> None:
        try:
            done.append(_read(pieces, until, clock))
        except OSError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=stream, args=(each,), daemon=True) for each in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return sum(done) / max(clock() - began, 1e-9) / 1e6


def _read(pieces: list[FileRange], until: float, clock: Clock) -> int:
    """Bytes that were read before the time was over, of one piece at least.

    Raises:
        OSError: a file cannot be read.
    """
    done, buffer = 0, mmap.mmap(-1, BLOCK)  # it begins on a page, as reading directly needs it
    for path, of_file in groupby(pieces, key=lambda piece: piece.path):
        with _opened(path, buffer) as file:
            for piece in of_file:
                if done and clock() > until:
                    return done
                done += os.preadv(file, [buffer], piece.begin)
    return done


@contextmanager
def _opened(path: Path, buffer: mmap.mmap) -> Generator[int]:
    """Directly where the file system can; else the kernel forgets what it has of the file."""
    file = os.open(path, os.O_RDONLY)
    try:
        if not _direct(file, buffer):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        yield file
    finally:
        os.close(file)


def _direct(file: int, buffer: mmap.mmap) -> bool:
    """Whether it is read directly from now on; a file system may take the flag and then refuse to read."""
    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    try:
        fcntl.fcntl(file, fcntl.F_SETFL, flags | os.O_DIRECT)
        os.preadv(file, [memoryview(buffer)[: mmap.PAGESIZE]], 0)
    except OSError:
        fcntl.fcntl(file, fcntl.F_SETFL, flags)
        return False
    return True


def _missing(detail: str) -> Missing:
    return Missing(MissingReason.FAILED, detail)
