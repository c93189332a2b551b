"""From the cells of a row to a job: numbers, times, and what is wrong with them."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from sys import intern
from typing import NamedTuple

from gpuyard_advisor.traces.records import (
    MAX_JOBS,
    InvalidTrace,
    ReadOptions,
    TraceJob,
    TraceProblem,
    TraceReading,
)

TIMES = ("submitted", "started", "ended")
TEXTS = ("name", "user", "team", "image", "gpu_model")
NUMBERS = (
    "run",
    "gpus",
    "total_gpus",
    "gpu_share",
    "pods",
    "cpu_milli",
    "total_cpu_milli",
    "memory_mib",
    "total_memory_mib",
    "gpu_memory_mib",
    "priority",
    "utilisation",
)
FIELDS = (*TIMES, *NUMBERS, *TEXTS)
"""What a column can be. `run` and the totals of all pods are alternatives of others."""
UNITS: Mapping[str, float] = {
    "": 1.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "milli": 1e-3,
    "percent": 1e-2,
    "cores": 1e3,
    "percent_of_core": 1e1,
    "KiB": 1 / 1024,
    "MiB": 1.0,
    "GiB": 1024.0,
    "GB": 1e9 / 2**20,
    "bytes": 1 / 2**20,
}
"""Factors to seconds, GPUs, thousandths of a core and MiB."""
_EMPTY = frozenset({"", "nan", "none", "null", "unknown", "n/a"})
"""Cells without a value, in lower case."""
_PROGRESS = 20_000
_MAX_GPUS, _MAX_PODS = 1_000_000, 1_000_000
_WHOLE = ("pods", "priority")
_SKIP = "correct the value, or leave out such rows with --skip-invalid"
_SHOWN = 40
_ROUNDING = 1e-6


class Bound(NamedTuple):
    """The allowed values of a number."""

    least: float
    most: float
    text: str


_SECONDS = Bound(0, math.inf, "seconds from 0")
_AMOUNT = Bound(0, math.inf, "a number from 0")
_BOUNDS: Mapping[str, Bound] = {
    "run": _SECONDS,
    "gpus": Bound(0, _MAX_GPUS, "GPUs from 0, or a fraction of one"),
    "total_gpus": Bound(0, _MAX_GPUS, "GPUs from 0"),
    "gpu_share": Bound(0, 1, "a share of a GPU from 0 to 1"),
    "pods": Bound(1, _MAX_PODS, "a whole number from 1"),
    "priority": Bound(-(2**31), 2**31, "a whole number"),
    "utilisation": Bound(0, 1, "a share from 0 to 1; with the unit percent, from 0 to 100"),
}


class _Refused(Exception):
    """The row has a problem; the arguments are those of TraceProblem after the line."""


class JobCollector:
    """Collects jobs row by row, and the problems of rows."""

    def __init__(
        self,
        options: ReadOptions,
        columns: Mapping[str, tuple[str, float]],
        may_lack: frozenset[str] = frozenset(),
    ) -> None:
        """`columns` has the name and the factor of each field's column."""
        self.options = options
        self._columns = columns
        self._may_lack = may_lack
        self.notes: Counter[str] = Counter()
        self.problems: list[TraceProblem] = []
        self.skipped = 0
        self._jobs: list[TraceJob] = []
        self._lines: dict[str, int] = {}
        self._start = math.nan
        self._latest = -math.inf
        self._unsorted: list[int] = []
        self._rows = 0
        self.is_cut = False
        """Whether a reader stopped at the limit."""
        self._numbers = [f for f in NUMBERS if f in columns]

    def stops(self) -> bool:
        """Whether the limit is reached before the next row."""
        limit = self.options.limit
        self.is_cut = limit is not None and len(self._jobs) >= limit
        return self.is_cut

    def add(self, line: int, cells: Mapping[str, object]) -> None:
        """Add the job of a row, or its problem."""
        self._rows += 1
        if self.options.progress and self._rows % _PROGRESS == 0:
            self.options.progress(self._rows)
        if len(self._jobs) >= MAX_JOBS:
            raise InvalidTrace(
                *self.problems,
                TraceProblem(
                    line,
                    "",
                    f"the trace has more than {MAX_JOBS:,} jobs",
                    fix=f"read its first jobs with --limit {MAX_JOBS}, or select some by time",
                ),
            )
        try:
            job = self._job(line, cells)
        except _Refused as refused:
            self.refuse(TraceProblem(line, *refused.args))
        else:
            if job is not None:
                self._jobs.append(job)

    def refuse(self, problem: TraceProblem) -> None:
        """Count a row with a problem; raise when there are enough of them."""
        self.skipped += 1
        if len(self.problems) < self.options.max_problems:
            self.problems.append(problem)
        if not self.options.skip_invalid and len(self.problems) >= self.options.max_problems:
            raise InvalidTrace(*self.problems)

    def finish(self, format_: str) -> TraceReading:
        """The reading; InvalidTrace if a row has a problem and such rows are not skipped."""
        if self.problems and not self.options.skip_invalid:
            raise InvalidTrace(*self.problems)
        if not self._jobs:
            text = f"no row of {self._rows:,} is a job" if self._rows else "it has no rows"
            raise InvalidTrace(TraceProblem(0, "", text), *self.problems)
        notes = [f"{text}: {count:,}" if count else text for text, count in self.notes.items()]
        jobs = self._jobs
        if self._unsorted:
            notes.append(
                f"rows out of order of submission, sorted: {len(self._unsorted):,}, the first in line "
                f"{self._unsorted[0]}"
            )
            jobs.sort(key=lambda job: job.submitted_seconds)
        if first := jobs[0].submitted_seconds:
            jobs = [replace(j, submitted_seconds=j.submitted_seconds - first) for j in jobs]
        if self.is_cut:
            notes.append(f"--limit {self.options.limit}: the jobs after them are not read")
        return TraceReading(
            format=format_,
            jobs=tuple(jobs),
            notes=tuple(notes),
            skipped=self.skipped,
            problems=tuple(self.problems),
        )

    def _job(self, line: int, cells: Mapping[str, object]) -> TraceJob | None:
        """The job of a row; None if a value is missing that the format allows to be missing."""
        columns = self._columns
        for name in self._may_lack:
            if is_empty(cells.get(name)):
                self.notes[f"rows without {columns[name][0]}, left out"] += 1
                return None
        submitted = self._time("submitted", cells["submitted"])
        values = {name: self._number(name, cells[name]) for name in self._numbers}
        run = self._run_seconds(cells, submitted, values.get("run"))
        pods = int(values.get("pods") or 1)
        gpus, pods = self._gpus(values, pods)
        name = str(cells.get("name") or f"job-{line}")
        if (earlier := self._lines.get(name)) is not None:
            raise _Refused(
                columns["name"][0],
                f"line {earlier} has the same job name",
                name,
                "unique names",
                "rename one, or leave it out with --skip-invalid",
            )
        self._lines[name] = line
        if math.isnan(self._start):
            self._start = submitted
        if submitted < self._latest:
            self._unsorted.append(line)
        self._latest = max(self._latest, submitted)
        cpu = values.get("cpu_milli") or (values.get("total_cpu_milli") or 0.0) / pods
        memory = values.get("memory_mib") or (values.get("total_memory_mib") or 0.0) / pods
        texts = {key: intern(str(v)) for key in TEXTS[1:] if (v := cells.get(key))}
        return TraceJob(
            name=name,
            submitted_seconds=submitted - self._start,
            run_seconds=run,
            gpus=gpus,
            pods=pods,
            cpu_milli=math.ceil(cpu - _ROUNDING),
            memory_mib=math.ceil(memory - _ROUNDING),
            gpu_memory_mib=math.ceil((values.get("gpu_memory_mib") or 0.0) - _ROUNDING),
            priority=int(values.get("priority") or 0),
            utilisation=values.get("utilisation"),
            line=line,
            **texts,
        )

    def _run_seconds(
        self, cells: Mapping[str, object], submitted: float, run: float | None
    ) -> float:
        """The run time: its column, else from the start, else from the submission, to the end."""
        if "run" in self._columns:
            if run is None:
                raise self._missing("run")
            return run
        ended = self._time("ended", cells["ended"])
        began, start = "submitted", submitted
        if not is_empty(cells.get("started")):
            began, start = "started", self._time("started", cells["started"])
        if ended < start:
            column = self._columns["ended"][0]
            raise _Refused(
                column,
                f"the end is before column {self._columns[began][0]}",
                str(cells["ended"]),
                f"a time from {cells[began]}",
                _SKIP,
            )
        return ended - start

    def _gpus(self, values: Mapping[str, float | None], pods: int) -> tuple[float, int]:
        """GPUs of one pod, and the pods: fewer pods if there are fewer GPUs than pods."""
        if "gpus" in values:
            if values["gpus"] is None:
                raise self._missing("gpus")
            share = values.get("gpu_share")
            return values["gpus"] * (1.0 if share is None else share), pods
        total = values["total_gpus"]
        if total is None:
            raise self._missing("total_gpus")
        if pods == 1 or total == 0:
            return total, pods
        if total < pods:
            return 1.0, math.ceil(total)
        return float(math.ceil(total / pods)), pods

    def _missing(self, name: str) -> _Refused:
        bound = _BOUNDS.get(name)
        allowed = bound.text if bound else "a time"
        return _Refused(self._columns[name][0], "no value", "", allowed, _SKIP)

    def _number(self, name: str, cell: object) -> float | None:
        """The number of a cell in the unit of the field; None if it is empty."""
        column, factor = self._columns[name]
        bound = _BOUNDS.get(name, _AMOUNT)
        try:
            value = float(cell) * factor  # type: ignore[arg-type]  # a wrong type is answered below
        except (TypeError, ValueError):
            if is_empty(cell):
                return None
            raise _Refused(column, "not a number", shorten(cell), bound.text, _SKIP) from None
        if bound.least <= value <= bound.most and value < math.inf:
            if name not in _WHOLE or value.is_integer():
                return value
            raise _Refused(column, "not a whole number", shorten(cell), bound.text, _SKIP)
        if math.isnan(value):
            return None
        problem = "negative" if value < 0 <= bound.least else "not allowed"
        raise _Refused(column, problem, shorten(cell), bound.text, _SKIP)

    def _time(self, name: str, cell: object) -> float:
        column, factor = self._columns[name]
        allowed = "seconds from 0, or a date and time as in ISO 8601"
        if is_empty(cell):
            raise _Refused(column, "no value", "", allowed, _SKIP)
        try:
            value = _seconds(cell, factor)
        except (TypeError, ValueError, OverflowError):
            raise _Refused(column, "not a time", shorten(cell), allowed, _SKIP) from None
        if value < 0:
            raise _Refused(column, "a negative time", shorten(cell), allowed, _SKIP)
        if not math.isfinite(value):
            raise _Refused(column, "not a time", shorten(cell), allowed, _SKIP)
        return value


def _seconds(cell: object, factor: float) -> float:
    if isinstance(cell, str):
        try:
            return float(cell) * factor
        except ValueError:
            cell = datetime.fromisoformat(cell.strip())
    if isinstance(cell, datetime):
        return (cell if cell.tzinfo else cell.replace(tzinfo=UTC)).timestamp()
    if isinstance(cell, date):
        return datetime(cell.year, cell.month, cell.day, tzinfo=UTC).timestamp()
    return float(cell) * factor  # type: ignore[arg-type]  # TypeError is answered by the caller


def is_empty(cell: object) -> bool:
    """Whether a cell has no value."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return not cell or cell.strip().lower() in _EMPTY
    return isinstance(cell, float) and math.isnan(cell)


def shorten(cell: object) -> str:
    """A cell as a message shows it."""
    text = str(cell)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
