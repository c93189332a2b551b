"""Nodes are checked before a deployment ends: passed, failed, not run again, run anew, too late."""

import json
import re
import time
from typing import Any

import pytest

from gpuyard.plan import plan_or_raise
from gpuyard.render.nodes import fake_node_objects
from gpuyard.spec.read import platform_spec
from gpuyard_core.names import (
    CHECK_AGAIN,
    CHECK_BOOT,
    CHECK_RESULT_LABEL,
    CHECKED_LABEL,
    CHECKS_LABEL,
    GATE_TAINT,
    HOSTNAME_LABEL,
    QUEUE_LABEL,
)
from gpuyard_simulate.api import Api, ApiError
from gpuyard_simulate.validation.machine import FAULTS
from kit.cluster.yard import QUIET, STACK, Yard
from kit.waiting import PATIENCE, until

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
JOBS = "/apis/batch/v1/namespaces/gpu-operator/jobs"
PODS = f"/api/v1/namespaces/gpu-operator/pods?labelSelector={CHECKS_LABEL}"
IMAGE = "registry.example.org/ml/base"
NODES = ["dev-000", "serve-000", *(f"train-{n:03d}" for n in range(4))]
PASSED = {"train": "passed", "serve": "passed", "dev": "passed"}


def spec(yard: Yard, image: str = "1", minutes: int = 5, *, accepted_thresholds=(), **more) -> dict:
    """The platform as it is, with its nodes checked."""
    asked = {
        "image": f"{IMAGE}:{image}",
        "deadline_minutes": minutes,
        "accepted_thresholds": list(accepted_thresholds),
    }
    return yard.spec() | {"validation": asked} | more


def deploy(yard: Yard, platform: dict) -> tuple[int, str]:
    return yard.tried("up", "--stack", STACK, *QUIET, "--config-file", yard.config(platform))


def jobs(yard: Yard) -> dict[str, str]:
    """Their names and who they are."""
    found = yard.api.call("GET", JOBS)["items"]
    return {job["metadata"]["name"]: job["metadata"]["uid"] for job in found}


def those_of(yard: Yard, image: str) -> list[dict]:
    """The Jobs that look at nodes by this image."""
    found = yard.api.call("GET", JOBS)["items"]
    return [job for job in found if _image(job) == f"{IMAGE}:{image}"]


def _image(job: dict) -> str:
    return job["spec"]["template"]["spec"]["containers"][0]["image"]


def ended(job: dict) -> bool:
    said = job.get("status", {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Complete", "True") for each in said)


def looked_at(yard: Yard) -> list[str]:
    """The node of each pod that passed."""
    pods = yard.api.call("GET", PODS)["items"]
    return sorted(pod["spec"]["nodeName"] for pod in pods if pod["status"]["phase"] == "Succeeded")


def output(yard: Yard, what: str) -> dict[str, Any]:
    """What the stack says of the check, by pool."""
    said = yard.pulumi("stack", "output", "validation", "--stack", STACK, "--json")
    return {pool: found[what] for pool, found in json.loads(said).items()}


def verdicts(yard: Yard) -> dict[str, str]:
    return output(yard, "verdict")


def figures(yard: Yard) -> dict[str, dict]:
    return output(yard, "figures")


def annotate(yard: Yard, node: str, value: str | None) -> None:
    yard.api.patch(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {FAULTS: value}}})


def made_later(yard: Yard, number: int, faults: str = "{}") -> str:
    """A node of train as an autoscaler would make it: as the others began."""
    plan = plan_or_raise(platform_spec(spec(yard)))
    one = fake_node_objects(plan, plan.pool("train"))[0]
    name = f"train-{number:03d}"
    one["metadata"] |= {
        "name": name,
        "annotations": one["metadata"]["annotations"] | {FAULTS: faults},
    }
    one["metadata"]["labels"] |= {HOSTNAME_LABEL: name}
    yard.api.call("POST", "/api/v1/nodes", one)
    return name


def state(yard: Yard, node: str) -> tuple[str, bool, bool]:
    """What its check has found, whether it waits for it, whether it is cordoned."""
    found = yard.api.call("GET", f"/api/v1/nodes/{node}")
    keys = {taint["key"] for taint in found["spec"].get("taints") or ()}
    said = found["metadata"]["labels"].get(CHECK_RESULT_LABEL, "")
    return said, GATE_TAINT in keys, bool(found["spec"].get("unschedulable"))


