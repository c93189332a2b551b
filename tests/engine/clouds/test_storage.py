"""Stores on the real engine: made, unchanged, kept while they are protected, and gone once that is lifted."""

import json

import pytest
from testbed.plugins.cloud.account import Account

from kit.clouds.programs import GRAPH, TELLS
from kit.clouds.stored import STORED
from kit.stacks import team

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


def test_a_claim_is_bound_again_after_its_volume_changes(new_yard, api, until):
    """The source of a volume is immutable, and so are the access modes of a claim."""
    stored = {**STORED["aws"]["storage"], "protect": False}
    teams = [team(protect=False)]
    lab = new_yard({**STORED["aws"], "teams": teams, "queueing": {"install": False}})

    def bound():
        claims = api.cluster.list("v1", "PersistentVolumeClaim", "vision")
        return all(each["status"].get("phase") == "Bound" for each in claims)

    def web():
        volumes = api.cluster.list("v1", "PersistentVolume", None)
        (found,) = [v["spec"] for v in volumes if v["metadata"]["name"] == "lab.vision.web"]
        return found["accessModes"], found["csi"]["volumeAttributes"].get("cacheEmptyDirSizeLimit")

    for change, after in (
        ({}, (["ReadOnlyMany"], None)),
        ({"cache_gib": 10}, (["ReadOnlyMany"], "10Gi")),
        ({"cache_gib": 10, "writers": ["vision"]}, (["ReadWriteMany"], "10Gi")),
    ):
        datasets = [*stored["datasets"][:2], {**stored["datasets"][2], **change}]
        lab.write(storage={**stored, "datasets": datasets})
        lab.stack.up()
        until(bound)
        assert web() == after
        lab.stack.unchanged()
    lab.stack.destroy()
