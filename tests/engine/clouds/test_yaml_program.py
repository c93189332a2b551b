"""A YAML program with a component of gpuyard on the fake cloud."""

import shutil

import pytest
import yaml
from testbed.plugins.cloud.account import Account

from kit.levels import require_level
from kit.stacks import platform, pool
from stacks import PROJECT, ROOT, STACK


@pytest.fixture
def lab(of_clouds, engine):
    """An EKS cluster of a YAML program."""
    folder = str(engine.path.parent)
    found = shutil.which("pulumi-language-yaml", path=folder)
    require_level("engine", found, f"no pulumi-language-yaml in {folder}; `scripts/tools yaml`")
    raw = platform([pool(nodes="0..4")], cloud="aws", cluster={"protect": False})
    program = {
        "name": PROJECT,
        "runtime": "yaml",
        "packages": {"gpuyard": str(ROOT / "components")},
        "resources": {"cluster": {"type": "gpuyard:EksCluster", "properties": {"platform": raw}}},
    }
    (of_clouds.folder / "Pulumi.yaml").write_text(yaml.safe_dump(program))
    of_clouds.run("config", "set", "--stack", STACK, "aws:region", "us-east-1")
    return of_clouds


def test_a_cluster_is_created_and_destroyed(lab, tmp_path):
    account = Account(tmp_path / "cloud", "aws")
    lab.preview()
    lab.up()
    (cluster,) = account.all("aws:eks/cluster:Cluster")
    assert cluster.id == "lab"
    lab.unchanged()
    lab.destroy()
    assert account.all("aws:eks/cluster:Cluster") == []