OPEN, REMAPPED = ("passed", False, False), "memory.remapped_rows"
BAD = '{"3": {"remap_failure": true}}'
NARROW, WORSE = '{"3": {"pcie_width": 8}}', '{"3": {"pcie_width": 8, "remap_failure": true}}'
RISER = {
    "pool": "train",
    "check": "pcie.width",
    "value": 8,
    "reason": "a riser of x8",
    "until": "2999-12-31",
}
FLASHED = json.dumps({str(index): {"vbios": "96.00.A5.00.03"} for index in range(8)})
"""All GPUs of a node, so that its own check has nothing to say."""
UNLIKE = {
    "vbios": {
        "96.00.A5.00.03": ["train-002"],
        "simulated": ["train-000", "train-001", "train-003"],
    }
}


def becomes(yard: Yard, node: str, wanted: tuple[str, bool, bool]) -> None:
    until(lambda: state(yard, node), lambda seen: seen == wanted, what=f"{node} to be {wanted}")


def mended(yard: Yard, node: str, left: str | None = None) -> None:
    """What was wrong is no more, or only this is, and nobody waits until its pod is started again."""
    annotate(yard, node, left)
    where = f"{PODS}%3Dgpuyard-local-gate-train&fieldSelector=spec.nodeName%3D{node}"
    for pod in yard.api.call("GET", where)["items"]:
        path = f"/api/v1/namespaces/gpu-operator/pods/{pod['metadata']['name']}"
        yard.api.call("DELETE", f"{path}?gracePeriodSeconds=0")


def gang(nodes: list[str]) -> dict:
    """Two pods with all GPUs of a node each, on these nodes."""
    chosen = {"key": HOSTNAME_LABEL, "operator": "In", "values": nodes}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [chosen]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    limits = {"nvidia.com/gpu": 8, "cpu": 1, "memory": "1Gi"}
    container = {"name": "c", "image": "x", "resources": {"limits": limits, "requests": limits}}
    pod = {"restartPolicy": "Never", "containers": [container], "affinity": affinity}
    labels = {QUEUE_LABEL: "default"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "gang", "namespace": "vision", "labels": labels},
        "spec": {
            "suspend": True,
            "parallelism": 2,
            "completions": 2,
            "template": {"metadata": {}, "spec": pod},
        },
    }


def later_nodes(live: Yard) -> None:
    """A good one is opened and used, a bad one stays closed, and no more are closed than may be."""
    until(lambda: all(state(live, node) == OPEN for node in NODES))
    good, bad = made_later(live, 4), made_later(live, 5, BAD)
    assert state(live, good)[1], "it starts closed"
    becomes(live, good, OPEN)
    becomes(live, bad, (REMAPPED, True, True))
    events = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name="
    (event,) = live.api.call("GET", f"{events}{bad},reason=NodeFailedCheck")["items"]
    for part in (
        "failed: node train-005, pool train",
        "value True, threshold False",
        "kubectl drain",
    ):
        assert part in event["message"]

    live.api.call("POST", "/apis/batch/v1/namespaces/vision/jobs", gang([good, bad, "train-003"]))
    where = "/api/v1/namespaces/vision/pods?labelSelector=batch.kubernetes.io/job-name=gang"

    def placed() -> list[str]:
        pods = live.api.call("GET", where)["items"]
        return sorted(p["spec"]["nodeName"] for p in pods if p["status"]["phase"] == "Running")

    until(lambda: placed() == ["train-003", good])
    live.api.call(
        "DELETE", "/apis/batch/v1/namespaces/vision/jobs/gang?propagationPolicy=Background"
    )

    annotate(live, "train-000", BAD)
    live.api.patch("/api/v1/nodes/train-000", {"metadata": {"labels": {CHECKED_LABEL: None}}})
    becomes(live, "train-000", (REMAPPED, False, False))
    mended(live, bad)
    becomes(live, bad, OPEN)
    becomes(live, "train-000", (REMAPPED, False, True))
    mended(live, "train-000")
    becomes(live, "train-000", OPEN)
    for node in (good, bad):
        live.api.call("DELETE", f"/api/v1/nodes/{node}")


def its_account_changes_no_more(live: Yard) -> None:
    space = "/api/v1/namespaces/gpu-operator/serviceaccounts/gpuyard-local-gate/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = live.api.call("POST", space, asked)["status"]["token"]
    gate = Api(live.api.server, token, live.api.certificate)
    found = live.api.call("GET", "/api/v1/nodes/train-000")
    others = [t for t in found["spec"]["taints"] if t["key"] != "nvidia.com/gpu"]
    for change, part in (
        ({"metadata": {"labels": {"gpuyard.dev/pool": "dev"}}}, "labels"),
        ({"metadata": {"annotations": {FAULTS: "{}"}}}, "annotations"),
        ({"spec": {"taints": others}}, "taints"),
        ({"metadata": {"finalizers": ["example.org/x"]}}, "finalizers"),
    ):
        with pytest.raises(ApiError, match=f"must not change other {part} of nodes"):
            gate.patch("/api/v1/nodes/train-000", change)
    gate.patch("/api/v1/nodes/train-000", {"metadata": {"annotations": {CHECK_BOOT: None}}})
    for method, path in (
        ("DELETE", "/api/v1/nodes/train-000"),
        ("GET", "/api/v1/namespaces/gpu-operator/secrets"),
        ("GET", "/api/v1/namespaces/vision/pods"),
    ):
        with pytest.raises(ApiError, match="403"):
            gate.call(method, path)


