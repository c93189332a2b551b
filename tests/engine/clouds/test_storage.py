"""Stores on the real engine: made, unchanged, kept while they are protected, and gone once that is lifted."""

import json

import pytest
from testbed.plugins.cloud.account import Account

from kit.clouds.programs import GRAPH, TELLS
from kit.clouds.stored import STORED

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
def lab(of_clouds):
    """A stack that tells where its stores are."""
    of_clouds.env["AWS_REGION"] = "us-east-1"
    of_clouds.env |= {"GOOGLE_PROJECT": "my-project", "GOOGLE_REGION": "us-central1"}
    (of_clouds.folder / "__main__.py").write_text(GRAPH + TELLS)
    return of_clouds


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
