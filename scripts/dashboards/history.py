"""Thirteen hours of what the exporters of stack.yaml serve, as OpenMetrics for promtool's backfill."""

# ruff: noqa: PLR2004, S311 - made-up numbers

import math
import random
from collections import defaultdict
from collections.abc import Iterator

HOURS, STEP = 13, 60
_BOUNDS = (1, 10, 60, 300, 600, 1800, 3600, 7200, 14400)
_GPUS = {"train": (4, 8, "H100", 81559), "serve": (2, 4, "L40S", 46068), "dev": (1, 4, "L4", 23034)}
_BUSY = {"vision": 0.9, "speech": 0.6, "search": 0.4}
_CLASS = {"vision": "training", "speech": "training", "search": "real-time-inference"}

Series = dict[str, list[tuple[int, float]]]


def history(end: int) -> str:
    """The series that end at a time."""
    random.seed(3)
    series: dict[str, Series] = defaultdict(lambda: defaultdict(list))
    counters: dict[str, float] = defaultdict(float)
    for time in range(end - HOURS * 3600, end + 1, STEP):
        for name, labels, value in _samples(time, end, counters):
            text = ",".join(f'{key}="{each}"' for key, each in labels.items())
            series[name][text].append((time, value))
    lines: list[str] = []
    for name, found in series.items():
        lines.append(f"# TYPE {name} unknown")
        for text, points in found.items():
            lines += [f"{name}{{{text}}} {value:.6g} {time}" for time, value in points]
    return "\n".join([*lines, "# EOF", ""])


Sample = tuple[str, dict[str, str], float]


def _samples(time: int, end: int, counters: dict[str, float]) -> Iterator[Sample]:
    for pool, (nodes, gpus, _, memory) in _GPUS.items():
        for number in range(nodes):
            node = f"{pool}-{number}"
            yield "kube_node_labels", {"node": node, "label_gpuyard_dev_pool": pool}, 1
            yield "gpu_validation_passed", {"node": node, "pool": pool}, float(node != "train-3")
            age = 3600 * (number + 1)
            yield (
                "gpu_validation_last_run_timestamp_seconds",
                {"node": node},
                end - HOURS * 3600 - age,
            )
            for check in ("inventory", "ecc", "nvlink", "hbm", "driver"):
                bad = 2 if (node, check) == ("train-3", "nvlink") else 0
                labels = {"check": check, "node": node, "required": "true"}
                yield (
                    "gpu_validation_check_status",
                    labels,
                    1 if (number, check) == (1, "hbm") else bad,
                )
            for gpu in range(gpus):
                yield from _gpu(time, end, pool, node, gpu, memory)
    yield from _queues(time, counters)
    yield from _servers(time, counters)


