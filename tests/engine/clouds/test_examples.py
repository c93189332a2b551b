"""Every example under `examples/` on the real engine, with fakes of the clouds and a real API server."""

import os
import shutil

import pytest
import yaml
from testbed.plugins.cloud import installing
from testbed.plugins.cloud.inside import control_plane

from kit.clouds.given import account_with
from kit.stacks import platform, pool
from stacks import ROOT, STACK

EXAMPLES = ROOT / "examples"
PLACES = {"aws:region": "us-east-1", "gcp:region": "us-central1", "gcp:project": "my-project"}
EKS = platform(
    [pool("train", machine="g6e.48xlarge", nodes=2, zones=["us-east-1a"])],
    cloud="aws",
    system=None,
    cluster={"existing": "ml-prod"},
)
NAMES = sorted(each.parent.name for each in EXAMPLES.glob("[0-9]*-*/__main__.py"))


@pytest.fixture
def example(stack, tmp_path, inside, kueue, kubectl):
    """A project with the files of an example, on an account and contexts of a kubeconfig."""

    def build(name):
        folder = tmp_path / "cloud"
        stack.env.update(installing.install(tmp_path / "state" / "home", folder))
        stack.env.update(control_plane.put(folder, inside))
        config = yaml.safe_load(inside.read_text())
        (context,) = config["contexts"]
        config["contexts"] = [{**context, "name": each} for each in ("blue", "green")]
        config["current-context"] = ""
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        stack.env["KUBECONFIG"] = str(tmp_path / "kubeconfig")
        stack.env["PATH"] = f"{installing.STAND_INS}{os.pathsep}{stack.env['PATH']}"
        if name == "3-pool-on-eks":
            account_with(EKS, folder)
        for file in (EXAMPLES / name).glob("*.py"):
            shutil.copy(file, stack.folder)
        for key, value in PLACES.items():
            stack.run("config", "set", "--stack", STACK, key, value)
        return stack

    return build


@pytest.fixture
def operator_namespace(api, until):
    """The namespace of an existing GPU Operator."""
    name = "gpu-operator"
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    api.cluster.create(made, {})
    yield
    api.cluster.delete(made, name, "Background")
    until(
        lambda: (
            name
            not in {one["metadata"]["name"] for one in api.cluster.list("v1", "Namespace", None)}
        )
    )


@pytest.mark.parametrize("name", [each for each in NAMES if each != "8-policy-pack"])
def test_an_example_comes_up_stays_and_goes(example, name, request):
    if name == "6-validation":
        request.getfixturevalue("operator_namespace")
    stack = example(name)
    assert "to create" in stack.preview().output
    assert "created" in stack.up().counts
    stack.unchanged()
    if "own-vpc" in name:
        program = stack.folder / "__main__.py"
        program.write_text(program.read_text().replace('"nodes": 2,', '"nodes": 3,'))
        assert stack.up().counts["updated"]
        stack.unchanged()
    stack.run("state", "unprotect", "--all", "--yes")
    stack.destroy()
    assert stack.state().get("resources", []) == []


def test_the_policy_pack_rejects_a_program_without_gpuyard(example, pack):
    stack = example("8-policy-pack")
    said = stack.preview("--policy-pack", str(pack), fails=True).output
    assert "GPU-TEN-04 spec.namespaceSelector: without a namespaceSelector no namespace may" in said
    assert "[mandatory]" in said