def occupied(live: Yard, node: str) -> str:
    """A job on all GPUs of a node, and where it is."""
    job = gang([node])
    job["spec"] |= {"parallelism": 1, "completions": 1}
    live.api.call("POST", "/apis/batch/v1/namespaces/vision/jobs", job)
    where = "/api/v1/namespaces/vision/pods?labelSelector=batch.kubernetes.io/job-name=gang"
    until(
        lambda: [p["status"]["phase"] for p in live.api.call("GET", where)["items"]],
        lambda seen: seen == ["Running"],
        what="the job to run",
    )
    return "/apis/batch/v1/namespaces/vision/jobs/gang?propagationPolicy=Background"


@pytest.fixture
def live(own: Yard):
    """The platform, and its nodes for others when this is over."""
    yield own
    own.api.patch("/api/v1/nodes/train-001", {"spec": {"unschedulable": None}})
    for node in ("train-001", "train-002"):
        annotate(own, node, None)


@pytest.mark.timeout(900)  # with the deployment of the fixture
def test_idle_nodes_are_checked_again_by_the_clock_and_those_at_work_wait(live: Yard):
    again = {"image": f"{IMAGE}:again", "recurring": {"cron": "* * * * *", "hours": 0.2}}
    code, said = deploy(live, live.spec() | {"validation": again})
    assert code == 0, said
    until(lambda: all(state(live, node) == OPEN for node in NODES))
    # by the minute an idle node is sent: a job that comes there meanwhile finds it being looked at
    until(lambda: 10 < time.time() % 60 < 40, what="a minute's turn to be over")
    job = occupied(live, "train-000")
    for node in ("train-000", "train-002"):
        annotate(live, node, BAD)
    becomes(live, "train-002", (REMAPPED, False, True))
    assert state(live, "train-000") == OPEN, "it is at work"
    sent = live.api.call("GET", "/api/v1/nodes/train-002")["metadata"]["annotations"]
    assert sent[CHECK_AGAIN].startswith("gpuyard-local-again-")
    live.api.call("DELETE", job)
    # one of four is closed already, and no more may be
    becomes(live, "train-000", (REMAPPED, False, False))
    for node in ("train-000", "train-002"):
        mended(live, node)
        becomes(live, node, OPEN)


def is_told_apart(live: Yard, said: str) -> None:
    """One node of train has another VBIOS: each passes by itself, and the deployment says it."""
    assert output(live, "mixed") == {"train": UNLIKE, "serve": {}, "dev": {}}
    assert "The nodes of pool train are not identical:\n" in said, said
    assert "  VBIOS 96.00.A5.00.03: train-002\n" in said, said
    annotate(live, "train-002", None)


def lives_with_less(live: Yard, pinned: dict) -> None:
    """A node whose GPU has half its lanes is closed, and opens when somebody accepts that."""
    mended(live, "train-001", NARROW)
    becomes(live, "train-001", ("pcie.width", False, True))
    pinned["accepted_thresholds"] = [RISER]
    code, said = deploy(live, spec(live, **pinned))
    assert code == 0, said
    becomes(live, "train-001", OPEN)
    lanes = {"value": 8, "unit": "lanes", "reason": "a riser of x8", "until": "2999-12-31"}
    assert output(live, "accepted") == {
        "serve": {},
        "dev": {},
        "train": {"pcie.width": lanes},
    }
    assert figures(live)["train"]["pcie.width"]["least"] == 8
    assert output(live, "mixed")["train"] == {}, "all have been flashed alike"
    annotate(live, "train-001", None)


def consents(said: str) -> list[str]:
    """What a refused deployment says that it goes with."""
    return sorted(set(re.findall(r"with approved_changes: (sha256:[0-9a-f]{12})", said)))


def takes_back_its_driver(live: Yard) -> None:
    """Who comes next deploys the platform as it was, and nobody has consented to that driver yet."""
    code, said = deploy(live, live.spec())
    assert code != 0, "it is another driver again"
    code, said = deploy(live, live.spec() | {"approved_changes": consents(said)})
    assert code == 0, said


