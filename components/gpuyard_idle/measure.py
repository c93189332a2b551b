"""How much the GPUs of pods have done, asked of Prometheus.

Two questions for each measurement: the most that any GPU of a pod did in the window, and how many of its
GPUs were measured all through it. No answer is no measurement, never an idle GPU.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from gpuyard_idle.settings import Labels, Settings
from gpuyard_idle.web import Server, Unreachable

BATCH = 100
"""Pods in one question. A week of 100 pods of 8 GPUs at 15 s is 32 million samples to read: some ten seconds
of Prometheus' time (six hours of them took 0.3 s), of the 30 that we wait. What it holds at a time, which is
what query.max-samples limits to 50 million, is a few ten thousand."""
POINTS = 60
"""Moments of the window at which a GPU is looked for; a minute is the least between two."""
COVERED = 0.9
"""Part of these at which it must be there: a scrape may fail, an exporter may restart."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of one pod."""

    percent: float
    """The most that any of its GPUs did, whichever measurement says so."""
    devices: int
    """How many of them were measured all the time."""


def readings(
    server: Server,
    settings: Settings,
    namespace: str,
    pods: Sequence[str],
    minutes: int,
    now: datetime,
) -> dict[str, Reading]:
    """By pod, for those of which anything is known.

    Raises:
        Refused: Prometheus refused a question.
        Unreachable: it did not answer, or not in its form.
    """
    most: dict[str, float] = {}
    devices: dict[str, int] = {}
    for batch in (pods[i : i + BATCH] for i in range(0, len(pods), BATCH)):
        for signal in settings.signals:
            chosen = select(signal.metric, settings.labels, namespace, batch)
            for pod, value in _ask(server, settings, active(chosen, settings.labels, minutes), now):
                # Whatever is not a number says nothing of this pod, and must not hide what does.
                if not math.isnan(value):
                    most[pod] = max(most.get(pod, 0.0), value * signal.percent)
            for pod, value in _ask(
                server, settings, covered(chosen, settings.labels, minutes), now
            ):
                devices[pod] = max(devices.get(pod, 0), int(value))
    return {pod: Reading(most[pod], devices.get(pod, 0)) for pod in most}


def select(metric: str, labels: Labels, namespace: str, pods: Iterable[str]) -> str:
    """The series of these pods."""
    names = "|".join(name.replace(".", r"\\.") for name in pods)
    return f'{metric}{{{labels.namespace}="{namespace}",{labels.pod}=~"{names}"}}'


def active(chosen: str, labels: Labels, minutes: int) -> str:
    """The most that any GPU of each pod did."""
    return f"max by ({labels.pod}) (max_over_time({chosen}[{minutes}m]))"


def covered(chosen: str, labels: Labels, minutes: int) -> str:
    """How many GPUs of each pod are there nearly all the time, whoever exports them."""
    step = max(1, math.ceil(minutes / POINTS))
    needed = math.floor(minutes // step * COVERED)
    each = ", ".join((labels.pod, *labels.device))
    return (
        f"count by ({labels.pod}) "
        f"(count_over_time(max by ({each}) ({chosen})[{minutes}m:{step}m]) >= {needed})"
    )


def _ask(server: Server, settings: Settings, query: str, now: datetime) -> list[tuple[str, float]]:
    """By pod, the value of an instant query."""
    form = urlencode({"query": query, "time": f"{now.timestamp():.0f}"})
    answer: Any = server.ask("POST", "/api/v1/query", form, "application/x-www-form-urlencoded")
    try:
        kind, result = answer["data"]["resultType"], answer["data"]["result"]
        pairs = [(each["metric"][settings.labels.pod], float(each["value"][1])) for each in result]
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise Unreachable(f"{server.url} does not answer as Prometheus does: {problem!r}") from None
    if kind != "vector":
        raise Unreachable(f"{server.url} answered a {kind}, not a vector")
    return pairs
