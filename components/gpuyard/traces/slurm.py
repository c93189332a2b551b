"""The export of Slurm's accounting: `sacct --parsable2` with a header (slurm.schedmd.com/sacct.html)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from gpuyard.traces.records import InvalidTrace, ReadOptions, TraceProblem, TraceReading
from gpuyard.traces.tables import Row, csv_rows, read_table, text_lines

COMMAND = (
    "sacct --allusers --allocations --parsable2 --format="
    "JobID,User,Account,Partition,State,Submit,Start,End,Elapsed,NNodes,ReqTRES,AllocTRES"
)
"""The command that exports what is read."""
_PLAIN = ("JobID", "Submit", "Start", "End", "NNodes", "User", "Account")
_TRES = ("gres/gpu in TRES", "cpu in TRES", "mem in TRES", "gres/gpu model in TRES")
_FACTORS = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)")


def is_slurm(header: str) -> bool:
    """Whether a line is the header of an export."""
    names = header.strip().split("|")
    return "JobID" in names and len(names) > 1


def read_slurm(text: TextIO, options: ReadOptions) -> TraceReading:
    """Read the jobs of an export; steps of jobs are not jobs."""
    lines = text_lines(text)
    header = next(lines).strip().split("|")
    missing = [name for name in ("Submit", "End") if name not in header]
    if not {"ReqTRES", "AllocTRES"} & set(header):
        missing.append("AllocTRES")
    if missing:
        raise InvalidTrace(
            *(
                TraceProblem(
                    1, name, "the export lacks this column", fix=f"export with `{COMMAND}`"
                )
                for name in missing
            )
        )
    return read_table((*_PLAIN, *_TRES), _rows(header, lines), options, "sacct")


def _rows(header: Sequence[str], lines: Iterable[str]) -> Iterator[tuple[int, Row]]:
    """The rows of jobs, with the trackable resources as cells of their own."""
    places = [header.index(name) if name in header else None for name in _PLAIN]
    tres = [header.index(name) for name in ("AllocTRES", "ReqTRES") if name in header]
    for line, row in csv_rows(lines, "|"):
        if len(row) != len(header):
            yield line, row
        elif "." not in row[places[0] or 0]:
            resources = next((row[n] for n in tres if row[n]), "")
            plain = [None if n is None else row[n] for n in places]
            yield line, [*plain, *_resources(resources)]


def _resources(text: str) -> list[object]:
    """GPUs, CPUs, memory in MiB and GPU model of `cpu=8,gres/gpu:a100=2,mem=64G,node=1`."""
    amounts = dict(part.partition("=")[::2] for part in text.split(",") if part)
    models = {n.partition(":")[2]: v for n, v in amounts.items() if n.startswith("gres/gpu:")}
    # with and without the model, the same GPUs are listed twice
    gpus: object = amounts.get("gres/gpu") or (
        str(sum(map(int, models.values()))) if all(v.isdigit() for v in models.values()) else text
    )
    memory = _AMOUNT.fullmatch(amounts.get("mem", "0"))
    mib: object = float(memory[1]) * _FACTORS[memory[2]] if memory else amounts["mem"]
    return [gpus or "0", amounts.get("cpu", "0"), mib, "|".join(models)]
