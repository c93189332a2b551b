"""The look of a program at its own last state, before it registers anything."""

from types import SimpleNamespace

import pulumi
import pytest
from testbed.plugins.cloud.shapes import Place

from gpuyard.resources.clusters import change_preview
from gpuyard.resources.errors import PlatformRejected
from kit.clouds.deployments import NAME, Deployment, exported
from kit.generated.changed import planned
from kit.stacks import cut_pool, plan_of, platform, pool

RAW = platform([pool(nodes="0..4", scaling="autoscaler"), pool("more", nodes=2)], cloud="aws")
NOTHING = change_preview.ChangePreview()
LESS = {**RAW, "pools": RAW["pools"][:1]}


@pytest.fixture
def tells(monkeypatch):
    """An engine that tells this of the last state."""

    def told(answer):
        def invoke(token, args):
            assert (token, args) == (
                "pulumi:pulumi:readStackResourceOutputs",
                {"stackName": "us/lab/dev"},
            )
            if isinstance(answer, Exception):
                raise answer
            return SimpleNamespace(value={"outputs": answer})

        monkeypatch.setattr(change_preview, "monitor_supports_feature", lambda _: True)
        for name, value in (("organization", "us"), ("project", "lab"), ("stack", "dev")):
            monkeypatch.setattr(pulumi, f"get_{name}", lambda value=value: value)
        monkeypatch.setattr(pulumi.runtime, "invoke", invoke)

    return told


def outputs():
    """What the engine tells of a platform that is deployed."""
    plan = planned(RAW, "aws")
    state = Deployment(plan.provider.graph(plan), Place(cloud="aws", region="us-east-1")).export(
        plan
    )
    return {
        each["urn"]: {"type": each["type"], "outputs": {**each["outputs"], "id": each.get("id")}}
        for each in state["deployment"]["resources"]
    }


def told_of(plan):
    """What the engine tells of a platform that no cloud has a part in."""
    state = exported(plan)["deployment"]["resources"]
    return {each["urn"]: {"type": each["type"], "outputs": each["outputs"]} for each in state}


def test_a_loss_is_refused_until_it_is_consented_to(tells):
    tells(outputs())
    assert change_preview.preview_changes(NAME, planned(RAW, "aws")) == NOTHING
    with pytest.raises(PlatformRejected) as refused:
        change_preview.preview_changes(NAME, planned(LESS, "aws"))
    (found,) = refused.value.findings
    assert (found.id, found.where) == ("change.deletes", "pools")
    (said,) = change_preview.preview_changes(
        NAME, planned({**LESS, "approved_changes": found.fix.value}, "aws")
    ).findings
    assert said.id == "change.consented"
    assert change_preview.preview_changes("another", planned(LESS, "aws")) == NOTHING


def test_new_bounds_of_a_node_group_are_sent_with_the_size_that_it_has(tells):
    tells(outputs())
    raised = {**RAW, "pools": [pool(nodes="1..4", scaling="autoscaler"), RAW["pools"][1]]}
    resized = change_preview.preview_changes(NAME, planned(raised, "aws")).resized
    assert resized is not None
    group = resized.resource("train-on-demand")
    assert group.inputs["scalingConfig"]["minSize"] == 1
    assert group.ignores == ()


def test_elsewhere_only_gpus_that_are_cut_anew_need_consent(tells):
    """Jobs are lost with them, and nothing else is."""
    more = [cut_pool(), pool("train")]
    before = plan_of(platform(more, cloud="simulated"))
    tells(told_of(before))
    cut = {"mig": {"1g.5gb": 7}}
    assert change_preview.preview_changes(NAME, before) == NOTHING
    assert (
        change_preview.preview_changes(NAME, plan_of(platform(more[:1], cloud="simulated")))
        == NOTHING
    )
    with pytest.raises(PlatformRejected) as refused:
        change_preview.preview_changes(
            NAME, plan_of(platform([cut_pool(sharing=cut)], cloud="simulated"))
        )
    (found,) = refused.value.findings
    assert (found.id, found.where) == ("change.recuts", "pools[0]")
    allowed = platform([cut_pool(sharing=cut)], cloud="simulated", approved_changes=found.fix.value)
    (said,) = change_preview.preview_changes(NAME, plan_of(allowed)).findings
    assert said.id == "change.consented"


def test_another_driver_of_the_operator_on_nodes_of_ones_own_needs_consent(tells):
    def of(driver):
        return plan_of(platform(software={"driver": driver}))

    tells(told_of(of("580.178.04")))
    assert change_preview.preview_changes(NAME, of("580.178.04")) == NOTHING
    with pytest.raises(PlatformRejected) as refused:
        change_preview.preview_changes(NAME, of("595.91.07"))
    assert {each.id for each in refused.value.findings} == {"change.rolls"}


def test_a_backend_that_does_not_tell_stops_nothing_and_says_so(tells, monkeypatch):
    said = []
    monkeypatch.setattr(pulumi.log, "warn", said.append)
    tells(RuntimeError("no such function"))
    assert change_preview.preview_changes(NAME, planned(LESS, "aws")) == NOTHING
    assert "no such function" in said[0]
    assert "gpuyard check STACK --against -" in said[0]


def test_mocks_that_answer_every_function_with_an_empty_mapping_stop_nothing(tells, monkeypatch):
    tells({})
    monkeypatch.setattr(pulumi.runtime, "invoke", lambda *_: SimpleNamespace(value={}))
    assert change_preview.preview_changes(NAME, planned(RAW, "aws")) == NOTHING


def test_nobody_is_asked_where_the_operator_is_anothers_or_there_is_no_engine(monkeypatch):
    monkeypatch.setattr(change_preview, "last_known_state", None)
    theirs = platform(gpu_operator={"install": False})
    assert change_preview.preview_changes(NAME, plan_of(theirs)) == NOTHING
    monkeypatch.undo()
    monkeypatch.setattr(change_preview, "monitor_supports_feature", lambda _: False)
    assert change_preview.preview_changes(NAME, planned(LESS, "aws")) == NOTHING
