"""`gpuyard recover` on the real engine: after a kill, and where others have what the program would make."""

import json
import os
import shlex
import signal

import pytest
from labs import PROGRAM

SLOW = PROGRAM.replace(
    "Platform(",
    """
async def wait(args):
    if args.name.endswith(":Namespace:vision") and not Path("go").exists():
        metadata = {**args.props["metadata"]}
        condition = {"pulumi.com/waitFor": "jsonpath={.metadata.labels.go}=yes"}
        metadata["annotations"] = {**metadata.get("annotations", {}), **condition}
        return pulumi.ResourceTransformResult(props={**args.props, "metadata": metadata}, opts=args.opts)
pulumi.runtime.register_resource_transform(wait)
Platform(""",
)
"""The namespace of a team is made, and not ready before the file `go` is there."""


@pytest.fixture
def killed(stack, api, kueue, lab, kubectl, until):
    """An `up` that was killed while it made a namespace."""
    lab(SLOW)
    until(lambda: namespace(api) is None)  # of an earlier test
    first = stack.start("up", "--yes", "--skip-preview", "--color", "never")
    until(lambda: namespace(api))
    yield first
    (stack.folder / "go").touch()
    stack.run("cancel", "--yes")
    stack.destroy()


def namespace(api):
    found = api.cluster.list("v1", "Namespace", None)
    return next((one for one in found if one["metadata"]["name"] == "vision"), None)


def test_a_killed_up_is_mended_by_one_command(stack, api, killed):
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    was = namespace(api)["metadata"]["uid"]
    (stack.folder / "go").touch()
    assert "pulumi cancel" in stack.up(fails=True).output
    said = stack.gpuyard("recover", "dev")
    assert f"process {killed.pid} of " in said
    assert "no longer runs: gpuyard removed its lock" in said
    assert "it was creating Namespace vision: forgotten" in said
    assert (
        "adopted: Namespace vision, as pulumi import --stack dev kubernetes:core/v1:Namespace"
        " lab-vision:Namespace:vision vision --parent 'parent=urn:pulumi:dev::trial::gpuyard:index:Platform$"
    ) in said
    assert "Next: pulumi up --stack dev" in said
    stack.up()
    stack.unchanged()
    assert namespace(api)["metadata"]["uid"] == was
    assert "pending_operations" not in stack.state()
    assert stack.gpuyard("recover", "dev").startswith("Stack dev needs no repair")
    _a_state_that_was_cut_short_is_the_one_before(stack)


def _a_state_that_was_cut_short_is_the_one_before(stack):
    """As a disk leaves it that fills; one that is full is tried again by the engine, for minutes."""
    file = stack.backend / ".pulumi" / "stacks" / "trial" / "dev.json"
    file.write_bytes(file.read_bytes()[:4096])
    assert "unexpected end of JSON input" in stack.up(fails=True).output
    said = stack.gpuyard("recover", "dev")
    assert "the state was truncated, as by a full disk: dev.json.bak of " in said
    stack.up()
    stack.unchanged()


def test_a_run_that_goes_on_is_left_alone_and_named(stack, killed):
    """Which a second `up` says as well; nothing is cancelled."""
    said = stack.gpuyard("recover", "dev", code=4)
    assert f"stack dev is locked by process {killed.pid} of " in said
    assert "if it no longer runs, run `pulumi cancel --stack dev`, then retry" in said
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()


def test_what_somebody_else_has_is_taken_over_by_the_command_that_is_printed(
    stack, api, kueue, lab, kubectl
):
    lab()
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision"}}
    api.cluster.create(body, {"fieldManager": "somebody"})
    failed = stack.up(fails=True).output
    assert "Namespace vision exists already, and this stack did not create it." in failed
    assert "set `namespaces: [{name: vision, existing: true}]`" in failed
    found = json.loads(stack.gpuyard("recover", "dev", "--format", "json", code=3))
    assert found["did"] == []
    (left,) = found["left"]
    text, _, command = left.partition(": ")
    assert text == "Namespace vision exists and belongs to another owner"
    stack.run(*shlex.split(command)[1:], "--yes", "--skip-preview")
    stack.up()
    stack.unchanged()
    stack.destroy()
