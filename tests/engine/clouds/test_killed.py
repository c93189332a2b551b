"""An `up` that is killed, interrupted or refused on its way: it goes on, and nothing is there twice."""

import json
import re
import signal
from collections import Counter

import pytest
from testbed.plugins.cloud import faults, installing
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.service import protection

from kit import waiting
from kit.clouds.programs import GRAPH
from kit.cluster.warm import AT_EVERY_STEP
from kit.stacks import platform, pool
from stacks import SECONDS, STACK

KEPT = {"cluster": {"protect": False}}
RAW = {
    "aws": platform([pool(nodes="1..4", capacity=["spot", "on-demand"])], cloud="aws", **KEPT),
    "gcp": platform(
        [
            pool(
                machine="a3-megagpu-8g",
                nodes="1..4",
                zones=["us-central1-a"],
                capacity=["on-demand"],
            )
        ],
        cloud="gcp",
        **KEPT,
    ),
}
PLACES = {"aws:region": "us-east-1", "gcp:region": "us-central1", "gcp:project": "my-project"}
KILLS = {
    "aws": [{"step": 1}, {"step": 28}, {"kind": "aws:eks/nodeGroup:NodeGroup", "name": "spot"}],
    "gcp": [
        {"step": 1},
        {"step": 15},
        {"kind": "gcp:container/nodePool:NodePool", "name": "train"},
    ],
}
"""The first step, one of many that run side by side, and the GPU pool, which must never be there twice.

Every other kind: tests/recovery/test_clouds.py."""
GROUP = {
    "aws": {"kind": "aws:eks/nodeGroup:NodeGroup", "name": "spot"},
    "gcp": {"kind": "gcp:container/nodePool:NodePool", "name": "train"},
}
ZONE = {"aws": "us-east-1[a-c]", "gcp": "us-central1-a"}
ASKED = {
    "aws": "aws:index/getAvailabilityZones:getAvailabilityZones",
    "gcp": "gcp:organizations/getClientConfig:getClientConfig",
}
"""What a program asks before it makes anything, and rests on."""
SLOWLY = {"aws": "ThrottlingException: Rate exceeded", "gcp": "Error 429: Quota exceeded for"}
BROKEN = {"aws": "StatusCode: 503", "gcp": "Error 503: The service is currently unavailable"}
MOVED = {
    "aws": {
        "labels": {"gpuyard.dev/platform": "other"},
        "scalingConfig": {"minSize": 1, "desiredSize": 3, "maxSize": 4},
    },
    "gcp": {"nodeCount": 3},
}
"""What somebody and an autoscaler do to the GPU pool behind our back."""


@pytest.fixture
def lab(of_clouds):
    """A stack that has the clouds' own programs beside it."""
    of_clouds.env["PATH"] = f"{installing.STAND_INS}:{of_clouds.env['PATH']}"
    for key, value in PLACES.items():
        of_clouds.run("config", "set", "--stack", STACK, key, value)
    (of_clouds.folder / "__main__.py").write_text(GRAPH)
    return of_clouds


@pytest.mark.parametrize("cloud", RAW)
def test_an_up_that_is_killed_at_any_step_goes_on_and_makes_nothing_twice(lab, tmp_path, cloud):
    account = Account(tmp_path / "cloud", cloud)
    (lab.folder / "platform.json").write_text(json.dumps(RAW[cloud]))
    script = [{"fault": "kill", "times": 1, **each} for each in KILLS[cloud]]
    faults.write(tmp_path / "cloud", {"faults": script})
    for _ in script:
        # The fault kills whoever started the provider, which must be the engine.
        lab.up(fails=True, GPUYARD_WARM="", **AT_EVERY_STEP)
        assert lab.state()["pending_operations"]
        said = lab.gpuyard("recover", STACK)
    assert re.search(
        r"node(Pool|Group):Node(Pool|Group) lab-train\S*: it exists as .*, and gpuyard adopted it",
        said,
    )
    lab.up()
    lab.unchanged()
    state = lab.state()
    assert "pending_operations" not in state
    made = [each["type"] for each in state["resources"] if each["type"].startswith(cloud)]
    assert Counter(each.kind for each in account.all()) == Counter(made)
    if cloud == "aws":
        _an_autoscaler_moves_a_group_and_that_is_no_drift(lab, account)


def _an_autoscaler_moves_a_group_and_that_is_no_drift(lab, account):
    """Within its bounds; seen by a refresh, and by the preview after it."""
    (group,) = [each for each in account.all("aws:eks/nodeGroup:NodeGroup") if "spot" in each.id]
    moved = {**group.inputs["scalingConfig"], "desiredSize": 3}
    account.meddle(group.kind, group.id, {"scalingConfig": moved})
    lab.up("--refresh", "--expect-no-changes")
    lab.unchanged()
    (now,) = [each for each in account.all(group.kind) if each.id == group.id]
    assert (
        now.state["scalingConfig"]["desiredSize"]
        == 3
        != group.state["scalingConfig"]["desiredSize"]
    )


