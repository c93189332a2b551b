"""Pods with a share of a fake GPU: how many the real Job says run at once, and how a wrong layout looks."""

import json
import time
from typing import Any

import pytest

from gpuyard.render.validation.shares import share_checks, share_text
from gpuyard.render.validation.work import work_objects
from gpuyard_simulate.agents.hardware import MACHINE_LABEL
from gpuyard_simulate.validation import shares
from gpuyard_simulate.validation.machine import FAULTS, machine_text
from gpuyard_simulate.validation.pods import FakeValidator, is_running_validator
from gpuyard_simulate.validation.shares import FakeShares, SharePod, is_share, observation_text
from kit.stacks import plan_of, platform, shared_pool

PLAN = plan_of(
    platform([shared_pool()], cloud="simulated", validation={"image": "x", "profile": "full"})
)
JOB = work_objects(PLAN)[-1]
NAME = JOB["metadata"]["name"]
EXPECTED = share_text(share_checks(PLAN)[0])
JOB_PATH = f"/apis/batch/v1/namespaces/gpuyard-lab/jobs/{NAME}"
POD_PATH = "/api/v1/namespaces/gpuyard-lab/pods/share-0"


def pod(**status: Any) -> dict[str, Any]:
    metadata = {"name": "share-0", "namespace": "gpuyard-lab", "uid": "1"}
    spec = JOB["spec"]["template"]["spec"] | {"nodeName": "dev-000"}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"} | status}


def node(faults: str = "{}", strategy: str = "time-slicing") -> dict[str, Any]:
    labels = {MACHINE_LABEL: "g6.12xlarge", "nvidia.com/gpu.sharing-strategy": strategy}
    return {"metadata": {"name": "dev-000", "labels": labels, "annotations": {FAULTS: faults}}}


class FakeApi:
    def __init__(self, ready: int = 0, succeeded: int = 0) -> None:
        self.pod: Any = pod()
        self.patches: list[Any] = []
        self.job(ready, succeeded)

    def job(self, ready: int, succeeded: int = 0) -> None:
        self.status = {"ready": ready or None, "succeeded": succeeded or None}

    def get(self, path: str) -> Any:
        if "configmaps" in path:
            return {"data": {"share.json": EXPECTED}}
        return {JOB_PATH: {"status": self.status}, POD_PATH: self.pod}[path]

    def patch(self, path: str, change: Any) -> None:
        assert path == f"{POD_PATH}/status"
        self.patches.append(change["status"])


def ended(api: FakeApi, there: Any) -> tuple[str, str]:
    """How the pod ends once it has looked long enough: its phase and its last words."""
    made = FakeValidator(api, lambda _: there, lambda _: None)  # type: ignore[arg-type]  a stand-in
    made.check(pod())
    now = time.monotonic()
    for second in range(10_000):
        made.look_at_shares(now + second)
        if api.patches:
            (said,) = api.patches
            return said["phase"], said["containerStatuses"][0]["state"]["terminated"]["message"]
    pytest.fail("it never ended")


def test_a_pod_of_a_share_is_one_of_the_checks():
    assert is_running_validator(pod())
    assert is_share(pod())
    other = pod()
    other["spec"] = {"containers": [{}]}
    assert not is_share(other)
    assert not is_running_validator(other)


def test_all_shares_at_once_pass():
    phase, words = ended(FakeApi(ready=16), node())
    assert (phase, words.splitlines()[0]) == (
        "Succeeded",
        "passed: node dev-000, pool dev: 3 checks ran, 0 failed",
    )
    assert '"share.together":{"min":16,"max":16,"floor":16,"unit":"pods"' in words


@pytest.mark.parametrize(
    ("ready", "faults", "says"),
    [
        (
            12,
            "{}",
            "fail: share.together on nvidia.com/gpu.shared: only 12 of 16 shares were usable",
        ),
        (
            17,
            "{}",
            "fail: share.waits on nvidia.com/gpu.shared: 1 more pods ran at once than the plan's 16 shares",
        ),
        (
            16,
            '{"share": {"devices": 4}}',
            "fail: share.devices on nvidia.com/gpu.shared: the pod sees 4",
        ),
        (16, "{", "cannot run: seen: not JSON"),
        (16, "[]", "cannot run: document: must be an object"),
    ],
)
def test_a_wrong_layout_shows(ready: int, faults: str, says: str):
    phase, words = ended(FakeApi(ready=ready), node(faults))
    assert phase == "Failed"
    assert says in words


def test_one_that_had_to_wait_passes():
    assert ended(FakeApi(ready=1, succeeded=16), node())[0] == "Succeeded"


def test_one_that_began_before_its_job_had_counted_who_ended_has_waited_all_the_same():
    share = SharePod(pod(), EXPECTED, 0.0)
    share.sees({"status": {"ready": 15}})
    assert not share.late
    share.sees({"status": {"ready": 1, "succeeded": 16}})
    assert share.late


def test_memory_is_held_to_a_share_where_the_node_shares_by_mps():
    share = SharePod(pod(), EXPECTED, 0.0)
    assert json.loads(observation_text(node(), share))["beyond"]
    assert not json.loads(observation_text(node(strategy="mps"), share))["beyond"]
    bare = {"metadata": {"name": "dev-000"}}
    assert json.loads(observation_text(bare, SharePod(pod(), "none", 0.0)))["beyond"]
    assert json.loads(observation_text(bare, SharePod(pod(), "[]", 0.0)))["devices"] == 1


@pytest.mark.parametrize("now", [None, pod(phase="Failed"), pod() | {"metadata": {"uid": "2"}}])
def test_a_pod_that_went_while_it_waited_is_let_go(now: Any):
    api = FakeApi(ready=16)
    made = FakeValidator(api, lambda _: node(), lambda _: None)  # type: ignore[arg-type]  a stand-in
    made.check(pod())
    api.pod = now
    for second in range(20):
        made.look_at_shares(time.monotonic() + second)
    assert api.patches == []
    assert not made._shares


def test_it_looks_twice_a_second_and_no_more():
    api = FakeApi(ready=16)
    made = FakeShares(api)  # type: ignore[arg-type]  a stand-in
    other = pod()
    other["spec"] = {"containers": [{"command": [shares.PACKAGE]}]}
    made.start(pod(), EXPECTED, 0.0)
    made.start(pod(), EXPECTED, 0.0)
    assert made.look(0.0) == []
    assert [made.look(0.1 * tick) for tick in range(4)] == [[]] * 4
    (share,) = made._waiting.values()
    assert share.held == 1
    made.forget(share)
    assert not made
    assert shares._option(other, "--job") == ""


def test_what_a_share_finds_is_no_fault_of_the_machine():
    said = '{"share": {"devices": 4}, "0": {"remap_pending": true}}'
    found = json.loads(machine_text(node(said)))
    assert found["gpus"][0]["remap_pending"] is True
