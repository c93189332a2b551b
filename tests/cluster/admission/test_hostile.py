"""Three teams that try everything at random, and a referee who counts: nobody runs what is not counted.

`GPUYARD_HOSTILE` says how many seconds they try, with which seed after a colon; a campaign takes an hour.
"""

import os
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gpuyard.render.admission.objects import admission_objects
from gpuyard.simulate import cluster
from gpuyard.simulate.api import ApiError
from kit.cluster import lab as reality
from kit.cluster.hostile import Hostile, Picture, Referee
from kit.cluster.queues import kueue_as_rendered
from kit.generated.hostile import PLURALS, Member
from kit.stacks import Raw, cut_pool, plan_of, platform, pool, team

pytestmark = [pytest.mark.cluster]

Value = dict[str, Any]
SECONDS, _, SEED = (os.environ.get("GPUYARD_HOSTILE") or "15:4").partition(":")
LEAST = 60
"""Moves, on however slow a machine."""
ROUND = 45.0
"""Seconds after which a team begins anew: what it left fills its quota, and nothing happens any more."""
SLICES = ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb", "nvidia.com/gpu.shared")
DEVICES = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
QUEUES = {"hos-a": "default", "hos-b": "batch", "hos-c": "work"}


def three_teams() -> Raw:
    """One with a queue that is the default, one with two pools, and one with borrowing and a slice."""
    pools = [
        pool("hos-open", nodes=3),
        pool("hos-vip", nodes=1, owners=["hos-b"]),
        cut_pool("hos-cut"),
    ]
    teams = [
        team("hos-a", guarantee={"hos-open": 8}, borrow={"hos-open": 8}, groups=["hos-a"]),
        team(
            "hos-b",
            guarantee={"hos-open": 8, "hos-vip": 8},
            queues={"batch": 1.0},
            groups=["hos-b"],
        ),
        team(
            "hos-c",
            guarantee={"hos-open": 8, "hos-cut/2g.10gb": 2},
            borrow={"hos-open": 8},
            queues={"work": 1.0},
            groups=["hos-c"],
            isolation="slice",
        ),
    ]
    return platform(
        pools,
        teams,
        name="hos",
        cloud="simulated",
        kubernetes="1.36",
        priorities={"hos-high": 100},
    )


@pytest.fixture(scope="module")
def lab(started: cluster.Outcome) -> Iterator[reality.Lab]:
    """The platform with its policies in force."""
    raw = three_teams()
    with (
        kueue_as_rendered(started.status.name, raw) as api,
        reality.Lab(api, plan_of(raw)) as found,
    ):
        policies = admission_objects(found.plan)
        try:
            for value in policies:
                reality.apply(api, value)
            for namespace in QUEUES:
                reality.wait(lambda n=namespace: in_force(found, n), "the policies", 60)
            yield found
        finally:
            emptied(found)
            for value in reversed(policies):
                reality.delete(api, reality.path_of(value))


def in_force(lab: reality.Lab, namespace: str) -> bool:
    """Whether the policy and the quota answer."""
    container = {"name": "a", "image": "example.invalid/a:1"}
    spec = {"containers": [container], "tolerations": [{"operator": "Exists"}]}
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec}
    try:
        lab.api.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", value)
    except ApiError as problem:
        return "GPU-ADM-04" in str(problem)
    return False


def emptied(lab: reality.Lab) -> None:
    """Nothing of any team is left: queues stay while a workload is in them."""
    teams = Hostile(lab.api, {}, {})

    def left() -> bool:
        for namespace in QUEUES:
            teams.clears(namespace)
        kinds = [*PLURALS.values(), f"{reality.KUEUE}/namespaces/{{namespace}}/workloads"]
        return any(lab.listed(path.format(namespace=n)) for path in kinds for n in QUEUES)

    reality.wait(lambda: not left(), "no workloads", 120)


# ── the referee ───────────────────────────────────────────────────────────────────────────────────


def pod(name: str, gpus: int = 8, **metadata: Any) -> Value:
    requests = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    containers = [{"name": "a", "resources": {"requests": requests}}]
    return {
        "metadata": {"name": name, "namespace": "hos-a", "uid": name, **metadata},
        "spec": {"nodeName": "hos-open-0", "containers": containers},
        "status": {"phase": "Running"},
    }


def counted(name: str, gpus: int, owner: str) -> Value:
    usage = {"resourceUsage": {"nvidia.com/gpu": str(gpus), "cpu": "1"}}
    return {
        "metadata": {"name": name, "namespace": "hos-a", "ownerReferences": [{"uid": owner}]},
        "status": {
            "admission": {"podSetAssignments": [usage]},
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
        },
    }


def made_by(uid: str) -> list[Value]:
    return [{"kind": "Job", "name": uid, "uid": uid}]


@pytest.mark.parametrize(
    ("pods", "wrong"),
    [
        ([pod("x", ownerReferences=made_by("j"))], []),
        ([pod("j", 4), pod("x", 4, ownerReferences=made_by("j"))], []),
        (
            [pod("x", ownerReferences=made_by("j")), pod("y", ownerReferences=made_by("j"))],
            ["workload hos-a/w nvidia.com/gpu", "team hos-a nvidia.com/gpu"],
        ),
        ([pod("lost", 1)], ["stranger hos-a/lost"]),
        ([pod("cores", 0)], ["stranger hos-a/cores"]),
        (
            [pod("x", ownerReferences=made_by("j")), pod("lost")],
            ["team hos-a nvidia.com/gpu", "stranger hos-a/lost"],
        ),
    ],
)
def test_the_referee_sees_what_is_not_counted(pods: list[Value], wrong: list[str]):
    assert [each.what for each in Picture(pods, [counted("w", 8, "j")]).wrongs()] == wrong


# ── the game ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.timeout(7200)
def test_whatever_hostile_teams_do_no_gpu_runs_that_is_not_counted(lab: reality.Lab):
    seed, seconds = SEED or "0", float(SECONDS)
    others = (*SLICES, DEVICES)
    members = {n: Member(f"{seed}/{n}", n, queue, others) for n, queue in QUEUES.items()}
    teams = Hostile(lab.api, members, {n: n for n in QUEUES})
    referee = Referee(lab.api, set(QUEUES))
    turns = random.Random(seed)  # noqa: S311  dice, not keys
    began = cleared = time.monotonic()
    try:
        while (now := time.monotonic()) - began < seconds or len(teams.log) < LEAST:
            for namespace in turns.choices(sorted(QUEUES), k=4):
                teams.act(namespace)
            referee.look()
            if now - cleared > ROUND:
                cleared = now
                teams.clears(turns.choice(sorted(QUEUES)))
    except AssertionError as found:
        found.add_note("\n".join(teams.log[-120:]))
        raise
    finally:
        print(  # noqa: T201  the figures of a campaign
            f"seed {seed}, {seconds:.0f} s: {len(teams.log)} moves {dict(teams.answers)},"
            f" {referee.looks} looks, {referee.most} GPUs at once,"
            f" wrong for {referee.longest:.1f} s at most, waited {referee.late:.1f} s at most"
        )
    assert teams.answers["taken"] > len(teams.log) / 10, teams.answers
    assert teams.answers["policy"], teams.answers
    assert referee.most, "nothing ran"
