"""Stacks of clouds on fake accounts, up to a job that runs on the nodes that they made: `make up STACK=…`."""

import itertools
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from testbed.plugins.cloud import faults
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.inside import gke, scaling
from testbed.plugins.cloud.inside.autoscaler import Autoscaler, Settings
from testbed.plugins.cloud.inside.classes import pools
from testbed.plugins.cloud.inside.classes.definition import PATH as CLASSES
from testbed.plugins.cloud.inside.eks import GROUP
from testbed.plugins.cloud.motion import pace, schedule
from testbed.plugins.cloud.motion.schedule import Interruption
from testbed.plugins.cloud.service.ties import Resource
from testbed.yard import charts
from testbed.yard import engine as yard
from testbed.yard.cloud import Stand

from gpuyard_simulate.agents.cloud_node import GPUS_FROM
from gpuyard_simulate.api import Api, ApiError, Unreachable, connect
from kit import waiting
from kit.clouds import by_gke
from kit.cluster.lab import condition, create, delete
from kit.levels import require_level
from kit.stacks import plan_of

ROOT = Path(__file__).parents[3]
JOBS = "/apis/batch/v1/namespaces/vision/jobs"
WINDOWS = "/apis/batch/v1/namespaces/gpuyard-aws-training"
WINDOWS_PODS = "/api/v1/namespaces/gpuyard-aws-training/pods"
"""Needs the control plane with Kueue beside the engine."""
SHORT = {"aws-training": "InsufficientInstanceCapacity", "gcp-training": "GCE_STOCKOUT"}
SCARCE = {"faults": [{"fault": "capacity", "at": "scale", "name": "burst-spot"}]}
NOTICE = {"aws-training": "spot", "gcp-training": "preemption"}
BOUGHT = {
    "aws-training": ("eks.amazonaws.com/capacityType", "ON_DEMAND"),
    "gcp-training": ("cloud.google.com/gke-provisioning", "standard"),
}


