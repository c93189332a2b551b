"""From an empty environment to a preview with three commands: the wheel, the real engine, a fake account."""

import os
import re
import subprocess
import sys

import pytest
from testbed.plugins.cloud import installing

from installations import installed


@pytest.mark.always
@pytest.mark.usefixtures("cold")
def test_an_installed_wheel_writes_a_project_that_has_a_preview(of_clouds, tmp_path):
    python = installed(tmp_path / "wheel", "gpuyard[aws]")  # pip install 'gpuyard[aws]'
    stack = of_clouds
    del stack.env["PULUMI_STACK"]
    path = [str(python.parent), str(installing.STAND_INS), stack.env["PATH"]]
    stack.env["PATH"] = os.pathsep.join(path)
    stack.folder = tmp_path / "lab"
    stack.folder.mkdir()

    def run(*words: str) -> str:
        ended = subprocess.run(
            words, cwd=stack.folder, env=stack.env, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    written = run("gpuyard", "init", "--cloud", "aws")
    assert written.endswith("next\n  gpuyard check dev\n  pulumi preview\n")
    seen = run(stack.env["GPUYARD_TEST_PULUMI"], "preview", "--non-interactive", "--color", "never")
    created = re.search(r"\+ (\d+) to create", seen)
    assert created is not None
    assert int(created[1]) > 60
    assert "aws:eks:Cluster" in seen

    where = "import gpuyard.resources; print(gpuyard.__file__)"
    assert run("python3", "-c", where).startswith(str(python.parent.parent))
    assert run("gpuyard", "check", "dev").rstrip().endswith("us-east-1")
    assert sys.prefix not in (stack.folder / "Pulumi.yaml").read_text()
