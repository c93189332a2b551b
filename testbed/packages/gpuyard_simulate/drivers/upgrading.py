"""The upgrade controller's next step on each node, from labels, pods and the policy.

As strict as the real one (NVIDIA/k8s-operator-libs, pkg/upgrade, with the options of NVIDIA/gpu-operator): a
driver pod keeps its version until the controller restarts it; each evaluation moves a node by one state;
failed nodes count as in progress, and cordoned ones as unavailable, no matter what cordoned them; a skipped node
waits as `upgrade-required` and is upgraded from there even with the current driver; a cordoned one continues
even without a free slot. It waits for jobs without limit, as our policy has no `timeoutSeconds`.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gpuyard_core.manifests.gpu_requests import is_gpu_resource
from gpuyard_core.names import SKIP_UPGRADE_LABEL, UPGRADE_LABEL

POD: Final = "sim.gpuyard.dev/driver-pod"
"""An annotation: version of the driver pod on the node."""
BROKEN: Final = "sim.gpuyard.dev/driver-fails"
"""An annotation by which a test lets a driver fail to start: `VERSION: reason`."""
INITIAL: Final = "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable"
NEW, DONE, REQUIRED = "", "upgrade-done", "upgrade-required"
CORDON, JOBS, PODS = "cordon-required", "wait-for-jobs-required", "pod-deletion-required"
DRAIN, RESTART, VALIDATE = "drain-required", "pod-restart-required", "validation-required"
UNCORDON, FAILED = "uncordon-required", "upgrade-failed"
_AT_REST: Final = (NEW, DONE, REQUIRED)
_Object = Mapping[str, Any]
PodsOn = Callable[[str], Sequence[_Object]]


@dataclass(frozen=True, slots=True)
class Policy:
    """`driver.upgradePolicy` of the ClusterPolicy, with the defaults of its definition."""

    auto: bool = False
    parallel: int = 1
    unavailable: int | str = "25%"
    jobs: str = ""
    """Label selector of pods to wait for."""
    force: bool = False
    delete_empty_dir: bool = False
    """Whether pods are deleted that have no owner, and those with local data."""
    drain: bool = False
    drain_force: bool = False
    drain_empties: bool = False


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    """What to write on a node, and which pods to evict."""

    state: str | None
    annotations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    is_cordoned: bool | None = None
    evicts: tuple[_Object, ...] = ()
    failure_message: str = ""
    """An event, where something failed."""


def read_policy(spec: _Object) -> Policy:
    """From a ClusterPolicy's spec."""
    policy = (spec.get("driver") or {}).get("upgradePolicy") or {}
    deletes, drain = policy.get("podDeletion") or {}, policy.get("drain") or {}
    return Policy(
        auto=policy.get("autoUpgrade") is True,
        parallel=policy.get("maxParallelUpgrades", 1),
        unavailable=policy.get("maxUnavailable", "25%"),
        jobs=(policy.get("waitForCompletion") or {}).get("podSelector") or "",
        force=deletes.get("force") is True,
        delete_empty_dir=deletes.get("deleteEmptyDir") is True,
        drain=drain.get("enable") is True,
        drain_force=drain.get("force") is True,
        drain_empties=drain.get("deleteEmptyDir") is True,
    )


def failure_reason(node: _Object) -> str:
    """Why the driver pod of a node does not start; empty where it runs."""
    notes = node["metadata"].get("annotations") or {}
    version, _, reason = notes.get(BROKEN, "").partition(": ")
    return reason if version and version == notes.get(POD) else ""


def steps(
    nodes: Mapping[str, _Object], policy: Policy, version: str, pods_on: PodsOn
) -> dict[str, UpgradeStep]:
    """One evaluation of all nodes with a driver pod."""
    managed = {
        name: node
        for name, node in sorted(nodes.items())
        if POD in (node["metadata"].get("annotations") or {})
    }
    if not policy.auto:
        return {name: UpgradeStep(None) for name, node in managed.items() if _state(node) != NEW}
    controller = _Controller(policy, version, pods_on)
    results = {name: controller.next(name, node) for name, node in managed.items()}
    begins = dict.fromkeys(_nodes_to_start(managed, policy), UpgradeStep(CORDON))
    return {name: step for name, step in (results | begins).items() if step is not None}


def _nodes_to_start(nodes: Mapping[str, _Object], policy: Policy) -> Iterator[str]:
    """Nodes that start now."""
    slots = _free(list(nodes.values()), policy)
    for name, node in nodes.items():
        skipped = _labels(node).get(SKIP_UPGRADE_LABEL) == "true"
        if _state(node) == REQUIRED and not skipped and (slots > 0 or _closed(node)):
            slots -= 1
            yield name


def _free(nodes: Sequence[_Object], policy: Policy) -> int:
    """How many more nodes may start."""
    states = Counter(map(_state, nodes))
    at_rest = sum(states[each] for each in _AT_REST)
    most = _scaled(policy.unavailable, len(nodes))
    away = sum(_closed(node) or not _ready(node) for node in nodes) + states[CORDON]
    if away >= most:
        return 0
    slots = policy.parallel - (len(nodes) - at_rest) if policy.parallel else states[REQUIRED]
    return min(slots, most - away if most < len(nodes) else most)