def _team(pool: str, node: str, gpu: int, time: int) -> str:
    hour = time / 3600
    if node in {"train-0", "train-1"}:
        return "vision" if (hour // 5) % 4 else ""
    if pool == "train":
        return "speech" if gpu < 5 or (node == "train-2" and math.sin(hour / 2) > -0.3) else ""
    return "search" if gpu < 1.5 + 2 * (1 + math.sin(time / 12000)) else ""


def _gpu(time: int, end: int, pool: str, node: str, gpu: int, memory: int) -> Iterator[Sample]:
    team = _team(pool, node, gpu, time)
    device = {"gpu": str(gpu), "UUID": f"GPU-{node}-{gpu}", "pool": pool, "node": node}
    stuck = node == "train-3" and gpu in {2, 3}
    wave = 0.25 * math.sin(time / 7000 + gpu) if team == "search" else 0.0
    busy = (
        min(1.0, max(0.0, _BUSY[team] + wave + random.gauss(0, 0.02)))
        if team and not stuck
        else 0.0
    )
    used = memory * (0.82 if team == "vision" else 0.6) + random.randint(-300, 300) if team else 520
    shares = [{**device, "vgpu": str(n)} for n in range(2)] if pool == "dev" and team else [device]
    for number, share in enumerate(shares):
        pod = (
            {
                "exported_namespace": team,
                "exported_pod": f"{team}-{node}-{gpu}-{number}",
            }
            if team
            else {}
        )
        if team:
            named = {"namespace": team, "pod": pod["exported_pod"]}
            yield "kube_pod_labels", {**named, "label_gpuyard_dev_class": _CLASS[team]}, 1
        labels = {**share, **pod}
        yield "DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels, round(busy * 10) / 10
        yield "DCGM_FI_DEV_GPU_UTIL", labels, round(100 * busy / len(shares))
        yield "DCGM_FI_DEV_FB_USED", labels, used
        yield "DCGM_FI_DEV_FB_FREE", labels, memory - used - 300
        yield "DCGM_FI_DEV_FB_RESERVED", labels, 300
        yield "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", labels, round(0.6 * busy, 3)
        yield "DCGM_FI_PROF_DRAM_ACTIVE", labels, round(0.5 * busy, 3)
        power = (72 + 560 * busy) if pool == "train" else 40 + 200 * busy
        yield "DCGM_FI_DEV_POWER_USAGE", labels, round(power + random.gauss(0, 6), 1)
        yield (
            "DCGM_FI_DEV_GPU_TEMP",
            labels,
            round(31 + 42 * busy + (14 if node == "train-1" and gpu == 5 else 0)),
        )
        yield "DCGM_FI_DEV_SM_CLOCK", labels, 400 + 150 * round(10 * busy) if team else 345
        yield (
            "DCGM_FI_DEV_XID_ERRORS",
            labels,
            79.0 if stuck and gpu == 3 and time > end - 9000 else 0.0,
        )
        yield (
            "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
            labels,
            2.0 if stuck and time > end - 12000 else 0.0,
        )


def _queues(time: int, counters: dict[str, float]) -> Iterator[Sample]:
    hour = time / 3600
    for team, priority, wait in (
        ("vision", "production", 240),
        ("speech", "research", 2400),
        ("search", "production", 120),
    ):
        queue = {"cluster_queue": f"lab-{team}", "replica_role": "leader"}
        load = 4 + 3 * math.sin(hour / 2 + len(team))
        yield "kueue_pending_workloads", {**queue, "status": "active"}, round(load)
        yield "kueue_pending_workloads", {**queue, "status": "inadmissible"}, round(load / 3)
        yield "kueue_admitted_active_workloads", queue, round(8 - load / 2)
        by = {**queue, "priority_class": priority}
        counters[team] += 3
        yield "kueue_admitted_workloads_total", by, counters[team]
        for reason, rate in (
            ("Preempted", 0.02),
            ("PodsReadyTimeout", 0.005),
            ("NodeFailures", 0.002),
        ):
            is_evicted = random.random() < rate * load
            counters[team + reason] += is_evicted
            counters[f"{team} lost"] += is_evicted * random.uniform(60, 1200)
            yield "kueue_evicted_workloads_total", {**by, "reason": reason}, counters[team + reason]
        yield "kueue_pods_ready_to_evicted_time_seconds_sum", by, counters[f"{team} lost"]
        waits = [random.expovariate(1 / wait) * load / 4 for _ in range(3)]
        for bound in (*_BOUNDS, math.inf):
            counters[f"{team}{bound}"] += sum(each <= bound for each in waits)
            le = "+Inf" if bound == math.inf else str(bound)
            yield (
                "kueue_admission_wait_time_seconds_bucket",
                {**by, "le": le},
                counters[f"{team}{bound}"],
            )


def _servers(time: int, counters: dict[str, float]) -> Iterator[Sample]:
    load = 30 + 20 * math.sin(time / 6000)
    vllm, triton = {"model_name": "llama-70b", "engine": "0"}, {"model": "ranker", "version": "1"}
    yield "vllm:num_requests_running", vllm, round(load)
    yield "vllm:num_requests_waiting", vllm, max(0, round(load - 38))
    yield "nv_inference_pending_request_count", triton, max(0, round(load / 5 - 5))
    yield "tgi_queue_size", {}, max(0, round(load / 4 - 8))
    yield "tgi_batch_current_size", {}, round(load / 3)
    grown = {
        "vllm:request_success_total": (vllm, load * 6),
        "vllm:generation_tokens_total": (vllm, load * 1800),
        "nv_inference_request_success": (triton, load * 40),
        "nv_inference_request_duration_us": (triton, load * 40 * (18000 + 300 * load)),
        "tgi_request_success": ({}, load * 3),
        "tgi_request_generated_tokens_sum": ({}, load * 700),
    }
    for name, (labels, growth) in grown.items():
        counters[name] += growth
        yield name, labels, counters[name]
    for name, labels, mean in (
        ("vllm:e2e_request_latency_seconds_bucket", vllm, 4 + load / 10),
        ("vllm:time_to_first_token_seconds_bucket", vllm, 0.2 + load / 200),
        ("tgi_request_duration_bucket", {}, 3 + load / 12),
        ("tgi_request_queue_duration_bucket", {}, load / 100),
    ):
        for bound in (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, math.inf):
            key = f"{name}{bound}"
            counters[key] += 100 * (1 - math.exp(-bound / mean))
            yield name, {**labels, "le": "+Inf" if bound == math.inf else str(bound)}, counters[key]
