"""What the fake upgrade controller writes, and whom it puts out."""

from typing import Any

import pytest

from gpuyard_core.names import UPGRADE_LABEL
from gpuyard_simulate.api import ApiError
from gpuyard_simulate.drivers.controller import FakeUpgrades, waits_for_pods
from gpuyard_simulate.drivers.upgrading import BROKEN, INITIAL, POD

NEW = "595.91.07"


class FakeApi:
    """Notes what it is sent; evictions may be answered with an error."""

    def __init__(self, status: int = 0) -> None:
        self.status = status
        self.done: list[Any] = []

    def call(self, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert (method, body["kind"]) == ("POST", "Eviction")
        if self.status:
            raise ApiError(self.status, "no")
        self.done.append(path)
        return {}

    def patch(self, path: str, change: dict[str, Any]) -> None:
        self.done.append((path, change))


def policy(**driver: Any) -> dict[str, Any]:
    return {"spec": {"driver": {"upgradePolicy": {"autoUpgrade": True}, "version": NEW, **driver}}}


def node(state: str, pod: str = "580.1", **more: Any) -> dict[str, Any]:
    metadata = {"name": "a", "labels": {UPGRADE_LABEL: state}}
    metadata |= {"annotations": {POD: pod, **more.pop("notes", {})}}
    return {"metadata": metadata, **more}


POD_OF_A_JOB = {
    "metadata": {
        "name": "one",
        "namespace": "vision",
        "ownerReferences": [{"kind": "Job", "controller": True}],
    },
    "spec": {
        "nodeName": "a",
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}],
    },
    "status": {"phase": "Running"},
}


def looked(api: FakeApi, item: dict[str, Any], asks: Any = None, *pods: Any) -> list[Any]:
    said: list[Any] = []
    fake = FakeUpgrades(api, lambda where, what: said.append((where["metadata"]["name"], what)))  # type: ignore[arg-type]
    fake.look({"a": item}, asks or policy(), {str(n): pod for n, pod in enumerate(pods)})
    return said


def labelled(state: str | None, **more: Any) -> Any:
    metadata = {"labels": {UPGRADE_LABEL: state}, **more.pop("metadata", {})}
    return ("/api/v1/nodes/a", {"metadata": metadata, **more})


def test_a_step_is_one_change_of_the_node():
    api = FakeApi()
    looked(api, node("cordon-required"))
    looked(api, node("uncordon-required"))
    looked(api, node("upgrade-done", spec={"unschedulable": True}))
    assert api.done == [
        labelled("wait-for-jobs-required", spec={"unschedulable": True}),
        labelled("upgrade-done", spec={"unschedulable": None}),
        labelled("upgrade-required", metadata={"annotations": {INITIAL: "true"}}),
    ]


@pytest.mark.parametrize(
    "asks", [policy(enabled=False), policy(version=""), {"spec": {}}], ids=["off", "none", "empty"]
)
def test_without_a_driver_nobody_looks(asks):
    api = FakeApi()
    looked(api, node("upgrade-done"), asks)
    assert api.done == []


def test_pods_on_the_node_are_put_out_before_its_state_changes():
    api = FakeApi()
    other = {**POD_OF_A_JOB, "spec": {**POD_OF_A_JOB["spec"], "nodeName": "b"}}
    looked(api, node("pod-deletion-required"), None, POD_OF_A_JOB, other)
    assert api.done == ["/api/v1/namespaces/vision/pods/one/eviction", labelled("drain-required")]


def test_a_pod_that_a_budget_keeps_is_tried_again_and_one_that_is_gone_is_not_missed():
    held, gone = FakeApi(429), FakeApi(404)
    looked(held, node("pod-deletion-required"), None, POD_OF_A_JOB)
    looked(gone, node("pod-deletion-required"), None, POD_OF_A_JOB)
    assert (held.done, gone.done) == ([], [labelled("drain-required")])
    with pytest.raises(ApiError):
        looked(FakeApi(500), node("pod-deletion-required"), None, POD_OF_A_JOB)


def test_what_fails_is_told():
    broken = node("pod-restart-required", NEW, notes={BROKEN: f"{NEW}: no symbol version"})
    api = FakeApi()
    assert looked(api, broken) == [("a", f"driver {NEW}: no symbol version")]
    assert api.done == [labelled("upgrade-failed")]


@pytest.mark.parametrize(
    ("state", "waits"),
    [("wait-for-jobs-required", True), ("pod-deletion-required", True), ("upgrade-done", False)],
)
def test_pods_are_watched_where_a_node_waits_for_them(state, waits):
    assert waits_for_pods({"a": node(state), "b": {"metadata": {}}}) is waits