def _scaled(value: int | str, total: int) -> int:
    """A number, or a part of all, rounded up."""
    if isinstance(value, int):
        return value
    return math.ceil(int(value.removesuffix("%")) * total / 100)


@dataclass(frozen=True, slots=True)
class _Controller:
    policy: Policy
    version: str
    pods_on: PodsOn

    def next(self, name: str, node: _Object) -> UpgradeStep | None:  # noqa: PLR0911  a state each
        """The next state of a node that is already in progress."""
        match _state(node):
            case "" | "upgrade-done" as state:
                return self._rest(node, state)
            case "cordon-required":
                return UpgradeStep(JOBS, is_cordoned=True)
            case "wait-for-jobs-required":
                return None if self._jobs(name) else UpgradeStep(PODS)
            case "pod-deletion-required":
                return self._delete(name)
            case "drain-required":
                return self._drain(name)
            case "pod-restart-required":
                return self._restart(node)
            case "validation-required":
                return _end(node)
            case "upgrade-failed":
                return _end(node) if self._runs(node) else None
            case "uncordon-required":
                return UpgradeStep(DONE, is_cordoned=False)
            case _:
                return None

    def _rest(self, node: _Object, state: str) -> UpgradeStep | None:
        if self._synced(node):
            return UpgradeStep(DONE) if state == NEW else None
        return UpgradeStep(REQUIRED, {INITIAL: "true"} if _closed(node) else {})

    def _jobs(self, name: str) -> bool:
        """Whether a pod to wait for runs there; a pending one does not count."""
        return bool(self.policy.jobs) and any(
            _phase(pod) == "Running" and self.policy.jobs in _labels(pod)
            for pod in self.pods_on(name)
        )

    def _delete(self, name: str) -> UpgradeStep:
        pods = [pod for pod in self.pods_on(name) if _holds_gpus(pod)]
        if all(
            _may_go(pod, force=self.policy.force, empties=self.policy.delete_empty_dir)
            for pod in pods
        ):
            return UpgradeStep(DRAIN, evicts=tuple(pods))
        if self.policy.drain:
            return UpgradeStep(DRAIN)
        return UpgradeStep(FAILED, failure_message="Cannot delete all required pods")

    def _drain(self, name: str) -> UpgradeStep:
        if not self.policy.drain:
            return UpgradeStep(RESTART)
        pods = [pod for pod in self.pods_on(name) if not _by_daemon_set(pod)]
        force, empties = self.policy.drain_force, self.policy.drain_empties
        if all(_may_go(pod, force=force, empties=empties) for pod in pods):
            return UpgradeStep(RESTART, evicts=tuple(pods))
        return UpgradeStep(FAILED, failure_message="Failed to drain node")

    def _restart(self, node: _Object) -> UpgradeStep:
        if not self._synced(node):
            return UpgradeStep(RESTART, {POD: self.version})
        reason = failure_reason(node)
        return (
            UpgradeStep(FAILED, failure_message=f"driver {self.version}: {reason}")
            if reason
            else UpgradeStep(VALIDATE)
        )

    def _synced(self, node: _Object) -> bool:
        return bool(node["metadata"]["annotations"][POD] == self.version)

    def _runs(self, node: _Object) -> bool:
        return self._synced(node) and not failure_reason(node)


def _end(node: _Object) -> UpgradeStep:
    """A node that was cordoned before stays cordoned."""
    if INITIAL in node["metadata"]["annotations"]:
        return UpgradeStep(DONE, {INITIAL: None})
    return UpgradeStep(UNCORDON)


def _labels(item: _Object) -> Mapping[str, str]:
    return item["metadata"].get("labels") or {}


def _state(node: _Object) -> str:
    return _labels(node).get(UPGRADE_LABEL, NEW)


def _closed(node: _Object) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def _ready(node: _Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    return all(each["status"] == "True" for each in conditions if each["type"] == "Ready")


def _phase(pod: _Object) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def _owners(pod: _Object) -> list[_Object]:
    return [each for each in pod["metadata"].get("ownerReferences") or [] if each.get("controller")]


def _by_daemon_set(pod: _Object) -> bool:
    return any(each["kind"] == "DaemonSet" for each in _owners(pod))


def _holds_gpus(pod: _Object) -> bool:
    limits = [
        (each.get("resources") or {}).get("limits") or {} for each in pod["spec"]["containers"]
    ]
    return not _by_daemon_set(pod) and any(
        is_gpu_resource(name) for limit in limits for name in limit
    )


def _may_go(pod: _Object, *, force: bool, empties: bool) -> bool:
    """Whether it is deleted: it has an owner that replaces it, and no data on the node."""
    keeps = any("emptyDir" in each for each in pod["spec"].get("volumes") or [])
    return (force or bool(_owners(pod))) and (empties or not keeps)
