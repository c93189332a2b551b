"""Workloads of Kueue, as kubectl lists them."""

import io
import json

import pytest
import yaml

from gpuyard_advisor.traces import InvalidTrace, ReadOptions, TraceJob, TraceProblem, read_trace
from kit.every import every

NEW, READY, DONE = "2026-11-01T10:00:00Z", "2026-11-01T10:02:00Z", "2026-11-01T10:12:00Z"


def container(**requests):
    return {"image": "img:1", "resources": {"requests": requests, "limits": requests}}


def pods(count=1, **requests):
    return {"count": count, "template": {"spec": {"containers": [container(**requests)]}}}


def workload(name, *pod_sets, done=DONE, admitted="Admitted"):
    conditions = [
        {"type": "QuotaReserved", "status": "True", "lastTransitionTime": READY},
        {"type": admitted, "status": "True", "lastTransitionTime": READY},
        {"type": "Evicted", "status": "False", "lastTransitionTime": NEW},
    ]
    if done:
        conditions.append({"type": "Finished", "status": "True", "lastTransitionTime": done})
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": NEW},
        "spec": {"queueName": "default", "priority": 100, "podSets": list(pod_sets)},
        "status": {"conditions": conditions},
    }


def listed(*objects):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


def read(data, **options):
    return read_trace(io.BytesIO(data), ReadOptions(**options))


GPU = "nvidia.com/gpu"
COMMON = {
    "submitted_seconds": 0,
    "run_seconds": 600,
    "priority": 100,
    "team": "ml",
    "image": "img:1",
}


def test_finished_workloads_are_read():
    gang = workload("gang", pods(4, **{GPU: 8, "cpu": "90", "memory": "1Ti"}))
    expected = TraceJob(
        name="ml/gang", gpus=8, pods=4, cpu_milli=90_000, memory_mib=1024**2, line=1, **COMMON
    )
    result = read(listed(gang, workload("later", pods(**{GPU: 1}), done=None), {"kind": "Job"}))
    assert (result.format, result.jobs) == ("Kueue workloads", (expected,))
    assert result.notes == (
        "workloads that have not run to their end, left out: 1",
        "objects that are not Workloads, left out: 1",
    )
    reserved = workload("gang", *gang["spec"]["podSets"], admitted="QuotaReserved")
    assert read(yaml.safe_dump(reserved).encode()).jobs == (expected,)
    assert read(json.dumps([gang]).encode()).jobs == (expected,)


def test_pod_sets_count_as_the_largest():
    result = read(
        listed(
            workload("two", pods(**{GPU: 1}), pods(3, **{GPU: 8}), pods(cpu="4")),
            workload("none", pods(cpu="4")),
        )
    )
    assert [(j.name, j.gpus, j.pods) for j in result.jobs] == [("ml/two", 8, 4), ("ml/none", 0, 1)]
    assert result.notes == (
        "workloads with several pod sets with GPUs, whose pods count as equal: 1",
        "workloads with pods without GPUs, which are not counted: 1",
    )


@every(
    "resource, gpus, memory",
    [("nvidia.com/mig-3g.20gb", 3 / 7, 20_480), ("nvidia.com/gpu.shared", 0.1, 0)],
)
def test_slices_and_shares_are_fractions(resource, gpus, memory):
    (job,) = read(listed(workload("a", pods(**{resource: 1})))).jobs
    assert (job.gpus, job.gpu_memory_mib) == (gpus, memory)


BAD = {
    "no JSON": (
        b'{"items": [}',
        TraceProblem(1, "", "not JSON: Expecting value at character 12"),
    ),
    "no YAML": (
        b"kind: a\n  items: [",
        TraceProblem(2, "", "not YAML: mapping values are not allowed in this context"),
    ),
    "no workload": (
        listed({"kind": "Pod"}),
        TraceProblem(0, "", "it has no rows"),
    ),
    "a wrong count": (
        listed(workload("a", pods("x", **{GPU: 1}))),
        TraceProblem(
            1,
            "spec.podSets[].count",
            "not a number",
            "['x']",
            "a whole number from 1",
            "correct the value, or leave out such rows with --skip-invalid",
        ),
    ),
    "a wrong date": (
        b"kind: 2026-13-45",
        TraceProblem(0, "", "a value cannot be read: month must be in 1..12"),
    ),
    "nested too deep": (b"[" * 100_000, TraceProblem(0, "", "its values are nested too deep")),
}


@every("data, problem", BAD.values(), BAD)
def test_a_bad_listing_is_refused(data, problem):
    with pytest.raises(InvalidTrace) as refused:
        read(data)
    assert refused.value.problems == (problem,)


@every(
    "prefix, fix",
    [(b"{", "list one namespace at a time"), (b"kind: x", "list the workloads as JSON")],
)
def test_a_listing_that_is_too_large_is_refused(prefix, fix):
    import gpuyard_advisor.traces.kueue as module

    before, module.MAX_CHARACTERS = module.MAX_CHARACTERS, 100
    try:
        with pytest.raises(InvalidTrace) as refused:
            read(prefix + b" " * 200)
    finally:
        module.MAX_CHARACTERS = before
    assert refused.value.problems[0].fix == fix


def test_the_first_workloads_are_read_with_a_limit():
    objects = [workload(name, pods(**{GPU: 1})) for name in "abc"]
    assert [j.name for j in read(listed(*objects), limit=2).jobs] == ["ml/a", "ml/b"]
