"""Kueue's Workloads: `kubectl get workloads --all-namespaces --output json`, or YAML.

The start is the transition of the condition Admitted, else of QuotaReserved; the end that of Finished
(kueue.sigs.k8s.io/docs/concepts/workload).
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

import yaml

from gpuyard.traces.collect import JobCollector
from gpuyard.traces.records import InvalidTrace, ReadOptions, TraceProblem, TraceReading
from gpuyard.traces.tables import check_utf8
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
