"""Carries out the upgrade controller's decisions: writes nodes and evicts pods."""

from collections.abc import Callable, Mapping
from typing import Any

from gpuyard_core.names import UPGRADE_LABEL
from gpuyard_simulate.api import Api, ApiError, ApiObject, merge_if_exists
from gpuyard_simulate.drivers.upgrading import DRAIN, JOBS, PODS, UpgradeStep, read_policy, steps

_GONE = 404
_HELD = 429
"""A PodDisruptionBudget blocks the eviction for now."""
Tell = Callable[[ApiObject, str], None]


class FakeUpgrades:
    """Evaluates all nodes at once, as the real one does, after every change."""

    def __init__(self, api: Api, tell: Tell) -> None:
        self._api = api
        self._tell = tell

    def look(
        self, nodes: Mapping[str, ApiObject], policy: ApiObject, pods: Mapping[str, ApiObject]
    ) -> None:
        """One evaluation; its writes trigger the next one."""
        spec = policy["spec"]
        driver = spec.get("driver") or {}
        version = "" if driver.get("enabled") is False else str(driver.get("version") or "")
        if not version:
            return

        def on(name: str) -> list[ApiObject]:
            return [pod for pod in pods.values() if pod["spec"].get("nodeName") == name]

        for name, step in steps(nodes, read_policy(spec), version, on).items():
            self._carry_out(nodes[name], step)

    def _carry_out(self, node: ApiObject, step: UpgradeStep) -> None:
        for pod in step.evicts:
            if not self._evict(pod):
                return  # the next evaluation tries again
        change: ApiObject = {"metadata": {"labels": {UPGRADE_LABEL: step.state}}}
        if step.annotations:
            change["metadata"]["annotations"] = dict(step.annotations)
        if step.is_cordoned is not None:
            change["spec"] = {"unschedulable": step.is_cordoned or None}
        if step.failure_message:
            self._tell(node, step.failure_message)
        merge_if_exists(self._api, f"/api/v1/nodes/{node['metadata']['name']}", change)

    def _evict(self, pod: Mapping[str, Any]) -> bool:
        """Whether the pod is deleted."""
        space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": space, "name": name},
        }
        try:
            self._api.call("POST", f"/api/v1/namespaces/{space}/pods/{name}/eviction", body)
        except ApiError as problem:
            if problem.status == _HELD:
                return False
            if problem.status != _GONE:
                raise
        return True


def waits_for_pods(nodes: Mapping[str, ApiObject]) -> bool:
    """Whether the end of a pod can let the controller continue."""
    states = {
        (each["metadata"].get("labels") or {}).get(UPGRADE_LABEL, "") for each in nodes.values()
    }
    return bool(states & {JOBS, PODS, DRAIN})
