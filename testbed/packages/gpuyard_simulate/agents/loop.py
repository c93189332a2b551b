"""Watch nodes, ConfigMaps and the ClusterPolicy, and write what the fakes decide."""

import hashlib
import queue
import sys
import threading
import time
from typing import Final

from gpuyard_simulate.adapters.plugin import RunningPlugin, find_running_plugin
from gpuyard_simulate.agents import cluster_policy, gpu_operator, kubelet, node
from gpuyard_simulate.agents.cache import Watched
from gpuyard_simulate.agents.cloud_node import agent_in
from gpuyard_simulate.agents.provisioning import FakeAutoscaler
from gpuyard_simulate.api import Api, ApiError, ApiObject, Unreachable, merge_if_exists
from gpuyard_simulate.drivers.controller import FakeUpgrades, waits_for_pods
from gpuyard_simulate.validation.gate import FakeGate
from gpuyard_simulate.validation.pods import FakeValidator

_NODES: Final = "/api/v1/nodes"
_MAPS: Final = f"/api/v1/namespaces/{gpu_operator.NAMESPACE}/configmaps"
_PODS: Final = "/api/v1/pods"
_ON_NODES: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
_RETRY_SECONDS: Final = 1.0


class Agents:
    """All fakes of one cluster; only this class talks to its API server."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._work: queue.Queue[str | None] = queue.Queue()
        self._gate = FakeGate(api, say)
        self._nodes = Watched(api, _NODES, self._node_changed)
        self._maps = Watched(api, _MAPS, self._all_again)
        self._policies = Watched(api, cluster_policy.KIND_PATH, self._all_again)
        self._pods = Watched(api, _PODS, self._pod_changed, _ON_NODES)
        self._provisioning = FakeAutoscaler(api, say)
        self._validator = FakeValidator(api, self._fake_node, say)
        self._upgrades = FakeUpgrades(api, self._tell_of_driver)
        self._classed = ""
        self._agents: dict[str, tuple[str, str]] = {}
        """For pods that advertise devices or install a driver: the node, and which pods."""
        self._waiting: set[str] = set()
        """Nodes on which an operand of the operator does not start."""
        self._later: dict[str, float] = {}
        """When to evaluate nodes again whose driver does not respond yet."""
        self._adapters: dict[str, RunningPlugin] = {}
        """By node, the plugin that advertises network adapters."""

    def run(self) -> None:
        """Work until the process is stopped."""
        for watched in (self._nodes, self._maps, self._policies, self._pods):
            watched.start()
        self._provisioning.start()
        self._validator.start()
        self._gate.start()
        say("watching")
        while True:
            names = self._wait_for_work()
            try:
                self._work_on(names)
            except (ApiError, Unreachable) as problem:
                say(f"again in {_RETRY_SECONDS:.0f} s: {problem}")
                time.sleep(_RETRY_SECONDS)
                self._work.put(None)

    def _node_changed(self, name: str | None) -> None:
        self._work.put(name)
        self._gate.wake()

    def _all_again(self, _name: str | None) -> None:
        self._follow_adapters()  # its pod may arrive before its ConfigMap
        self._work.put(None)

    def _wait_for_work(self) -> set[str | None]:
        """All pending events as one set: many changes of one node need one evaluation."""
        names = {self._work.get()}
        while not self._work.empty():
            names.add(self._work.get())
        return names

    def _work_on(self, names: set[str | None]) -> None:
        nodes = self._nodes.all()
        chosen = sorted(nodes if None in names else set(nodes) & names, key=str)
        wishes = self._operator()
        if None in names and wishes:
            self._make_runtime_class()
        for name in chosen:
            if node.is_fake_node(nodes[name]):
                self._write(nodes[name], wishes)
        self._waiting &= nodes.keys()
        if wishes:
            self._exchange_drivers()
            self._report_policy(wishes)

    def _exchange_drivers(self) -> None:
        policy = self._policies.all().get(gpu_operator.POLICY)
        if policy is not None:
            nodes = self._nodes.all()
            ours = {name: each for name, each in nodes.items() if node.is_fake_node(each)}
            self._upgrades.look(ours, policy, self._pods.all())

    def _tell_of_driver(self, item: ApiObject, message: str) -> None:
        self._report(item, node.Event("GPUDriverUpgrade", message, "gpu-operator"))

    def _operator(self) -> gpu_operator.Operator | None:
        policy = self._policies.all().get(gpu_operator.POLICY)
        return gpu_operator.read_operator(policy, self._config_maps())

    def _report_policy(self, wishes: gpu_operator.Operator) -> None:
        policy = self._policies.all().get(gpu_operator.POLICY)  # it may be deleted by now
        status = cluster_policy.status(wishes, self._waiting)
        if policy is not None and cluster_policy.needs_update(policy, status):
            path = f"{cluster_policy.KIND_PATH}/{gpu_operator.POLICY}/status"
            merge_if_exists(self._api, path, {"status": status})

    def _make_runtime_class(self) -> None:
        """The operator creates it with the policy and removes it with the policy."""
        policy = self._policies.all().get(gpu_operator.POLICY)
        if policy is not None and policy["metadata"]["uid"] != self._classed:
            self._api.apply(cluster_policy.runtime_class(policy))
            self._classed = policy["metadata"]["uid"]

    def _fake_node(self, name: str) -> ApiObject | None:
        result = self._nodes.all().get(name)
        return result if result is not None and node.is_fake_node(result) else None

    def _pod_changed(self, changed: str | None) -> None:
        self._follow_agents()
        self._admit(changed)
        if waits_for_pods(self._nodes.all()):
            self._work.put("")  # no node has changed, and the operator continues with one
        pods = self._pods.all()
        self._gate.wake(pods)
        for name in pods if changed is None else {changed} & pods.keys():
            self._validator.take(pods[name])

    def _follow_agents(self) -> None:
        """Evaluate nodes again on which an agent pod has started or ended."""
        before = self._agents
        results = {
            name: (pod["spec"]["nodeName"], agent_in(pod)) for name, pod in self._pods.all().items()
        }
        self._agents = {name: each for name, each in results.items() if each[1]}
        for node_name, _ in set(before.values()) ^ set(self._agents.values()):
            self._work.put(node_name)
        self._follow_adapters()

    def _follow_adapters(self) -> None:
        """The same for the adapter plugin; its ConfigMap is in the operator's namespace."""
        before, maps = self._adapters, self._config_maps()
        plugins = [
            (pod["spec"]["nodeName"], find_running_plugin(pod, maps))
            for pod in self._pods.all().values()
        ]
        self._adapters = {where: plugin for where, plugin in plugins if plugin is not None}
        for where in before.keys() | self._adapters.keys():
            if before.get(where) != self._adapters.get(where):
                self._work.put(where)

    def _config_maps(self) -> dict[str, dict[str, str]]:
        return {name: item.get("data") or {} for name, item in self._maps.all().items()}

    def _admit(self, changed: str | None) -> None:
        """Fail pods that a device plugin rejects, even if they have been started meanwhile."""
        pods, nodes = self._pods.all(), self._nodes.all()
        wishes = self._operator()
        for name in pods if changed is None else {changed} & pods.keys():
            pod = pods[name]
            node_object = nodes.get(pod["spec"]["nodeName"])
            why = node.refuses_pod(node_object, pod, wishes) if node_object else ""
            if why:
                namespace, _, own = name.partition("/")
                path = f"/api/v1/namespaces/{namespace}/pods/{own}/status"
                try:
                    merge_if_exists(self._api, path, {"status": kubelet.failed_pod_status(why)})
                except (ApiError, Unreachable) as problem:
                    say(f"cannot record that {name} is rejected: {problem}")

    def _write(self, item: ApiObject, wishes: gpu_operator.Operator | None) -> None:
        name = item["metadata"]["name"]
        agents = frozenset(agent for where, agent in self._agents.values() if where == name)
        adapters = self._adapters.get(name)
        changes = node.changes(
            item, wishes, lambda: self._gpu_pods(name), agents, adapters, time.time()
        )
        self._look_again(name, changes.requeue)
        (self._waiting.add if changes.is_pending else self._waiting.discard)(name)
        # Capacity first: a state label that says success must not be seen before its devices.
        if changes.status:
            merge_if_exists(self._api, f"{_NODES}/{name}/status", {"status": changes.status})
        if changes.metadata:
            merge_if_exists(self._api, f"{_NODES}/{name}", {"metadata": changes.metadata})
        for event in changes.events:
            self._report(item, event)
        if changes.reboots:
            for pod in self._holders(name):
                where, own = pod["metadata"]["namespace"], pod["metadata"]["name"]
                status = {"status": kubelet.failed_pod_status(kubelet.NO_DEVICES)}
                merge_if_exists(self._api, f"/api/v1/namespaces/{where}/pods/{own}/status", status)

    def _look_again(self, name: str, when: float | None) -> None:
        """No event announces that a driver responds: a scheduled evaluation finds it."""
        if when is None:
            self._later.pop(name, None)
        elif self._later.get(name) != when:
            self._later[name] = when
            timer = threading.Timer(max(0.0, when - time.time()), self._work.put, (name,))
            timer.daemon = True
            timer.start()

    def _gpu_pods(self, name: str) -> int:
        """Number of pods on a node that use devices."""
        return len(self._holders(name))

    def _holders(self, name: str) -> list[ApiObject]:
        pods = self._api.call("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")["items"]
        running = [
            pod for pod in pods if pod.get("status", {}).get("phase") in {"Pending", "Running"}
        ]
        return [pod for pod in running if _holds_devices(pod)]

    def _report(self, item: ApiObject, event: node.Event) -> None:
        """Write an Event once for each distinct message about a node."""
        name = item["metadata"]["name"]
        digest = hashlib.sha256(f"{event.reason}{event.message}".encode()).hexdigest()[:10]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{name}.{digest}", "namespace": "default"},
            "involvedObject": {"kind": "Node", "name": name, "uid": name},
            "reason": event.reason,
            "message": event.message,
            "type": "Warning",
            "source": {"component": event.component, "host": name},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self._api.call("POST", "/api/v1/namespaces/default/events", body)
            say(f"{name}: {event.reason}: {event.message}")
        except ApiError as problem:
            if problem.status != 409:  # noqa: PLR2004  it is already recorded
                raise


def _holds_devices(pod: ApiObject) -> bool:
    limits = (c.get("resources", {}).get("limits") or {} for c in pod["spec"]["containers"])
    return any(key.startswith("nvidia.com/") for limit in limits for key in limit)


def say(line: str) -> None:
    """One line into the log."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()