@pytest.mark.timeout(900)  # eight deployments, and that of the fixture
def test_a_deployment_waits_for_a_verdict_and_asks_again_only_what_changed(live: Yard):
    annotate(live, "train-002", FLASHED)
    code, said = deploy(live, spec(live))
    assert code == 0, said
    assert verdicts(live) == PASSED
    assert looked_at(live) == NODES
    is_told_apart(live, said)
    measured = figures(live)
    assert measured["train"]["gpu.count"] == {
        "least": 8, "most": 8, "floor": 8, "unit": "GPUs", "source": "the plan", "nodes": 4,
    }  # fmt: skip
    assert "DCGM" in measured["dev"]["memory.remapped_rows"]["source"]
    first = jobs(live)
    later_nodes(live)
    its_account_changes_no_more(live)
    ready = live.readiness()["TST-02"]
    assert (ready["answer"], ready["by"]) == ("PASS", "cluster")

    code, said = deploy(live, spec(live))
    assert code == 0, said
    assert jobs(live) == first, "nothing runs again"
    assert figures(live) == measured
    assert output(live, "mixed")["train"] == UNLIKE, "that of the check that stands"

    pinned: dict[str, Any] = {"software": {"driver": "580.178.04"}}
    code, said = deploy(live, spec(live, **pinned))
    assert code != 0, "no job survives another driver"
    pinned["approved_changes"] = consents(said)
    assert len(pinned["approved_changes"]) == 3, said
    annotate(live, "train-001", WORSE)
    code, said = deploy(live, spec(live, **pinned))
    assert code != 0
    for facts in (
        r"fail: memory\.remapped_rows on gpu 3: .*; value True, threshold False .*; needs: replace",
        r"fail: pcie\.width on gpu 3: .*; value 8, threshold 16 .*",
    ):
        assert re.search(rf"  failed: node train-001, pool train: .*\n(.+\n)* +{facts}\n", said), (
            said
        )

    becomes(live, "train-001", (REMAPPED, False, True))
    ready = live.readiness()["TST-02"]
    assert (ready["answer"], ready["why"]) == ("FAIL", f"node train-001: {REMAPPED} did not pass")
    lives_with_less(live, pinned)
    assert len(jobs(live)) == len(first)
    assert jobs(live).keys().isdisjoint(first), "another driver, another check"
    assert verdicts(live) == PASSED
    assert looked_at(live) == NODES

    live.api.patch("/api/v1/nodes/train-001", {"spec": {"unschedulable": True}})
    began = time.monotonic()
    code, said = deploy(live, spec(live, image="2", minutes=1, **pinned))
    assert code != 0
    assert "[DeadlineExceeded]" in said, said
    assert "  4 of 4 nodes have no verdict" in said, said
    assert 60 <= time.monotonic() - began < PATIENCE
    live.api.patch("/api/v1/nodes/train-001", {"spec": {"unschedulable": None}})
    takes_back_its_driver(live)


@pytest.mark.timeout(900)  # with the deployment of the fixture
def test_a_verdict_survives_a_killed_up(live: Yard):
    """A Job ends without the engine; the next deployment takes its verdict, and figures, and runs none."""
    live.api.patch("/api/v1/nodes/train-001", {"spec": {"unschedulable": True}})
    file = live.config(spec(live, image="killed"))
    engine = live.started("up", "--stack", STACK, *QUIET, "--config-file", file)

    def waiting() -> list[int]:
        """How many pods of each Job are there."""
        return [job.get("status", {}).get("ready") or 0 for job in those_of(live, "killed")]

    try:
        until(waiting, lambda ready: 3 in ready, what="the pool train to wait for train-001")
    finally:
        engine.kill()
        engine.communicate()
    live.api.patch("/api/v1/nodes/train-001", {"spec": {"unschedulable": None}})
    # those that the engine had made; the others are for the next deployment
    until(lambda: all(ended(job) for job in those_of(live, "killed")))
    ran = {job["metadata"]["name"]: job["metadata"]["uid"] for job in those_of(live, "killed")}
    assert any("check-train" in name for name in ran)

    said = live.recovered(file)
    assert "no longer runs: gpuyard removed its lock" in said, said
    # whose end the engine had seen is in its state; that of train it has begun at least
    begun = re.findall(r"it was creating Job gpu-operator/(\S+): forgotten", said)
    assert any("check-train" in name for name in begun), said
    assert set(begun) <= ran.keys()
    assert all(f"adopted: Job gpu-operator/{name}," in said for name in begun), said
    code, said = live.tried("up", "--stack", STACK, *QUIET, "--config-file", file)
    assert code == 0, said
    assert jobs(live).items() >= ran.items(), "what has passed does not run again"
    assert verdicts(live) == PASSED
    assert figures(live)["train"]["gpu.count"]["nodes"] == len(NODES) - 2
