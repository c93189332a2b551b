"""Platforms and parts under Pulumi's own mocks, as a user's unit test sets them: without the plug-in of gpuyard."""

import json
import subprocess
import sys

from kit.stacks import platform, pool, team

PLATFORMS = {
    "aws": platform([pool(nodes="0..4")], [team()], cloud="aws"),
    "gcp": platform(
        [pool(machine="a3-megagpu-8g", zones=["us-central1-a"])], [team()], cloud="gcp"
    ),
    "none": platform([pool()], [team()], cluster={"existing": "blue"}),
}
TESTS = """
import json
from pathlib import Path

import pulumi
import pytest

from gpuyard import resources

PLATFORMS = json.loads(Path("platforms.json").read_text())
PLACES = {"aws:region": "us-east-1", "gcp:region": "us-central1", "gcp:project": "acme-ml"}
PARTS = {
    "EksCluster": ("aws", {}),
    "GkeCluster": ("gcp", {}),
    "GpuNodePool": ("none", {"pool": "train"}),
    "GpuOperator": ("none", {}),
    "Queueing": ("none", {}),
    "Team": ("none", {"team": "vision"}),
    "Validation": ("none", {}),
}

class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        KINDS.append(args.typ)
        return f"{args.name}-id", args.inputs

    def call(self, args):
        return {}

KINDS = []
pulumi.runtime.set_mocks(Mocks(), preview=False)
pulumi.runtime.set_all_config(PLACES)

@pytest.mark.parametrize("cloud", PLATFORMS)
@pulumi.runtime.test
def test_platform(cloud):
    def check(queue):
        assert queue == "default"
        assert any(kind.endswith(":LocalQueue") for kind in KINDS)

    KINDS.clear()
    lab = resources.Platform(f"{cloud}-lab", {"platform": PLATFORMS[cloud]})
    return lab.teams["vision"].local_queue.apply(check)

@pytest.mark.parametrize("part", PARTS)
@pulumi.runtime.test
def test_part(part):
    cloud, args = PARTS[part]
    one = getattr(resources, part)(part, {"platform": PLATFORMS[cloud], **args})
    return one.urn.apply(lambda urn: KINDS.index(f"gpuyard:index:{part}"))
"""


def test_platforms_and_parts_run_under_the_mocks_of_pulumi(tmp_path):
    (tmp_path / "platforms.json").write_text(json.dumps(PLATFORMS))
    (tmp_path / "test_user.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:gpuyard", "test_user.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "10 passed" in ended.stdout, ended.stdout + ended.stderr
