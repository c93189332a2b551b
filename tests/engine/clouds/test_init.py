"""A project of `gpuyard init` on the real engine: the stack that it creates, and a preview without a change."""

import os
import re
import subprocess

import pytest
import yaml
from testbed.plugins.cloud import installing

from gpuyard_core.names import SIMULATED_CONTEXT
from stacks import ROOT

CONTEXTS = {"none": "my-context", "simulated": SIMULATED_CONTEXT}
WAYS = {"aws": "--library", "gcp": None, "none": "--library", "simulated": None}
"""Each cloud with one of the two programs; test_install_of_a_wheel.py has AWS with the other."""


@pytest.mark.parametrize("cloud", WAYS)
def test_a_new_project_has_a_stack_and_a_preview(of_clouds, kubeconfig, tmp_path, cloud):
    config = yaml.safe_load(kubeconfig.read_text())
    for each in config["contexts"]:
        each["name"] = CONTEXTS.get(cloud, "other")
    config["current-context"] = "other"
    file = kubeconfig.parent / f"init-{cloud}-{os.getpid()}"
    file.write_text(yaml.safe_dump(config))
    stack = of_clouds
    del stack.env["PULUMI_STACK"]  # the project's own, which `gpuyard init` selects
    stack.env["KUBECONFIG"] = str(file)
    stack.env["PATH"] = f"{installing.STAND_INS}{os.pathsep}{stack.env['PATH']}"
    stack.folder = tmp_path / "lab"
    given = ["init", str(stack.folder), "--cloud", cloud, WAYS[cloud] or "--format=text"]
    ended = subprocess.run(
        [ROOT / ".venv" / "bin" / "gpuyard", *given],
        env=stack.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (ended.stderr, "pulumi stack init" in ended.stdout) == ("", False)
    assert ended.stdout.endswith("  pulumi preview\n")
    stack_file = (stack.folder / "stacks" / "Pulumi.dev.yaml").read_text()
    assert "encryptionsalt" in stack_file
    assert ("# A" in stack_file) is (WAYS[cloud] is None)

    seen = stack.preview()
    assert "gpuyard:index:Platform" in seen.output
    created = re.search(r"\+ (\d+) to create", seen.output)
    assert created is not None
    assert int(created[1]) > 20
