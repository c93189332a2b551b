"""`gpuyard check --against STATE`: what a deployment would take away, before the engine is asked."""

import io
import json
import os

import pytest
from testbed.plugins.cloud.shapes import Place

from kit.clouds.deployments import Deployment, exported
from kit.generated.changed import planned
from kit.stacks import cut_pool, plan_of, platform, pool

LOCAL = platform([pool(), cut_pool()], cloud="simulated")
ON_AWS = platform(
    [pool(nodes="0..4", scaling="autoscaler")],
    cloud="aws",
    cluster={"network": {"cidr": "10.0.0.0/16"}},
)


@pytest.fixture
def state(tmp_path):
    def made(value):
        path = tmp_path / "state.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return str(path)

    return made


def test_a_pool_that_goes_is_refused_until_it_is_consented_to(gpuyard, write, state):
    there = state(exported(plan_of(LOCAL)))
    assert gpuyard("check", write(LOCAL), "--against", there).code == 0
    after = platform([pool()], cloud="simulated")
    ended = gpuyard("check", write(after), "--against", there, "--format", "json")
    said = json.loads(ended.out)
    (found,) = said["findings"]
    assert (ended.code, found["id"]) == (3, "change.deletes")
    (loss,) = said["against"]["losses"]
    assert loss["drained"] == [{"pool": "serve", "nodes": 1, "gpus": 8}]
    ended = gpuyard(
        "check", write({**after, "approved_changes": loss["digest"]}), "--against", there
    )
    assert ended.code == 0
    assert "only pools and teams; it has no cloud resources" in " ".join(ended.out.split())
    assert "pool serve is deleted, with your approval" in " ".join(ended.out.split())


def test_a_network_that_moves_is_told_by_what_stands_in_it(gpuyard, write, state, monkeypatch):
    plan = planned(ON_AWS, "aws")
    deployment = Deployment(plan.provider.graph(plan), Place(cloud="aws", region="us-east-1"))
    there = json.dumps(deployment.export(plan))
    moved = {**ON_AWS, "cluster": {"network": {"cidr": "10.16.0.0/16"}}}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(there.encode())))
    ended = gpuyard("check", write(moved, region="us-east-1"), "--against", "-")
    text = " ".join(ended.out.split())
    assert ended.code == 3
    assert "train-on-demand replaced train private-another-1, private-another-2" in text
    assert "resources removed with them" in text
    assert "Compared with standard input: " in text
    assert "The cloud was not queried: private-another-1, private-another-2" in text
    ended = gpuyard(
        "check", write(ON_AWS, region="us-east-1"), "--against", state(there), "--format", "json"
    )
    assert {each["action"] for each in json.loads(ended.out)["against"]["resources"]} == {"same"}
    ended = gpuyard("check", write(ON_AWS, region="us-east-1"), "--against", state({"steps": []}))
    assert "everything would be created" in ended.out
    assert ended.code == 0


def test_a_stack_that_is_refused_by_itself_is_compared_with_nothing(gpuyard, write, state):
    ended = gpuyard(
        "check", write({"name": "x"}), "--against", state({"steps": []}), "--format", "json"
    )
    assert ended.code == 3
    assert "against" not in json.loads(ended.out)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ('{"steps": [], "changeSummary": {"same": 2}}', "omits unchanged resources"),
        ("[]", "is neither a state nor a preview"),
        ("{}" + " " * 64 * 1024 * 1024, "at most 67,108,864 are read"),
    ],
)
def test_a_file_that_is_no_state_is_wrong_usage(gpuyard, write, state, text, says):
    ended = gpuyard("check", write(LOCAL), "--against", state(text))
    assert (ended.code, says in ended.err) == (2, True)
    assert gpuyard("check", write(LOCAL), "--against", "").code == 2


def test_a_stream_that_never_ends_is_cut_short(gpuyard, write, monkeypatch):
    monkeypatch.setattr("gpuyard.cli.commands.check.MAX_STATE_BYTES", 10)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" " * 20)))
    ended = gpuyard("check", write(LOCAL), "--against", "-")
    assert ended.code == 2


def test_the_output_of_a_command_that_the_shell_puts_in_a_pipe_is_read(gpuyard, write, monkeypatch):
    """As bash passes `<(pulumi stack export)`."""

    def against(text):
        reads, writes = os.pipe()
        try:
            os.write(writes, text.encode())
            os.close(writes)
            return gpuyard("check", write(LOCAL), "--against", f"/dev/fd/{reads}")
        finally:
            os.close(reads)

    assert against(json.dumps({"steps": []})).code == 0
    monkeypatch.setattr("gpuyard.cli.commands.check.MAX_STATE_BYTES", 10)
    ended = against(" " * 20)
    assert (ended.code, "has more than 0 MiB" in ended.err) == (2, True)


def test_a_pipe_that_has_a_name_is_not_waited_for(gpuyard, write, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    ended = gpuyard("check", write(LOCAL), "--against", tmp_path / "pipe")
    assert (ended.code, "a pipe, not a file" in ended.err) == (2, True)


def test_a_destroy_that_is_refused_is_told_before_by_what_is_kept(gpuyard, write, state):
    def row(kind, name, **more):
        return {"urn": f"urn:pulumi:dev::p::{kind}::{name}", "type": kind, "outputs": {}, **more}

    cluster = row("aws:eks/cluster:Cluster", "platform-cluster", id="lab", protect=True)
    space = row("kubernetes:core/v1:Namespace", "vision", retainOnDelete=True)
    there = state({"version": 3, "deployment": {"resources": [space, cluster]}})
    stack = write(LOCAL)
    ended = gpuyard("check", stack, "--against", there, "--destroy")
    said = " ".join(ended.out.split())
    assert ended.code == 3
    assert "PROTECTED cluster platform-cluster (lab): deletes every object and job" in said
    assert "LEFT Namespace vision" in said
    assert "1 resource of" in said
    assert "`cluster: {protect: false}`" in said
    ended = gpuyard("check", stack, "--against", there, "--destroy", "--format", "json")
    assert [each["name"] for each in json.loads(ended.out)["blocked"]] == [
        "platform-cluster",
        "vision",
    ]
    nothing = state({"version": 3, "deployment": {"resources": []}})
    ended = gpuyard("check", stack, "--against", nothing, "--destroy")
    assert (ended.code, "blocks a destroy" in ended.out) == (0, True)
    ended = gpuyard("check", stack, "--destroy")
    assert (ended.code, "add --against STATE" in ended.err) == (2, True)
