"""Scheduled interruptions of machines.

On EC2 a notice is an event of EventBridge. If the machine ends after it, EKS cordons and drains the node of
a managed group, and Karpenter drains its own node when it reads its queue. At the end the instance is gone
without a further signal to its pods, and EventBridge gets the event that it shuts down. On GKE the node has a
taint from the notice on. Its kubelet ends non-critical pods after the first half; after the second half the
machine is gone, and a replacement has the same name.

Sources: EKS user guide, managed node groups; catalogue/kubernetes/interruptions.py; GKE concepts, Spot VMs:
pods that are ended are `Failed`, with reason `Terminated`; Kubernetes, Pod disruption conditions: a pod that its
kubelet ends because its node shuts down has `DisruptionTarget` with reason `TerminationByKubelet`.
"""

import contextlib
from dataclasses import dataclass, field
from typing import Any

from gpuyard_core.catalogue.kubernetes.interruptions import NOTICE_SECONDS
from gpuyard_core.catalogue.kubernetes.karpenter import CAPACITY_TYPE, POOL_OF_NODE
from gpuyard_simulate.api import Api, ApiError, ApiObject
from testbed.plugins.cloud.inside import joining
from testbed.plugins.cloud.motion import notices
from testbed.plugins.cloud.motion.notices import NOTICES
from testbed.plugins.cloud.motion.schedule import Interruption, Schedule
from testbed.plugins.cloud.shapes import ACCOUNT

IMPENDING = "cloud.google.com/impending-node-termination"
_SPOT = {
    "eks.amazonaws.com/capacityType": "SPOT",
    CAPACITY_TYPE: "spot",
    "cloud.google.com/gke-spot": "true",
}
_CRITICAL = ("system-cluster-critical", "system-node-critical")
_OVER = ("Succeeded", "Failed")
_SHUT_DOWN = "Pod was terminated in response to imminent node shutdown."
_READY = ("Ready", "ContainersReady")
_REGION = "topology.kubernetes.io/region"
_GONE = 404
PENDING, TOLD, ENDED, GONE = "pending", "told", "ended", "gone"
Progress = dict[str, list[str]]
"""By the schedule's start and the index: the progress of an interruption, and its node."""


@dataclass
class Happened:
    """Results of one pass that the account must record."""

    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    gone: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Removed nodes with their group or pool; no Karpenter nodes."""


def let_pass(api: Api, cloud: str, schedule: Schedule, progress: Progress, now: float) -> Happened:
    """Perform everything that is due, in order."""
    happened = Happened()
    for place, each in enumerate(schedule.interruptions):
        if NOTICES[each.notice].cloud == cloud and schedule.at(each) <= now:
            _Machine(api, schedule, each, place, happened).let_pass(progress, now)
    return happened


class _Machine:
    """One interruption."""

    def __init__(
        self, api: Api, schedule: Schedule, each: Interruption, place: int, happened: Happened
    ) -> None:
        self._api = api
        self._schedule = schedule
        self._each = each
        self._notice = NOTICES[each.notice]
        self._place = place
        self._key = f"{schedule.begins}/{place}"
        self._happened = happened

    def let_pass(self, progress: Progress, now: float) -> None:
        stage, name = progress.get(self._key, ["", ""])
        if stage in {PENDING, GONE}:
            return
        nodes = {one["metadata"]["name"]: one for one in joining.nodes_of(self._api)}
        if not stage:
            mine = [name for name, node in nodes.items() if self._concerns(node)]
            if not mine:
                progress[self._key] = [PENDING, ""]
                return
            name = self._schedule.chosen(self._place, mine)
            self._tell(nodes[name])
            stage = TOLD
        if stage == TOLD and self._ended_at(now):
            self._end_pods(name, now)
            stage = ENDED
        if self._gone_at(now):
            self._take(nodes.get(name), name)
            stage = GONE
        progress[self._key] = [stage, name]

    def _concerns(self, node: ApiObject) -> bool:
        labels = node["metadata"].get("labels") or {}
        named = (joining.group_of(node), labels.get(POOL_OF_NODE, ""))
        if not any(self._each.pool in name for name in named):
            return False
        if self._notice.spot and not any(labels.get(k) == v for k, v in _SPOT.items()):
            raise ValueError(
                f"{node['metadata']['name']} of {self._each.pool} is not a spot machine, and gets no"
                f" notice {self._each.notice}"
            )
        return "deletionTimestamp" not in node["metadata"]

    def _since(self, now: float) -> float:
        return (now - self._schedule.at(self._each)) / self._schedule.factor

    def _ended_at(self, now: float) -> bool:
        return self._notice.cloud == "gcp" and self._since(now) >= NOTICE_SECONDS["gcp"]

    def _gone_at(self, now: float) -> bool:
        seconds = self._notice.seconds
        return seconds is not None and self._since(now) >= seconds

    def _tell(self, node: ApiObject) -> None:
        name = node["metadata"]["name"]
        if self._notice.cloud == "gcp":
            taint = {"key": IMPENDING, "effect": "NoSchedule"}
            taints = [*(node["spec"].get("taints") or []), taint]
            self._api.patch(f"{joining.NODES}/{name}", {"spec": {"taints": taints}})
            return
        self._say(self._each.notice, node, self._schedule.at(self._each))
        if joining.group_of(node) and self._notice.seconds:
            joining.empty(self._api, name)

    def _say(self, word: str, node: ApiObject, at: float) -> None:
        instance = node["spec"].get("providerID", "").rpartition("/")[2]
        region = (node["metadata"].get("labels") or {}).get(_REGION, "")
        self._happened.events.append(notices.event(word, instance, ACCOUNT, region, at))

    def _end_pods(self, name: str, now: float) -> None:
        for pod in joining.pods_on(self._api, name):
            over = (pod.get("status") or {}).get("phase") in _OVER
            if over or pod["spec"].get("priorityClassName") in _CRITICAL:
                continue
            where, own = pod["metadata"]["namespace"], pod["metadata"]["name"]
            path = f"/api/v1/namespaces/{where}/pods/{own}/status"
            with contextlib.suppress(ApiError):  # already gone
                self._api.patch(path, {"status": _ended(pod, now)})

    def _take(self, node: ApiObject | None, name: str) -> None:
        if node is None:
            return  # another process was faster and removed it
        if self._notice.cloud == "aws" and self._each.notice != notices.STATE:
            ends = (
                self._schedule.at(self._each) + (self._notice.seconds or 0) * self._schedule.factor
            )
            self._say(notices.STATE, node, ends)
        joining.remove(self._api, name)
        if group := joining.group_of(node):
            self._happened.gone.append((group, name))


def _ended(pod: ApiObject, now: float) -> dict[str, Any]:
    """The status that its kubelet writes for a pod then: terminated, and no longer ready."""
    since = notices.written(now)
    retained = [
        {**each, "status": "False", "lastTransitionTime": since} if each["type"] in _READY else each
        for each in pod["status"].get("conditions") or ()
    ]
    put_out = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": _SHUT_DOWN,
        "lastTransitionTime": since,
    }
    return {
        "phase": "Failed",
        "reason": "Terminated",
        "message": _SHUT_DOWN,
        "conditions": [*retained, put_out],
    }
