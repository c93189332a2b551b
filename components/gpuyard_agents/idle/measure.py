"""GPU activity of pods, from Prometheus.

Two queries for each measurement: the maximum activity of any GPU of a pod in the window, and the number of
its GPUs measured throughout. Without an answer there is no measurement, so the pod is never idle.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from gpuyard_agents.client import JsonClient, Unreachable
from gpuyard_agents.idle.settings import Labels, Settings

BATCH = 100
"""Pods per query. A week of 100 pods of 8 GPUs at 15 s is 32 million samples to read: some ten seconds
of Prometheus' time (six hours of them took 0.3 s), of the 30 s timeout. Samples in memory at a time, which
query.max-samples limits to 50 million, are a few ten thousand."""
POINTS = 60
"""Number of sample times in the window; they are at least a minute apart."""
COVERED = 0.9
"""Share of sample times with data: a scrape may fail, an exporter may restart."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Activity of one pod."""

    percent: float
    """Maximum activity of any of its GPUs, by any measurement."""
    devices: int
    """Number of its GPUs that were measured throughout."""


def readings(
    server: JsonClient,
    settings: Settings,
    namespace: str,
    pods: Sequence[str],
    minutes: int,
    now: datetime,
) -> dict[str, Reading]:
    """Activity by pod, for pods with data.

    Raises:
        RequestRejected: Prometheus rejected a query.
        Unreachable: it did not answer, or not in its format.
    """
    most: dict[str, float] = {}
    devices: dict[str, int] = {}
    for batch in (pods[i : i + BATCH] for i in range(0, len(pods), BATCH)):
        for signal in settings.signals:
            chosen = series_selector(signal.metric, settings.labels, namespace, batch)
            for pod, value in _ask(
                server, settings, max_activity_query(chosen, settings.labels, minutes), now
            ):
                # NaN is no measurement of this pod, and must not hide a valid one.
                if not math.isnan(value):
                    most[pod] = max(most.get(pod, 0.0), value * signal.percent)
            for pod, value in _ask(
                server, settings, covered_devices_query(chosen, settings.labels, minutes), now
            ):
                devices[pod] = max(devices.get(pod, 0), int(value))
    return {pod: Reading(most[pod], devices.get(pod, 0)) for pod in most}


def series_selector(metric: str, labels: Labels, namespace: str, pods: Iterable[str]) -> str:
    """The series of these pods."""
    names = "|".join(name.replace(".", r"\\.") for name in pods)
    return f'{metric}{{{labels.namespace}="{namespace}",{labels.pod}=~"{names}"}}'


def max_activity_query(chosen: str, labels: Labels, minutes: int) -> str:
    """Maximum activity of any GPU of each pod."""
    return f"max by ({labels.pod}) (max_over_time({chosen}[{minutes}m]))"


def covered_devices_query(chosen: str, labels: Labels, minutes: int) -> str:
    """Number of each pod's GPUs that have data nearly all the time, from any exporter."""
    step = max(1, math.ceil(minutes / POINTS))
    needed = math.floor(minutes // step * COVERED)
    each = ", ".join((labels.pod, *labels.device))
    return (
        f"count by ({labels.pod}) "
        f"(count_over_time(max by ({each}) ({chosen})[{minutes}m:{step}m]) >= {needed})"
    )


def _ask(
    server: JsonClient, settings: Settings, query: str, now: datetime
) -> list[tuple[str, float]]:
    """By pod, the value of an instant query."""
    form = urlencode({"query": query, "time": f"{now.timestamp():.0f}"})
    answer: Any = server.request_json(
        "POST", "/api/v1/query", form, "application/x-www-form-urlencoded"
    )
    try:
        kind, result = answer["data"]["resultType"], answer["data"]["result"]
        pairs = [(each["metric"][settings.labels.pod], float(each["value"][1])) for each in result]
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise Unreachable(
            f"{server.url} did not answer in the format of Prometheus: {problem!r}"
        ) from None
    if kind != "vector":
        raise Unreachable(f"{server.url} answered a {kind}, not a vector")
    return pairs
