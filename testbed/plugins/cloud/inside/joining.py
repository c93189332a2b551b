"""Creates the nodes of an account's groups and pools in the control plane behind its cluster.

No process runs for this: each change of the account updates its nodes, under a lock. The owner is recorded
on the node itself. With a pace (`motion/pace.py`), a node that is not due is not created.
"""

import base64
import contextlib
import fcntl
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuyard_simulate.agents.cloud_node import (
    DEVICES,
    DRIVER,
    EFA_INTERFACES,
    GPUS_FROM,
    KUBELET,
)
from gpuyard_simulate.agents.node import FAKE
from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable
from testbed.plugins.cloud.inside import control_plane, definitions, eks, gke
from testbed.plugins.cloud.inside.control_plane import ControlPlane
from testbed.plugins.cloud.inside.node import Node
from testbed.plugins.cloud.inside.user_data import BadUserData
from testbed.plugins.cloud.motion import pace
from testbed.plugins.cloud.service.ties import Resource

CLOUD, GROUP, OWNED = (f"cloud.sim.gpuyard.dev/{name}" for name in ("account", "group", "owned"))
LOG = "instances.log"
"""In the account's folder: the messages of instances that did not join."""
NODES = "/api/v1/nodes"
_GONE = 404
_IN_THE_WAY = 409
_KINDS = {eks.GROUP: "aws:eks/cluster:Cluster", gke.POOL: "gcp:container/cluster:Cluster"}


def concerns(kind: str, at: str) -> bool:
    """Whether a change can affect nodes: of a group or pool, or the deletion of their cluster."""
    return kind in _KINDS or (at == "delete" and kind in _KINDS.values())


def asked_for(
    group: Resource, existing: Iterable[Resource], images: Mapping[str, str], inside: ControlPlane
) -> list[Node] | None:
    """The current nodes of a group or pool; None if its cluster has no control plane.

    BadUserData has the reason why none joins.
    """
    blocked = list(existing)
    name = group.inputs["clusterName" if group.kind == eks.GROUP else "cluster"]
    cluster = next(
        (
            each
            for each in blocked
            if each.kind == _KINDS[group.kind] and name in {each.id, each.inputs["name"]}
        ),
        None,
    )
    if cluster is None or not control_plane.answers_at(cluster, inside):
        return None
    return (
        eks.nodes(group, blocked, images) if group.kind == eks.GROUP else gke.nodes(group, blocked)
    )


def named(
    group: Resource, existing: Iterable[Resource], images: Mapping[str, str], inside: Path
) -> list[str]:
    """Names of the nodes of a group or pool, by number."""
    behind = control_plane.of(inside)
    try:
        result = asked_for(group, existing, images, behind) if behind else None
    except BadUserData:
        result = None  # running nodes were created from another template
    return [each.name for each in result or ()]


def remember(folder: Path, group: Resource, why: str) -> None:
    """Write the instances' messages; at the real cloud they are in the console output."""
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(f"{group.id}: {why}\n")


@dataclass(frozen=True)
class Coming:
    """Nodes on their way: the number for each group, and the seconds until the next one joins."""

    nodes: Mapping[str, int] = field(default_factory=dict[str, int])
    seconds: float = 0.0


def follow(
    folder: Path,
    cloud: str,
    existing: Iterable[Resource],
    images: Mapping[str, str],
    requested: dict[str, float],
    now: float,
) -> Coming:
    """Create, change and delete nodes until they match the account's groups.

    `asked` has the time at which each missing node was requested, and is kept by the caller.
    """
    inside = control_plane.of(folder)
    if inside is None:
        return Coming()
    blocked = list(existing)
    expected: dict[str, Node] = {}
    left_alone: set[str] = set()
    for group in blocked:
        if group.kind not in _KINDS or group.state.get("status") in _FAILED:
            continue
        try:
            result = asked_for(group, blocked, images, inside)
        except BadUserData:
            left_alone.add(group.id)  # running nodes do not need it
            continue
        expected |= {each.name: each for each in result or ()}
    return _Nodes(_api(inside), cloud, _Due(pace.read(folder), requested, now)).become(
        expected, left_alone
    )


def open_cluster(folder: Path, cluster: Resource) -> None:
    """Serve the kinds that a new cluster enables."""
    inside = control_plane.of(folder)
    if inside is not None and control_plane.answers_at(cluster, inside):
        definitions.serve(_api(inside), cluster)


def client(folder: Path) -> Api | None:
    """A client of the API server behind an account, or None."""
    inside = control_plane.of(folder)
    return _api(inside) if inside else None


def _api(inside: ControlPlane) -> Api:
    return Api(inside.server, inside.token, base64.b64decode(inside.authority).decode())


_FAILED = {"CREATE_FAILED", "CREATING", "ERROR"}


