"""Reads a trace: the format and the compression are recognised by the first bytes."""

import gzip
import io
import zlib
from typing import BinaryIO, cast

from gpuyard.traces.kueue import read_workloads
from gpuyard.traces.parquet import MAGIC, read_parquet
from gpuyard.traces.records import InvalidTrace, ReadOptions, TraceProblem, TraceReading
from gpuyard.traces.slurm import is_slurm, read_slurm
from gpuyard.traces.tables import read_csv

_GZIP = b"\x1f\x8b"
_START = 64 * 1024
_YAML = (b"apiVersion:", b"kind:", b"items:", b"---", b"- apiVersion:", b"metadata:")
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_OTHER_FORMATS = {
    b"PK\x03\x04": "a ZIP archive",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "XZ",
    b"(\xb5/\xfd": "Zstandard",
}


def read_trace(file: BinaryIO, options: ReadOptions | None = None) -> TraceReading:
    """Read a trace from a file that can seek.

    Raises:
        InvalidTrace: the file or its rows cannot be read; with every problem up to a maximum.
        EnvironmentMissing: Parquet without pyarrow.
    """
    options = options or ReadOptions()
    start = file.read(len(_GZIP))
    file.seek(0)
    if start != _GZIP:
        return _read(file, options)
    with gzip.open(file) as content:
        try:
            return _read(cast("BinaryIO", content), options)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            problem = TraceProblem(
                0,
                "",
                f"the gzip file is truncated or damaged: {error}",
                fix="copy it again; `gzip --test FILE` shows whether it is whole",
            )
            raise InvalidTrace(problem) from None


def _read(file: BinaryIO, options: ReadOptions) -> TraceReading:
    start = file.read(_START)
    file.seek(0)
    for magic, name in (_OTHER_ENCODINGS | _OTHER_FORMATS).items():
        if start.startswith(magic):
            fix = "convert it to UTF-8" if name in _OTHER_ENCODINGS.values() else "decompress it"
            raise InvalidTrace(TraceProblem(0, "", f"the file is {name}, not UTF-8 text", fix=fix))
    if start.startswith(MAGIC):
        return read_parquet(file, options)
    text = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
    try:
        return _read_text(text, start.removeprefix(b"\xef\xbb\xbf").lstrip(), options)
    finally:
        text.detach()  # the caller closes the file


def _read_text(text: io.TextIOWrapper, start: bytes, options: ReadOptions) -> TraceReading:
    if start.startswith((b"{", b"[")):
        return read_workloads(text, options, is_yaml=False)
    if start.startswith(_YAML):
        return read_workloads(text, options, is_yaml=True)
    if is_slurm(start.partition(b"\n")[0].decode("utf-8", "replace")):
        return read_slurm(text, options)
    return read_csv(text, options)
