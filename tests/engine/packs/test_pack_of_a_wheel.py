"""The pack that an installed wheel writes, on the real engine: what `gpuyard policies PATH` promises."""

import subprocess
import sys

import pytest

from installations import RUN, installed
from kit.cluster import vault

PROGRAM = """
import pulumi
spec = {"spec": {"hard": {"limits.nvidia.com/gpu": 8}}}
pulumi.ComponentResource("kubernetes:core/v1:ResourceQuota", "gpus", {"metadata": {"name": "gpus"}, **spec})
"""


@pytest.mark.usefixtures("cold")
def test_a_preview_is_held_against_the_pack_that_a_wheel_writes(pulumi, tmp_path):
    written = subprocess.run(
        [installed(tmp_path, "gpuyard[policy]"), "-c", RUN, "policies", "pack"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert written.endswith("next\n  pulumi preview --policy-pack pack\n")
    project = f"name: x\nruntime:\n  name: python\n  options:\n    virtualenv: {sys.prefix}\n"
    (tmp_path / "Pulumi.yaml").write_text(project, encoding="utf-8")
    (tmp_path / "__main__.py").write_text(PROGRAM, encoding="utf-8")
    code, said = pulumi("stack", "init", "--stack", "dev", "--secrets-provider", vault.PROVIDER)
    assert code == 0, said
    code, said = pulumi("preview", "--stack", "dev", "--policy-pack", "pack")
    assert code != 0
    assert "[mandatory]  gpuyard  (kubernetes:core/v1:ResourceQuota: gpus)" in said
    assert "GPU-TEN-02 spec.hard.limits.nvidia.com/gpu: " in said