@pytest.mark.parametrize("cloud", RAW)
def test_an_up_that_fails_on_its_way_keeps_what_is_made_and_says_what_to_do(lab, tmp_path, cloud):
    """Throttled past all patience, without machines, interrupted, changed behind our back."""
    account = Account(tmp_path / "cloud", cloud)
    (lab.folder / "platform.json").write_text(json.dumps(RAW[cloud]))

    told = []

    def script(**fault):
        """From now on this one alone; the account counts faults by their place, so that none is taken out."""
        told[:] = [{**each, "name": "nobody"} for each in told]
        told.extend([{**GROUP[cloud], **fault}] if fault else [])
        faults.write(tmp_path / "cloud", {"faults": told})

    def others():
        return {each.id for each in account.all() if each.kind != GROUP[cloud]["kind"]}

    kept = _kept_while_a_service_is_slow_or_broken(lab, account, script, others, cloud)

    slow = _one_that_comes_later_than_the_provider_waits_is_gone_on_with(
        lab, account, script, cloud
    )
    script(fault="capacity", times=1)
    said = " ".join(lab.up("--replace", slow, fails=True).output.split())
    found = re.search(r"pool train: the cloud has no capacity in (.+?) now", said)
    assert found
    assert all(re.fullmatch(ZONE[cloud], each) for each in found[1].split(", "))
    (urn,) = set(re.findall(r"`pulumi up --replace '(urn:\S+)'`", said))
    assert others() >= kept
    kept = others()
    if cloud == "aws":  # EKS leaves it so for ever, and the engine takes it for made
        assert f"gets no nodes: `pulumi up --replace '{urn}'`" in lab.up(fails=True).output

    script(fault="hold", times=1)
    first = lab.start("up", "--yes", "--skip-preview", "--replace", urn, "--color", "never")
    waiting.until(lambda: account.met(len(told) - 1))
    first.send_signal(signal.SIGINT)
    script()
    output, _ = first.communicate(timeout=SECONDS)
    assert first.returncode != 0
    assert "Traceback" not in output
    lab.up()
    assert others() >= kept
    lab.unchanged()
    made = [each["type"] for each in lab.state()["resources"] if each["type"].startswith(cloud)]
    assert Counter(each.kind for each in account.all()) == Counter(made)

    (group,) = [
        each for each in account.all(GROUP[cloud]["kind"]) if GROUP[cloud]["name"] in each.id
    ]
    moved = MOVED[cloud]
    if cloud == "gcp":
        moved = {**moved, "nodeConfig": {**group.state["nodeConfig"], "taints": []}}
    account.meddle(group.kind, group.id, moved)
    assert "1 to update" in lab.preview("--refresh").output
    assert lab.up("--refresh").counts["updated"] == 1
    lab.unchanged()
    (mended,) = [each for each in account.all(group.kind) if each.id == group.id]
    assert _told(mended) == _told(group)
    assert _size(mended) == 3 != _size(group)
    _what_is_broken_on_the_way_out_is_gone_on_with(lab, account, script, cloud)


def _kept_while_a_service_is_slow_or_broken(lab, account, script, others, cloud):
    """What rests on an unanswered question is not made, nor a group without its service; all else is."""
    script(fault="unavailable", at="ask", kind=ASKED[cloud], name="")
    said = lab.up(fails=True).output
    assert (BROKEN[cloud] in said, account.all(GROUP[cloud]["kind"])) == (True, [])
    kept = others()
    for fault, words in (("throttle", SLOWLY[cloud]), ("unavailable", BROKEN[cloud])):
        script(fault=fault)
        said = lab.up(fails=True).output
        assert (words in said, others() >= kept) == (True, True)
        kept = others()
    assert kept
    return kept


def _one_that_comes_later_than_the_provider_waits_is_gone_on_with(lab, account, script, cloud):
    """It is kept, and once it is there the next `up` makes no second one; its name for the engine."""
    kind = GROUP[cloud]["kind"]
    script(fault="time-out", times=1)
    assert "timeout while waiting for state to become" in lab.up(fails=True).output
    (late,) = [each for each in account.all(kind) if GROUP[cloud]["name"] in each.id]
    account.meddle(kind, late.id, {"status": "ACTIVE" if cloud == "aws" else "RUNNING"})
    lab.up()
    lab.unchanged()
    assert late.id in {each.id for each in account.all(kind)}
    (urn,) = [each["urn"] for each in lab.state()["resources"] if each.get("id") == late.id]
    return urn


def _what_is_broken_on_the_way_out_is_gone_on_with(lab, account, script, cloud):
    """A refresh changes nothing of the state, a destroy takes what it can, and the next one the rest."""
    before, broken = _held(lab), BROKEN[cloud]
    script(fault="unavailable", at="read")
    said = lab.up("--refresh", fails=True).output
    assert broken in said
    assert _held(lab) == before
    script(fault="unavailable", at="delete")
    said = lab.destroy(fails=True).output
    assert broken in said
    assert account.all(GROUP[cloud]["kind"])
    script()
    lab.destroy()
    assert {each.kind for each in account.all()} <= set(protection.STAYS)


def _held(lab):
    """What the state says is there, and what of it was asked for."""
    return {each["urn"]: (each.get("id"), each.get("inputs")) for each in lab.state()["resources"]}


def _told(group):
    """What the group tells its nodes."""
    return [group.inputs.get(each) for each in ("labels", "taints", "nodeConfig")]


def _size(group):
    return (group.state.get("scalingConfig") or {}).get("desiredSize", group.state.get("nodeCount"))