@contextlib.contextmanager
def in_turn(folder: Path) -> Any:
    """Lock: only one process at a time updates an account's nodes."""
    with (folder / "nodes.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass
class _Due:
    """Which nodes are due."""

    pace: pace.Pace
    asked: dict[str, float]
    now: float
    coming: Counter[str] = field(default_factory=Counter[str])
    waits: list[float] = field(default_factory=list[float])

    def is_there(self, node: Node) -> bool:
        """Whether its instance has booted; a new one is requested now."""
        remaining = self.asked.setdefault(node.name, self.now) - self.now
        remaining += pace.takes(node, self.pace).joins
        if remaining > 0:
            self.coming[node.group] += 1
            self.waits.append(remaining)
            return False
        del self.asked[node.name]
        return True

    def gpus_from(self, node: Node) -> float | None:
        """When its driver is ready; None: it is ready."""
        seconds = pace.takes(node, self.pace).counted
        return self.now + seconds if seconds else None

    def forget(self, expected: Mapping[str, Node]) -> None:
        """Drop nodes that are no longer needed before they joined."""
        for name in self.asked.keys() - expected.keys():
            del self.asked[name]


class _Nodes:
    """Nodes of one account in the API server."""

    def __init__(self, api: Api, cloud: str, due: _Due) -> None:
        self._api = api
        self._cloud = cloud
        self._due = due

    def become(self, expected: Mapping[str, Node], left_alone: set[str]) -> Coming:
        """Create missing due nodes, change differing ones, drain and delete unneeded ones."""
        here = {
            one["metadata"]["name"]: one
            for one in nodes_of(self._api)
            if _note(one, CLOUD) == self._cloud
        }
        self._due.forget(expected)
        for name, node in expected.items():
            if name in here:
                self._change(here[name], node)
            elif self._due.is_there(node):
                self._make(node)
        for name, item in here.items():
            if name not in expected and _note(item, GROUP) not in left_alone:
                empty(self._api, name)
                remove(self._api, name)
        return Coming(dict(self._due.coming), min(self._due.waits, default=0.0))

    def _make(self, node: Node) -> None:
        created = _manifest(node, self._cloud)
        if (answers := self._due.gpus_from(node)) is not None:
            created["metadata"]["annotations"][GPUS_FROM] = str(answers)
        try:
            self._api.call("POST", NODES, created)
        except ApiError as problem:
            if problem.status != _IN_THE_WAY:
                raise

    def _change(self, item: ApiObject, node: Node) -> None:
        """Update the group's labels and taints on running nodes; others stay."""
        fresh = _manifest(node, self._cloud)
        if _note(item, OWNED) == fresh["metadata"]["annotations"][OWNED]:
            return
        before = json.loads(_note(item, OWNED) or '{"labels": {}, "taints": []}')
        removed = dict.fromkeys(set(before["labels"]) - set(node.labels))
        others = [
            each
            for each in item["spec"].get("taints") or []
            if _key(each) not in {_key(old) for old in before["taints"]}
        ]
        change = {
            "metadata": {
                "labels": {**removed, **node.labels},
                "annotations": fresh["metadata"]["annotations"],
            },
            "spec": {"taints": [*others, *node.taints]},
        }
        self._api.patch(f"{NODES}/{node.name}", change)


def nodes_of(api: Api) -> list[ApiObject]:
    """All nodes, including those of other creators."""
    return list(api.call("GET", NODES)["items"])


def group_of(node: ApiObject) -> str:
    """Id of its group or pool; empty for a node that no account created."""
    return _note(node, GROUP)


def pods_on(api: Api, name: str) -> list[ApiObject]:
    """The pods of a node."""
    return list(api.call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")["items"])


def empty(api: Api, name: str) -> None:
    """Cordon a node and evict its pods, without waiting for them."""
    api.patch(f"{NODES}/{name}", {"spec": {"unschedulable": True}})
    for pod in pods_on(api, name):
        meta = pod["metadata"]
        where = {"name": meta["name"], "namespace": meta["namespace"]}
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/eviction"
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": where}
        with contextlib.suppress(ApiError, Unreachable):  # other pods end with the node
            api.call("POST", path, body)


def remove(api: Api, name: str) -> None:
    """Delete a node whose machine is gone."""
    try:
        api.call("DELETE", f"{NODES}/{name}")
    except ApiError as problem:
        if problem.status != _GONE:
            raise


def _note(item: ApiObject, name: str) -> str:
    return str((item["metadata"].get("annotations") or {}).get(name, ""))


def _key(taint: Mapping[str, Any]) -> tuple[str, str]:
    return taint["key"], taint["effect"]


def _manifest(node: Node, cloud: str) -> ApiObject:
    """The node as its kubelet registers it, with the annotations for the simulated cluster's agents."""
    messages = {"capacity": dict(node.capacity), "allocatable": dict(node.allocatable)}
    taints = [dict(each) for each in node.taints]
    notes = {
        FAKE: "fake",
        CLOUD: cloud,
        GROUP: node.group,
        OWNED: json.dumps({"labels": dict(node.labels), "taints": taints}, sort_keys=True),
        KUBELET: json.dumps(messages, sort_keys=True),
    }
    if node.efa:
        notes[EFA_INTERFACES] = str(node.efa)
    if not node.driver:
        notes[DRIVER] = "none"
    elif node.driver_version:
        notes[DRIVER] = node.driver_version
    if node.devices is not None:
        notes[DEVICES] = json.dumps(dict(node.devices), sort_keys=True)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels), "annotations": notes},
        "spec": {"providerID": node.provider_id, "taints": taints},
        "status": messages,
    }
