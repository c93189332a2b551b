"""A stand-in of Cluster Autoscaler's scale-up: which group grows, and what happens when nodes do not join.

It calls no cloud and no cluster (scaling.py does): an iteration gets groups, pods and the time, and returns
the new sizes of groups. Like the real one:

- A pod is pending when the scheduler marks it so; nodes that are on their way or starting count as capacity.
- Of the groups that may grow and whose nodes fit the pod, the expander chooses one, and an iteration
  enlarges only that. `priority` takes the highest number with a pattern found in the group's name; a
  group without a pattern only if no group has one. Else the one that wastes the least CPU; ties at random.
- A group for which the cloud reports that it starts no instances is reset at once and backed off; so is one
  whose nodes do not join, only much later. Each further backoff lasts twice as long.

- A group whose nodes run no pods with requests or `safe-to-evict: "false"` goes back to its minimum after a
  while. The real one removes nodes one by one; a fake group cannot choose which node goes.

Source: kubernetes/autoscaler, read on 2026-11-23: exponential_backoff.go, the AWS provider's
auto_scaling_groups.go (placeholder-cannot-be-fulfilled), expander/priority, and FAQ.md about scaling down.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuyard_simulate.agents.autoscaler import accepts, amounts
from testbed.plugins.cloud.inside.rooms import Pod, room_of


@dataclass(frozen=True)
class Settings:
    """Its flags, with the real defaults."""

    max_node_provision_time: float = 15 * 60
    initial_node_group_backoff_duration: float = 5 * 60
    max_node_group_backoff_duration: float = 30 * 60
    node_group_backoff_reset_timeout: float = 3 * 60 * 60
    scale_down_unneeded_time: float = 10 * 60
    priorities: Mapping[int, Sequence[str]] = field(default_factory=dict[int, Sequence[str]])
    """For the expander `priority`; without any the expander is `least-waste`."""


@dataclass(frozen=True)
class Scalable:
    """A group as the autoscaler sees it."""

    name: str
    most: int
    target: int
    running: int
    node: dict[str, Any]
    """The next node: labels, taints, allocatable."""
    error: str = ""
    """Why the cloud starts no instance, if it reports a reason."""
    least: int = 0
    idle: bool = False
    """Whether no pod on its nodes has requests, except pods that run on every node."""
    starting: int = 0
    """Nodes that exist but are not ready, or have no GPUs yet: they count as on their way."""

    @property
    def coming(self) -> int:
        """Nodes that can take pods later."""
        return self.target - self.running + self.starting


@dataclass(frozen=True)
class Resize:
    """A new size of a group."""

    group: str
    size: int
    why: str


@dataclass
class _LeftAlone:
    seconds: float
    until: float
    since: float


class Autoscaler:
    """The autoscaler's state between iterations."""

    def __init__(self, settings: Settings, seed: int = 0) -> None:
        self._settings = settings
        self._asked: dict[str, float] = {}
        self._left_alone: dict[str, _LeftAlone] = {}
        self._idle: dict[str, float] = {}
        self._chance = random.Random(seed)  # noqa: S311  to repeat a test, not to hide anything

    def look(self, groups: Sequence[Scalable], pods: Sequence[Pod], now: float) -> list[Resize]:
        """The resizes of one iteration: failed groups are reset, and one group grows."""
        self._forget(now)
        results = [each for group in groups if (each := self._set_back(group, now))]
        back = {each.group for each in results}
        waiting = [pod for pod in pods if _waits(pod)]
        for group in groups:
            coming = 0 if group.name in back else group.coming
            waiting = _left(group, waiting, coming)
        grown = self._grow(groups, waiting, now)
        busy = back | {each.group for each in grown}
        return [*results, *grown, *self._shrink([g for g in groups if g.name not in busy], now)]

    def grow_for(self, groups: Sequence[Scalable], pods: Sequence[Pod], now: float) -> list[Resize]:
        """Enlarge one of these groups for pods that run elsewhere, unless nodes are on their way."""
        waiting = list(pods)
        for group in groups:
            waiting = _left(group, waiting, group.coming)
        return self._grow(groups, waiting, now)

    def left_alone(self, name: str, now: float) -> bool:
        """Whether a group is backed off."""
        blocked = self._left_alone.get(name)
        return blocked is not None and blocked.until > now

    def _shrink(self, groups: Sequence[Scalable], now: float) -> list[Resize]:
        """Groups that were unused for long, unless nodes are on their way."""
        spare = [g for g in groups if g.idle and g.least < g.target == g.running]
        self._idle = {each.name: self._idle.get(each.name, now) for each in spare}
        wait = self._settings.scale_down_unneeded_time
        return [
            Resize(each.name, each.least, "no pod on its nodes has requests")
            for each in spare
            if now - self._idle[each.name] >= wait
        ]

    def _set_back(self, group: Scalable, now: float) -> Resize | None:
        if group.running >= group.target:
            self._asked.pop(group.name, None)
            return None
        waited = now - self._asked.setdefault(group.name, now)
        if group.error:
            why = group.error
        elif waited >= self._settings.max_node_provision_time:
            why = f"no node came in {waited:.0f} s"
        else:
            return None
        self._back_off(group.name, now)
        del self._asked[group.name]
        return Resize(group.name, group.running, why)

    def _back_off(self, name: str, now: float) -> None:
        seconds = self._settings.initial_node_group_backoff_duration
        before = self._left_alone.get(name)
        if before is not None and before.until < now:
            seconds = min(2 * before.seconds, self._settings.max_node_group_backoff_duration)
        self._left_alone[name] = _LeftAlone(seconds, now + seconds, now)

    def _forget(self, now: float) -> None:
        reset = self._settings.node_group_backoff_reset_timeout
        for name in [name for name, each in self._left_alone.items() if each.since + reset < now]:
            del self._left_alone[name]

    def _grow(self, groups: Sequence[Scalable], waiting: Sequence[Pod], now: float) -> list[Resize]:
        options: dict[str, tuple[Scalable, int]] = {}
        for group in groups:
            if group.target < group.most and not self.left_alone(group.name, now):
                count = _nodes_for(group, waiting, group.most - group.target)
                if count:
                    options[group.name] = (group, count)
        if not options:
            return []
        group, count = options[self._chosen(options)]
        self._asked[group.name] = now
        return [Resize(group.name, group.target + count, f"{count} for pods that wait")]

    def _chosen(self, options: Mapping[str, tuple[Scalable, int]]) -> str:
        best = list(options)
        for number in sorted(self._settings.priorities, reverse=True):
            patterns = self._settings.priorities[number]
            if named := [each for each in best if any(re.search(p, each) for p in patterns)]:
                return self._chance.choice(named)
        waste = {name: _cpus(group) * count for name, (group, count) in options.items()}
        return self._chance.choice([each for each in best if waste[each] == min(waste.values())])


def _waits(pod: Pod) -> bool:
    """Whether the scheduler found no node for it; a gated pod does not count."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return not pod["spec"].get("nodeName") and any(
        each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable"
        for each in conditions
    )


def _left(group: Scalable, waiting: Sequence[Pod], nodes: int) -> list[Pod]:
    """The pods that do not fit on so many new nodes of a group."""
    rooms = [room_of(group.node) for _ in range(nodes)]
    return [
        pod
        for pod in waiting
        if not accepts(group.node, pod["spec"]) or not any(free.takes(pod) for free in rooms)
    ]


def _nodes_for(group: Scalable, waiting: Sequence[Pod], most: int) -> int:
    """The number of new nodes that fits most pods; 0 if none fits."""
    count, remaining = 0, list(waiting)
    while count < most and remaining:
        after = _left(group, remaining, 1)
        if len(after) == len(remaining):
            break
        count, remaining = count + 1, after
    return count


def _cpus(group: Scalable) -> float:
    return float(amounts(group.node["status"]["allocatable"]).get("cpu", 0))
