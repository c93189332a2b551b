"""What a test or a demo sets: the activity of pods, faults of GPUs, and how the exporters misbehave."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PodLoad:
    """The load of pods: activity and used memory as parts of what each of them holds."""

    pod: str
    """A regular expression of `<namespace>/<name>`."""
    activity: float = 0.0
    memory: float = 0.0


@dataclass(frozen=True, slots=True)
class Load:
    """All that is set. By default GPUs are idle and exporters behave."""

    pods: tuple[PodLoad, ...] = ()
    """The first that matches applies."""
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Values of series by the UUID of a GPU, in place of those of its load: a metric's name, or `NAME{xid="79"}`."""
    gone: frozenset[str] = frozenset()
    """Nodes whose exporter does not answer."""
    resets: Mapping[str, int] = field(default_factory=dict)
    """How often the counters of each node have been reset."""
    lingers: bool = False
    """Whether the series of a pod stay for one scrape after the pod ended."""

    def of(self, namespace: str, pod: str) -> PodLoad:
        """The load of a pod."""
        name = f"{namespace}/{pod}"
        return next((each for each in self.pods if re.fullmatch(each.pod, name)), PodLoad(name))

    def values_of(self, uuid: str, metric: str) -> list[tuple[str, float]]:
        """Labels and values of the series that are set for one metric of a GPU."""
        given = self.values.get(uuid, {})
        named = [(*key.partition("{")[::2], value) for key, value in given.items()]
        return [
            (labels.removesuffix("}"), value) for name, labels, value in named if name == metric
        ]


def read_load(content: Mapping[str, Any]) -> Load:
    """The load from JSON; TypeError for an unknown field."""
    given = dict(content)
    pods = tuple(PodLoad(**each) for each in given.pop("pods", ()))
    gone = frozenset(given.pop("gone", ()))
    return Load(pods=pods, gone=gone, **given)
