"""Read rate of a volume: its largest files, in several streams, bypassing the node's page cache.

Cached data does not measure the store. So files are read with direct I/O; where a file system does not
support it, the kernel drops its cache of them first.
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
from gpuyard_validator.volumes.checks import Reading, VolumeExpectations, VolumeObservation

BLOCK = 8 << 20
STREAMS = 8
READ_BYTES, READ_SECONDS = 4 << 30, 20.0
"""Time limit of one volume and pass."""
LEAST_FILE, LEAST_BYTES = 1 << 20, 256 << 20
"""Minimum file size, and minimum total: smaller ones measure lookups and opens instead."""
NAMES, LIST_SECONDS = 2000, 20.0
"""Maximum number of files that are listed: a bucket may have millions."""
PASSES = 2
"""Stores that fetch data from elsewhere first are only fast in the second pass."""
PATIENCE_SECONDS = 60.0
"""Grace period: a mount whose server is gone never answers."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range of bytes of a file."""

    path: Path
    begin: int
    size: int


def measure_volumes(
    expected: VolumeExpectations, node: str, clock: Clock = time.monotonic
) -> VolumeObservation:
    """All volumes, one after the other; a volume that cannot be read is missing, with the reason."""
    patience = LIST_SECONDS + PASSES * READ_SECONDS + PATIENCE_SECONDS
    reads = {one.name: in_time(partial(speed, one, clock), patience) for one in expected.readings}
    return VolumeObservation(node=node, reads=reads)


def in_time(work: Callable[[], Answer[float]], seconds: float) -> Answer[float]:
    """The rate; a thread that never returns is abandoned."""
    results: list[Answer[float]] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(seconds)
    return results[0] if results else _missing(f"no answer for {seconds:.0f} s")


def speed(one: Reading, clock: Clock) -> Answer[float]:
    """MB/s of the first pass, or of the second where it is faster and needed."""
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
        return _missing(f"cannot be read: {problem.strerror or problem}")
    return best


def pieces_of(volume: Path, clock: Clock) -> Answer[list[list[FileRange]]]:
    """The ranges of each stream, in order."""
    sizes = list(_sizes(volume, clock))
    if not sizes:
        return _missing("the volume is empty")
    large = sorted(((path, size) for path, size in sizes if size >= LEAST_FILE), key=_by_size)
    available = sum(size for _, size in large)
    if available < LEAST_BYTES:
        return _missing(
            f"of its first {len(sizes)} files, those of at least {LEAST_FILE >> 20} MiB have"
            f" {available >> 20} MiB in total; a measurement needs {LEAST_BYTES >> 20} MiB"
        )
    blocks = list(_blocks(large))
    each = -(-len(blocks) // STREAMS)
    return [blocks[begin : begin + each] for begin in range(0, len(blocks), each)]


def _by_size(file: tuple[Path, int]) -> tuple[int, Path]:
    return -file[1], file[0]


def _sizes(volume: Path, clock: Clock) -> Iterator[tuple[Path, int]]:
    """The first files of the volume with their sizes, within the time limit.

    Raises:
        OSError: the volume cannot be listed.
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
    """Names one by one: a folder may have too many to list."""
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
        OSError: a stream could not read.
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
    """Bytes read within the time limit, at least one range.

    Raises:
        OSError: a file cannot be read.
    """
    done, buffer = 0, mmap.mmap(-1, BLOCK)  # starts at a page boundary, as direct I/O requires
    for path, of_file in groupby(pieces, key=lambda piece: piece.path):
        with _opened(path, buffer) as file:
            for piece in of_file:
                if done and clock() > until:
                    return done
                done += os.preadv(file, [buffer], piece.begin)
    return done


@contextmanager
def _opened(path: Path, buffer: mmap.mmap) -> Generator[int]:
    """Direct I/O where the file system supports it; otherwise the kernel drops its cache of the file."""
    file = os.open(path, os.O_RDONLY)
    try:
        if not _direct(file, buffer):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        yield file
    finally:
        os.close(file)


def _direct(file: int, buffer: mmap.mmap) -> bool:
    """Whether direct I/O works; a file system may accept the flag and then fail to read."""
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
