"""Kueue's Workloads: `kubectl get workloads --all-namespaces --output json`, or YAML.

The start is the transition of the condition Admitted, else of QuotaReserved; the end that of Finished
(kueue.sigs.k8s.io/docs/concepts/workload).
"""

import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, TextIO, cast

import yaml

from gpuyard_advisor.traces.collect import JobCollector
from gpuyard_advisor.traces.records import InvalidTrace, ReadOptions, TraceProblem, TraceReading
from gpuyard_advisor.traces.tables import (
    MAGIC,
    Row,
    check_utf8,
    csv_rows,
    read_csv,
    read_parquet,
    read_table,
    text_lines,
)
from gpuyard_core import names
from gpuyard_core.manifests.fields import items, mapping, mappings
from gpuyard_core.manifests.gpu_requests import peak_pod_requests, pod_gpu_request
from gpuyard_core.manifests.quantities import CPU, MEMORY, MIB, quantity, whole_units

MAX_CHARACTERS = 256 * 1024 * 1024
"""Of a JSON file; YAML takes ten times more memory and time."""
_YAML_SHARE = 10
_COLUMNS = {
    "name": "metadata.name",
    "submitted": "metadata.creationTimestamp",
    "started": "status.conditions[Admitted]",
    "ended": "status.conditions[Finished]",
    "gpus": "spec.podSets",
    "pods": "spec.podSets[].count",
    "cpu_milli": "spec.podSets",
    "memory_mib": "spec.podSets",
    "gpu_memory_mib": "spec.podSets",
    "priority": "spec.priority",
    "team": "metadata.namespace",
    "gpu_model": "spec.podSets",
    "image": "spec.podSets",
}
_PROFILE = re.compile(r"(\d+)g\.(\d+)gb")
_SLICES = 7
"""Compute slices of a GPU; an A30 has four, so that its slices count too small."""
_SHARE = 0.1
"""GPUs that one share of a time-sliced GPU counts as: its size is not part of a Workload."""


def read_workloads(text: TextIO, options: ReadOptions, *, is_yaml: bool) -> TraceReading:
    """Read the finished workloads of a listing."""
    limit = MAX_CHARACTERS // _YAML_SHARE if is_yaml else MAX_CHARACTERS
    content = text.read(limit + 1)
    if len(content) > limit:
        raise InvalidTrace(
            TraceProblem(
                0,
                "",
                f"the file has more than {limit:,} characters",
                fix="list the workloads as JSON" if is_yaml else "list one namespace at a time",
            )
        )
    check_utf8(content, 1)
    jobs = JobCollector(options, {f: (path, 1.0) for f, path in _COLUMNS.items()})
    for number, each in enumerate(_objects(content, is_yaml=is_yaml), 1):
        if jobs.stops():
            break
        if not isinstance(each, Mapping) or each.get("kind") != "Workload":
            jobs.notes["objects that are not Workloads, left out"] += 1
        elif (cells := _cells(each, jobs.notes)) is not None:
            jobs.add(number, cells)
    return jobs.finish("Kueue workloads")


def _objects(content: str, *, is_yaml: bool) -> Iterator[Any]:
    """The objects of all documents, with Lists expanded."""
    try:
        values = yaml.load_all(content, yaml.CSafeLoader) if is_yaml else [json.loads(content)]
        for value in values:
            if isinstance(value, Mapping) and isinstance(value.get("items"), list):
                yield from value["items"]
            else:
                yield from value if isinstance(value, list) else [value]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 0
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise InvalidTrace(TraceProblem(line, "", f"not YAML: {problem}")) from None
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} at character {error.colno}"
        raise InvalidTrace(TraceProblem(error.lineno, "", problem)) from None
    except ValueError as error:  # a date such as 2026-13-45, a number of thousands of digits
        raise InvalidTrace(TraceProblem(0, "", f"a value cannot be read: {error}")) from None
    except RecursionError:
        raise InvalidTrace(TraceProblem(0, "", "its values are nested too deep")) from None


def _cells(workload: Mapping[str, Any], notes: Counter[str]) -> dict[str, object] | None:
    """The cells of a finished workload; None for one that is not."""
    metadata = mapping(workload, "metadata")
    changes = {
        c.get("type"): c.get("lastTransitionTime")
        for c in mappings(mapping(workload, "status"), "conditions")
        if c.get("status") == "True"
    }
    started = changes.get("Admitted") or changes.get("QuotaReserved")
    if not changes.get("Finished") or not started:
        notes["workloads that have not run to their end, left out"] += 1
        return None
    spec = mapping(workload, "spec")
    namespace = metadata.get("namespace", "")
    return {
        "name": f"{namespace}/{metadata.get('name', '')}",
        "submitted": metadata.get("creationTimestamp"),
        "started": started,
        "ended": changes["Finished"],
        "priority": spec.get("priority"),
        "team": namespace,
        **_pods(spec, notes),
    }


def _pods(spec: Mapping[Any, Any], notes: Counter[str]) -> dict[str, object]:
    """The pods with GPUs; of several pod sets, all count as the one with the largest requests."""
    sets = [
        (_requests(mapping(each, "template", "spec")), each) for each in mappings(spec, "podSets")
    ]
    with_gpus = [(request, each) for request, each in sets if request["gpus"]]
    if not with_gpus:
        return {**_requests({}), "pods": 1}
    if len(with_gpus) > 1:
        notes["workloads with several pod sets with GPUs, whose pods count as equal"] += 1
    if len(sets) > len(with_gpus):
        notes["workloads with pods without GPUs, which are not counted"] += 1
    request, largest = max(with_gpus, key=lambda pair: (pair[0]["gpus"], pair[0]["cpu_milli"]))
    counts = [each.get("count", 1) for _, each in with_gpus]
    pods = sum(counts) if all(isinstance(n, int) for n in counts) else str(counts)
    containers = items(mapping(largest, "template", "spec"), "containers")
    image = next((c.get("image") for c in containers if isinstance(c, Mapping)), "")
    return {**request, "pods": pods, "image": image}


def _requests(pod: Mapping[Any, Any]) -> dict[str, float]:
    """The requests of one pod."""
    init, main = (
        [c for c in items(pod, key) if isinstance(c, Mapping)]
        for key in ("initContainers", "containers")
    )
    devices, _ = pod_gpu_request(init, main)
    native = peak_pod_requests(((c, _native(c)) for c in init), map(_native, main))
    gpus, memory = 0.0, 0.0
    for name, count in devices.items():
        profile = _PROFILE.match(name.removeprefix(names.MIG_PREFIX))
        if name == names.GPU:
            gpus += count
        elif profile:
            gpus += count * int(profile[1]) / _SLICES
            memory += count * int(profile[2]) * 1024
        else:
            gpus += count * _SHARE
    return {
        "gpus": gpus,
        "gpu_memory_mib": memory,
        "cpu_milli": native[CPU],
        "memory_mib": native[MEMORY] / MIB,
    }


def _native(container: Mapping[Any, Any]) -> Counter[str]:
    resources = mapping(container, "resources")
    requests = {**mapping(resources, "limits"), **mapping(resources, "requests")}
    amounts = {name: quantity(requests.get(name)) for name in (CPU, MEMORY)}
    return Counter({name: whole_units(name, n) for name, n in amounts.items() if n and n > 0})


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
