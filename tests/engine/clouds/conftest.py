"""What tests of clouds begin with."""

import shutil

import pytest
from testbed.plugins import environment
from testbed.plugins.cloud import installing

from stacks import PASSPHRASE, STACK, Stack


@pytest.fixture
def of_clouds(engine, tmp_path, new_stack):
    """A stack on the fakes that needs no cluster; its program is the test's own."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copytree(new_stack / "state" / "stacks", tmp_path / "state" / "stacks")
    shutil.copy(new_stack / f"Pulumi.{STACK}.yaml", folder)
    env = environment.variables(engine, state=tmp_path / "state", passphrase=PASSPHRASE, logs=False)
    env |= installing.install(tmp_path / "state" / "home", tmp_path / "cloud")
    env |= {"PULUMI_STACK": STACK, "GPUYARD_TEST_PULUMI": str(engine.path), "GOMEMLIMIT": "1GiB"}
    none = tmp_path / "none"
    none.touch()
    stack = Stack(folder, env, "", none)
    stack.project()
    yield stack
    stack.close()
