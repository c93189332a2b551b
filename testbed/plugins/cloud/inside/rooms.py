"""Free capacity of a node: amounts, and pod anti-affinity on one node."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard_simulate.agents.autoscaler import amounts, needs_of, take

Pod = Mapping[str, Any]
STAYS = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_HOST = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass
class Room:
    """The free capacity of a node, and its pods."""

    left: dict[str, Any]
    pods: list[Pod] = field(default_factory=list[Pod])

    def put(self, pod: Pod) -> None:
        """Place the pod, without checking the capacity."""
        take(self.left, needs_of(pod["spec"]), 1)
        self.pods.append(pod)

    def takes(self, pod: Pod) -> bool:
        """Place the pod if it fits."""
        needs = needs_of(pod["spec"])
        if any(self.left.get(name, 0) < amount for name, amount in needs.items() if amount):
            return False
        if any(_avoids(pod, each) or _avoids(each, pod) for each in self.pods):
            return False
        self.put(pod)
        return True


def room_of(node: Mapping[str, Any]) -> Room:
    """The capacity of a node without pods."""
    return Room(amounts(node["status"]["allocatable"]))


def needs_its_node(pod: Pod) -> bool:
    """Whether a pod keeps its node: one without requests can move, unless it is not safe to evict."""
    needs = needs_of(pod["spec"])
    asks = any(amount for name, amount in needs.items() if name != "pods")
    stays = (pod["metadata"].get("annotations") or {}).get(STAYS) == "false"
    return asks or stays


def _avoids(pod: Pod, other: Pod) -> bool:
    """Whether a pod has anti-affinity to another; API servers expand `matchLabelKeys`."""
    rules = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    labels: Mapping[str, str] = (other.get("metadata") or {}).get("labels") or {}
    return any(
        term["topologyKey"] == _HOST
        and _space(pod) == _space(other)
        and all(labels.get(key, "") in allowed for key, allowed in _wanted(term["labelSelector"]))
        for term in rules.get(_REQUIRED) or ()
    )


def selected(pod: Pod, budget: Mapping[str, Any]) -> bool:
    """Whether a PodDisruptionBudget selects a pod."""
    labels: Mapping[str, str] = pod["metadata"].get("labels") or {}
    selector = budget["spec"].get("selector") or {}
    return _space(pod) == _space(budget) and all(
        labels.get(key, "") in allowed for key, allowed in _wanted(selector)
    )


def _wanted(selector: Mapping[str, Any]) -> Iterator[tuple[str, Iterable[str]]]:
    """Labels and their values; of the expressions only the kind that API servers write."""
    for key, value in (selector.get("matchLabels") or {}).items():
        yield key, (value,)
    for each in selector.get("matchExpressions") or ():
        if each["operator"] != "In":
            raise ValueError(f"this stand-in does not support {each['operator']} in an affinity")
        yield each["key"], each["values"]


def _space(pod: Pod) -> object:
    return (pod.get("metadata") or {}).get("namespace")
