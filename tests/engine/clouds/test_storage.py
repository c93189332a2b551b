"""Stores on the real engine: made, unchanged, kept while they are protected, and gone once that is lifted."""

import json
import shutil

import pytest
from testbed.plugins import environment
from testbed.plugins.cloud import installing
from testbed.plugins.cloud.account import Account

from kit.clouds.programs import GRAPH, TELLS
from kit.clouds.stored import STORED
from stacks import PASSPHRASE, STACK, Stack

STORES = {
    "aws": (
        *("aws:efs/fileSystem:FileSystem", "aws:fsx/lustreFileSystem:LustreFileSystem"),
        "aws:s3/bucket:Bucket",
    ),
    "gcp": (
        *("gcp:filestore/instance:Instance", "gcp:lustre/instance:Instance"),
        "gcp:storage/bucket:Bucket",
    ),
}
KEPT_FOR_EVER = "gcp:kms/keyRing:KeyRing"
"""Nobody can delete one: a destroy forgets it."""
TOLD = {
    "aws": ("data-home-handle", "data-fast-address", "data-web-bucket", "checkpoints-url"),
    "gcp": ("data-home-address", "data-fast-address", "data-web-bucket", "checkpoints-url"),
}


@pytest.fixture
def lab(engine, tmp_path, new_stack):
    """A stack on the fakes that needs no cluster."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copytree(new_stack / "state" / "stacks", tmp_path / "state" / "stacks")
    shutil.copy(new_stack / f"Pulumi.{STACK}.yaml", folder)
    env = environment.variables(engine, state=tmp_path / "state", passphrase=PASSPHRASE)
    env |= installing.install(tmp_path / "state" / "home", tmp_path / "cloud")
    env |= {"PULUMI_STACK": STACK, "GPUYARD_TEST_PULUMI": str(engine.path), "GOMEMLIMIT": "1GiB"}
    env |= {"AWS_REGION": "us-east-1", "GOOGLE_PROJECT": "my-project"}
    env |= {"GOOGLE_REGION": "us-central1"}
    none = tmp_path / "none"
    none.touch()
    stack = Stack(folder, env, "", none)
    stack.project()
    (folder / "__main__.py").write_text(GRAPH + TELLS)
    yield stack
    stack.close()


@pytest.mark.parametrize("cloud", STORED)
def test_stores_are_made_kept_and_given_up_when_the_stack_file_says_so(lab, tmp_path, cloud):
    account = Account(tmp_path / "cloud", cloud)

    def write(**more):
        storage = {**STORED[cloud]["storage"], **more}
        (lab.folder / "platform.json").write_text(json.dumps({**STORED[cloud], "storage": storage}))

    def there():
        return [len(account.all(kind)) for kind in STORES[cloud]]

    write()
    lab.up()
    assert there() == [1, 1, 2]
    outputs = json.loads(lab.run("stack", "output", "--json", "--show-secrets").output)
    assert all(outputs[name] for name in TOLD[cloud])
    lab.unchanged()

    refused = lab.destroy(fails=True)
    assert "protect" in refused.output
    assert there() == [1, 1, 2]

    write(protect=False)
    lab.up()
    lab.destroy()
    assert {each.kind for each in account.all()} <= {KEPT_FOR_EVER}