class Played:
    """A stack that is up."""

    def __init__(self, stack: str, home: Path, said: str) -> None:
        self.stack = stack
        self.home = home
        self.said = said
        self.folder = home / "clouds" / stack / "account"
        self.account = Account(self.folder, stack.partition("-")[0])
        self.api: Api = connect(home / "sim" / stack / "kubeconfig")

    def file(self) -> Path:
        return Stand(self.stack).project / f"Pulumi.{self.stack}.yaml"

    def platform(self) -> dict[str, Any]:
        """As the stack file has it now."""
        written = yaml.safe_load(self.file().read_text(encoding="utf-8"))
        found: dict[str, Any] = written["config"]["gpuyard:platform"]
        return found

    def up(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Once more, with a changed stack file."""
        stand, file = Stand(self.stack), self.file()
        written = yaml.safe_load(file.read_text(encoding="utf-8"))
        platform = written["config"]["gpuyard:platform"]
        platform.pop("validation", None)
        for each in platform["teams"]:
            each.pop("budget_usd_per_month", None)
        change(platform)
        file.write_text(yaml.safe_dump(written, sort_keys=False), encoding="utf-8")
        charts.play(self.api, plan_of(platform))  # the operator is told of taints of new pools
        engine = stand.engine(self.home / "sim" / self.stack / "kubeconfig")
        words = ("up", "--stack", self.stack, "--yes", "--skip-preview", "--suppress-outputs")
        assert engine.run(*words) == 0

    def group(self, name: str) -> Resource:
        """The node group of a rung, or its node pool."""
        if self.stack.startswith("gcp"):
            (found,) = [e for e in self.account.all(gke.POOL) if e.inputs["name"] == name]
            return found
        (found,) = [each for each in self.account.all(GROUP) if f":{name}" in each.id]
        return found

    def looks(self) -> Callable[[int], list[tuple[str, int]]]:
        """An autoscaler of this cloud, which reads the account and the cluster, and no stack file.

        What it did at a time, by the ids of what it made larger or smaller.
        """
        if self.stack.startswith("gcp"):
            scaler = Autoscaler(Settings(priorities=pools.order(self.api)))
            ids = {str(each.inputs["name"]): each.id for each in self.account.all(gke.POOL)}
            step = pools.step
        else:
            scaler = Autoscaler(Settings(priorities=scaling.priorities(self.api)))
            ids = {
                each.state["resources"][0]["autoscalingGroups"][0]["name"]: each.id
                for each in self.account.all(GROUP)
            }
            step = scaling.step
        return lambda now: [
            (ids[each.group], each.size) for each in step(self.account, self.api, scaler, now)
        ]

    def nodes(self, pool: str) -> dict[str, dict[str, Any]]:
        path = f"/api/v1/nodes?labelSelector=gpuyard.dev/pool%3D{pool}"
        return {each["metadata"]["name"]: each for each in self.api.call("GET", path)["items"]}


@pytest.fixture(params=["aws-training", "gcp-training"])
def played(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Played]:
    """A stack as `make up` brings it up, in a home of its own."""
    tools = ROOT / ".testbed" / "bin"
    for level in ("engine", "cluster"):
        require_level(
            level, (tools / "kueue").exists(), "no control plane; `make tools` builds one"
        )
    stack = request.param
    monkeypatch.setattr(yard, "STATE", tmp_path / "stacks")
    env = {
        **os.environ,
        "STACK": stack,
        "GPUYARD_SIM_HOME": str(tmp_path / "sim"),
        "GPUYARD_YARD_STATE": str(tmp_path / "stacks"),
        "GOGC": "400",
        "PACE": "0.01",
    }
    env.pop("GPUYARD_TOOLS", None)

    def run(command: str) -> str:
        done = subprocess.run(
            [ROOT / "scripts" / "yard", command],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    try:
        yield Played(stack, tmp_path, run("up"))
    finally:
        run("down")


def test_a_gang_runs_on_the_nodes_that_the_fake_cloud_made(played):
    assert "this is a fake of" in played.said.lower()
    _its_nodes_took_their_time(played)
    nodes = played.nodes("train")
    (ran,) = [line for line in played.said.splitlines() if "all 2 pods run, on" in line]
    assert {each.strip() for each in ran.partition(" on ")[2].split(",")} == set(nodes)
    wanted = {"nvidia.com/gpu": "8", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    if played.stack.startswith("aws"):
        wanted["vpc.amazonaws.com/efa"] = "32"

    def has() -> list[dict[str, str]]:
        told = [
            {**each["metadata"]["labels"], **each["status"]["allocatable"]}
            for each in played.nodes("train").values()
        ]
        return [{name: each.get(name, "") for name in wanted} for each in told]

    # agents count devices and write labels one after the other
    waiting.until(has, lambda found: found == [wanted] * len(nodes))
    _a_label_that_is_lost_stops_the_next_gang(played)
    _a_spot_rung_without_machines_falls_to_the_next_one(played)
    if played.stack.startswith("aws"):
        _a_window_keeps_nodes_and_lets_them_go(played)
    else:
        _a_class_of_pools_that_are_there_is_well(played)
        by_gke.are_used_as_planned(played.api, plan_of(played.platform()))
        _a_gang_on_spot_loses_a_node(played)
        _what_runs_on_demand_moves_to_spot_that_is_sold_again(played)


def _its_nodes_took_their_time(played: Played) -> None:
    """Each has waited for its GPUs, and the gang for all of them; from now on nodes are there at once."""
    assert "New nodes take 0.01 times as long as the plan says (PACE)." in played.said
    nodes = played.nodes("train").values()
    assert all(GPUS_FROM in each["metadata"]["annotations"] for each in nodes)
    pace.write(played.folder, factor=0)


def _a_label_that_is_lost_stops_the_next_gang(played: Played) -> None:
    """Somebody takes the pool's label from the group: the queue still admits, and no node fits."""
    kind = GROUP if played.stack.startswith("aws") else "gcp:container/nodePool:NodePool"
    (group,) = [
        each
        for each in played.account.all(kind)
        if "train" in each.id.rpartition(":")[2].rpartition("/")[2]
    ]
    played.account.meddle(kind, group.id, _without_label(group.inputs))
    waiting.until(lambda: not played.nodes("train"))
    # Kueue may have yet to see it: who comes before that is admitted, and comes again.
    waiting.until(lambda: _finds_no_place(played), errors=(ApiError, Unreachable))


def _finds_no_place(played: Played) -> bool:
    """Whether Kueue lets a new job wait for want of a topology; where it does not, the job is gone again."""
    job = _job()
    create(played.api, JOBS, job)
    said: str = waiting.until(lambda: _verdict(played), lambda found: found is not None)
    if "topology" in said:
        return True
    name = job["metadata"]["name"]
    delete(played.api, f"{JOBS}/{name}")
    waiting.until(lambda: _workload(played) is None, what=f"{name} to be gone")
    return False


def _verdict(played: Played) -> str | None:
    found = _workload(played) or {}
    if condition(found, "Admitted").get("status") == "True":
        return ""
    reserved = condition(found, "QuotaReserved")
    return str(reserved["message"]) if reserved.get("status") == "False" else None


def _workload(played: Played) -> dict[str, Any] | None:
    """Kueue's record of the job; others were there before."""
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/vision/workloads"
    found: list[dict[str, Any]] = played.api.call("GET", path)["items"]
    late = _job()["metadata"]["name"]
    owned = (w for w in found if late in str(w["metadata"].get("ownerReferences")))
    return next(owned, None)


@pytest.mark.parametrize("played", ["gcp-training"], indirect=True)
def test_pods_claim_gpus_of_nodes_that_gke_made_and_one_too_many_waits(played):
    """By the DRA driver of its own chart, played; GKE's own plugin counts nothing there."""
    pace.write(played.folder, factor=0)
    played.up(_with_claims)
    for each in charts.claim_driver(plan_of(played.platform())):
        played.api.apply(each)
    (node,) = waiting.until(lambda: played.nodes("claims"))
    slices = "/apis/resource.k8s.io/v1/resourceslices"

    def devices() -> list[str]:
        found = played.api.call("GET", slices)["items"]
        here = [each for each in found if each["spec"]["nodeName"] == node]
        return [device["name"] for each in here for device in each["spec"]["devices"]]

    waiting.until(devices, lambda found: found == [f"gpu-{number}" for number in range(4)])
    assert _gpus(played, "claims") == [""], "what is claimed is counted by nobody"
    for name in ("first", "second"):
        create(played.api, JOBS, _claiming(name))
        waiting.until(lambda name=name: _nodes_of(played, name) == [node], what=f"{name} to run")
    create(played.api, JOBS, _claiming("third"))
    waiting.until(lambda: _waits_for_quota(played, "third"), what="Kueue to let the third wait")
    assert _nodes_of(played, "third") == []
    delete(played.api, f"{JOBS}/first", "Foreground")
    waiting.until(
        lambda: _nodes_of(played, "third") == [node], what="the third to run in its place"
    )


def _with_claims(platform: dict[str, Any]) -> None:
    """A pool more: one node of four L4, two of which a shape claims."""
    pool = {"name": "claims", "machine": "g2-standard-48", "nodes": 1, "zones": ["us-central1-a"]}
    platform["pools"].append({**pool, "capacity": ["on-demand"], "sharing": "dra"})
    half = {"name": "half", "pool": "claims", "nodes": 1, "gpus_per_node": 2}
    platform["shapes"].append(half)
    platform["teams"][0]["guarantee"]["claims"] = 4
    platform.pop("budget")


def _claiming(name: str) -> dict[str, Any]:
    """A job of one pod that claims by the template of its team's shape."""
    job = _job(name, pool="claims", pods=1)
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    container["resources"] = {"limits": {"cpu": "2", "memory": "8Gi"}, "claims": [{"name": "gpus"}]}
    spec["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "half"}]
    spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    return job


def _waits_for_quota(played: Played, job: str) -> bool:
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/vision/workloads"
    found: list[dict[str, Any]] = played.api.call("GET", path)["items"]
    owned = [each for each in found if job in str(each["metadata"].get("ownerReferences"))]
    return bool(owned) and condition(owned[0], "QuotaReserved").get("status") == "False"


# ── a ladder ──────────────────────────────────────────────────────────────────────────────────────
def _a_spot_rung_without_machines_falls_to_the_next_one(played: Played) -> None:
    """A pool more, from zero; who scales it reads the account and the cluster, and no stack file."""
    played.up(_with_a_ladder)
    spot, demand = (played.group(f"burst-{rung}") for rung in ("spot", "on-demand"))
    faults.write(played.folder, SCARCE)
    clock, looking = itertools.count(step=20), played.looks()

    def looks() -> list[tuple[str, int]]:
        return [each for each in looking(next(clock)) if each[0] in {spot.id, demand.id}]

    create(played.api, JOBS, _job("climbs", pool="burst"))
    waiting.until(lambda: _without_a_node(played, "climbs") == 2, what="both pods to find no node")
    assert waiting.until(looks) == [(spot.id, 2)]
    assert SHORT[played.stack] in played.account.missing(spot.id)[1]
    assert looks() == [(spot.id, 0), (demand.id, 2)]
    ran = waiting.until(lambda: _nodes_of(played, "climbs"), lambda found: len(found) == 2)
    nodes = played.nodes("burst")
    assert set(ran) == set(nodes)
    label, value = BOUGHT[played.stack]
    assert {each["metadata"]["labels"][label] for each in nodes.values()} == {value}
    assert looks() == [], "nodes that are used stay"
    delete(played.api, f"{JOBS}/climbs", "Foreground")
    waiting.until(lambda: not _nodes_of(played, "climbs"))
    next(itertools.islice(clock, 60, None))
    assert looks() == []
    next(itertools.islice(clock, 60, None))
    assert looks() == [(demand.id, 0)]
    waiting.until(lambda: not played.nodes("burst"))


# ── a notice ──────────────────────────────────────────────────────────────────────────────────────
def _a_gang_on_spot_loses_a_node(played: Played) -> None:
    """Spot has machines meanwhile; what is empty is let go of at the end."""
    faults.write(played.folder, {"faults": []})
    spot, demand = (played.group(f"burst-{rung}") for rung in ("spot", "on-demand"))
    clock, looking = itertools.count(step=60), played.looks()

    def looks() -> list[tuple[str, int]]:
        return [each for each in looking(next(clock)) if each[0] in {spot.id, demand.id}]

    create(played.api, JOBS, _job("loses", pool="burst"))
    waiting.until(lambda: _without_a_node(played, "loses") == 2, what="both pods to find no node")
    assert waiting.until(looks) == [(spot.id, 2)]
    waiting.until(lambda: len(_nodes_of(played, "loses")) == 2, what="the gang to run on spot")
    _a_notice_requeues_it_whole_and_the_node_comes_again(played, "loses")
    assert looks() == [], "what came in the node's place is of the same pool"
    delete(played.api, f"{JOBS}/loses", "Foreground")
    waiting.until(lambda: not _nodes_of(played, "loses"))
    assert waiting.until(looks) == [(spot.id, 0)]
    waiting.until(lambda: not played.nodes("burst"))
    faults.write(played.folder, SCARCE)


def _a_notice_requeues_it_whole_and_the_node_comes_again(played: Played, job: str) -> None:
    """By schedule, ten times as fast; the next machine after its own time, a hundred times as fast."""
    spot, machines = played.group("burst-spot"), _uids(played.nodes("burst").values())
    before, coming = _uids(_pods_of(played, job)), set[int]()
    pace.write(played.folder, factor=0.01)
    one = Interruption(0, "burst-spot", NOTICE[played.stack])
    schedule.write(played.folder, [one], begins=time.time(), factor=0.1)

    def runs_again() -> bool:
        played.account.settle()
        coming.add(played.account.coming(spot.id))
        running = _uids(_pods_of(played, job))
        there = _uids(played.nodes("burst").values())
        return (len(running), len(running - before), len(there - machines)) == (2, 2, 1)

    waiting.until(runs_again, what=f"{job} to run whole again beside a node that came")
    pace.write(played.folder, factor=0)
    assert 1 in coming, "its time passed before it was there"
    assert len(_uids(played.nodes("burst").values()) & machines) == 1, "the other stayed"
    assert set(_nodes_of(played, job)) == set(played.nodes("burst"))
    assert _told(played, job) == {"GangInterrupted", "GangRequeued"}


def _uids(items: Iterable[dict[str, Any]]) -> set[str]:
    return {each["metadata"]["uid"] for each in items}


def _told(played: Played, job: str) -> set[str]:
    """What the program that requeues gangs has said of a job; again, where it was refused meanwhile."""
    found = played.api.call("GET", "/api/v1/namespaces/vision/events")["items"]
    about = [each for each in found if each["involvedObject"]["name"] == job]
    return {each["reason"] for each in about if each["reason"].startswith("Gang")}


# ── classes ───────────────────────────────────────────────────────────────────────────────────────
def _a_class_of_pools_that_are_there_is_well(played: Played) -> None:
    """As the autoscaler has written into its status, which GKE's own console shows."""
    found = played.api.call("GET", f"{CLASSES}/pool-burst")
    assert condition(found, "Health")["status"] == "True", found["status"]


def _with_a_ladder(platform: dict[str, Any]) -> None:
    train = platform["pools"][0]
    pool = {"name": "burst", "machine": train["machine"], "nodes": "0..2", "zones": train["zones"]}
    platform["pools"].append({**pool, "capacity": ["spot", "on-demand"]})
    platform["teams"][0]["guarantee"]["burst"] = 16
    platform.pop("budget")
    if platform["cloud"] == "gcp":
        by_gke.with_pools(platform)


def _what_runs_on_demand_moves_to_spot_that_is_sold_again(played: Played) -> None:
    """Spot is scarce still, and a job of one node runs on demand; no pod of it knows of rungs."""
    played.up(_that_moves_up)
    spot, demand = (played.group(f"burst-{rung}") for rung in ("spot", "on-demand"))
    clock, looking = itertools.count(step=20), played.looks()

    def looks() -> list[tuple[str, int]]:
        return [each for each in looking(next(clock)) if each[0] in {spot.id, demand.id}]

    create(played.api, JOBS, _job("moves", pool="burst", pods=1))
    waiting.until(lambda: _without_a_node(played, "moves") == 1, what="the pod to find no node")
    assert waiting.until(looks) == [(spot.id, 1)]
    assert looks() == [(spot.id, 0), (demand.id, 1)]
    first = waiting.until(lambda: _nodes_of(played, "moves"))
    assert looks() == [], "spot has just failed"
    faults.write(played.folder, {"faults": []})
    next(itertools.islice(clock, 60, None))
    assert looks() == [(spot.id, 1)]
    waiting.until(lambda: _gpus(played, "burst") == ["8", "8"], what="a spot node beside the other")
    assert _nodes_of(played, "moves") == first, "it runs until there is room elsewhere"
    there = list(played.nodes("burst").values()), played.api.call("GET", "/api/v1/pods")["items"]
    assert waiting.until(looks) == [(demand.id, 0)], there
    waiting.until(lambda: set(played.nodes("burst")).isdisjoint(first), what="the other to be gone")
    (node,) = played.nodes("burst").values()
    assert node["metadata"]["labels"]["cloud.google.com/gke-provisioning"] == "spot"
    waiting.until(lambda: _nodes_of(played, "moves") == [node["metadata"]["name"]])
    assert looks() == [], "from the first rung nothing moves"
    delete(played.api, f"{JOBS}/moves", "Foreground")


def _gpus(played: Played, pool: str) -> list[str]:
    """Of each node of a pool, as its plugin has counted them."""
    nodes = played.nodes(pool).values()
    return [each["status"]["allocatable"].get("nvidia.com/gpu", "") for each in nodes]


def _that_moves_up(platform: dict[str, Any]) -> None:
    """No job of several nodes may be guaranteed there."""
    next(each for each in platform["pools"] if each["name"] == "burst")["failback"] = True
    platform["teams"][0]["guarantee"]["burst"] = 8


# ── a window ──────────────────────────────────────────────────────────────────────────────────────
def _a_window_keeps_nodes_and_lets_them_go(played: Played) -> None:
    """The clock is moved at both ends: as if nothing had begun since yesterday, and the hours were over."""
    faults.write(played.folder, {"faults": []})
    played.up(_with_a_window)
    cron = f"{WINDOWS}/cronjobs/warm-burst-0"
    yesterday = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    played.api.patch(f"{cron}/status", {"status": {"lastScheduleTime": yesterday}})
    spot = played.group("burst-spot")
    scaler = Autoscaler(Settings(priorities=scaling.priorities(played.api)))
    clock = itertools.count(step=60)

    def looks() -> list[tuple[str, int]]:
        said = scaling.step(played.account, played.api, scaler, next(clock))
        return [("spot" if "burst-spot" in each.group else each.group, each.size) for each in said]

    waiting.until(lambda: len(_keepers(played)) == 2, what="the pods of the window")
    assert waiting.until(looks) == [("spot", 2)]
    kept = waiting.until(lambda: _keepers(played, running=True), lambda found: len(found) == 2)
    assert set(kept) == set(played.nodes("burst"))
    create(played.api, JOBS, _job("within", pool="burst"))
    ran = waiting.until(lambda: _nodes_of(played, "within"), lambda found: len(found) == 2)
    assert set(ran) == set(kept), "no pod of the window is in a job's way"
    assert looks() == []
    _a_notice_requeues_it_whole_and_the_node_comes_again(played, "within")
    waiting.until(lambda: len(_keepers(played, running=True)) == 2, what="the window to be kept")
    assert looks() == []
    delete(played.api, f"{JOBS}/within", "Foreground")
    waiting.until(lambda: not _nodes_of(played, "within"))
    assert [looks() for _ in range(60)] == [[]] * 60, "an hour without a job"
    (job,) = played.api.call("GET", f"{WINDOWS}/jobs")["items"]
    played.api.patch(
        f"{WINDOWS}/jobs/{job['metadata']['name']}", {"spec": {"activeDeadlineSeconds": 1}}
    )
    waiting.until(lambda: not _keepers(played), what="the pods of the window to go")
    waiting.until(lambda: not played.api.call("GET", f"{WINDOWS}/jobs")["items"])
    assert looks() == []
    assert [each for _ in range(12) for each in looks()] == [("spot", 0)]
    assert spot.id == played.group("burst-spot").id
    waiting.until(lambda: not played.nodes("burst"))


def _with_a_window(platform: dict[str, Any]) -> None:
    began = datetime.now(UTC) - timedelta(minutes=1)
    window = {"cron": f"{began.minute} {began.hour} * * *", "hours": 9, "nodes": 2}
    platform["pools"][-1]["keep_warm"] = [window]


def _keepers(played: Played, *, running: bool = False) -> list[str]:
    """Where the pods of the window are; those that have no node yet too, unless they are to run."""
    found = played.api.call("GET", f"{WINDOWS_PODS}?labelSelector=gpuyard.dev/keeps%3Dburst")
    return [
        each["spec"].get("nodeName", "")
        for each in found["items"]
        if not running or each.get("status", {}).get("phase") == "Running"
    ]


def _without_a_node(played: Played, job: str) -> int:
    """How many pods of a job the scheduler has found no node for."""
    path = f"/api/v1/namespaces/vision/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D{job}"
    found = played.api.call("GET", path)["items"]
    return sum(condition(pod, "PodScheduled").get("status") == "False" for pod in found)


def _nodes_of(played: Played, job: str) -> list[str]:
    """Where the pods of a job run."""
    return [each["spec"]["nodeName"] for each in _pods_of(played, job)]


def _pods_of(played: Played, job: str) -> list[dict[str, Any]]:
    """Those that run."""
    path = f"/api/v1/namespaces/vision/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D{job}"
    found: list[dict[str, Any]] = played.api.call("GET", path)["items"]
    return [each for each in found if each.get("status", {}).get("phase") == "Running"]


def _without_label(inputs: dict[str, Any]) -> dict[str, Any]:
    if "labels" in inputs:
        return {"labels": {"gpuyard.dev/platform": "other"}}
    config = {**inputs["nodeConfig"], "labels": {"gpuyard.dev/platform": "other"}}
    return {"nodeConfig": config}


def _job(name: str = "late", pool: str = "train", pods: int = 2) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": "8", "cpu": "8", "memory": "64Gi"}
    container = {"name": "work", "image": "example.invalid/work", "resources": {"limits": limits}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "suspend": True,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "nodeSelector": {"gpuyard.dev/pool": pool},
                    "containers": [container],
                }
            },
        },
    }
