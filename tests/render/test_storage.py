"""What a team finds in its namespaces: claims that nobody else can take, and where its checkpoints go."""

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.limits import limit_objects
from gpuyard.render.platform import platform_objects
from gpuyard.render.storage import storage_objects
from kit.every import every
from kit.stacks import plan_of, platform, pool, team

POOLS = {
    "aws": [pool(zones=["us-east-1a"])],
    "gcp": [pool(machine="a3-highgpu-8g", zones=["us-central1-a"])],
    "none": [pool()],
}


def plan_with(cloud, teams=None, **storage):
    teams = teams or [team("vision"), team("speech")]
    return plan_of(platform(POOLS[cloud], teams, cloud=cloud, storage=storage))


def objects_of(cloud, who="vision", teams=None, **storage):
    plan = plan_with(cloud, teams, **storage)
    found = storage_objects(plan, plan.team(who))
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def volume(cloud, kind, *, writes=False, who="vision", **rest):
    data = {"name": "corpus", "kind": kind, "writers": ["vision"] if writes else [], **rest}
    if kind == "managed-lustre" and writes:
        data["writers"] = ["vision", "speech"]
    return objects_of(cloud, who, datasets=[data])["PersistentVolume", f"lab.{who}.corpus"]["spec"]


def test_a_volume_is_made_for_one_claim_and_stays_when_that_goes():
    found = objects_of("aws", datasets=[{"name": "corpus", "kind": "efs"}])
    spec = found["PersistentVolume", "lab.vision.corpus"]["spec"]
    assert spec["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "vision",
        "name": "corpus",
    }
    assert spec["persistentVolumeReclaimPolicy"] == "Retain"
    assert "storageClassName" not in spec, "the API server drops an empty one"
    claim = found["PersistentVolumeClaim", "corpus"]
    assert claim["metadata"]["namespace"] == "vision"
    assert claim["spec"] == {
        "accessModes": ["ReadOnlyMany"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    }


def test_nothing_waits_for_a_claim_that_waits_for_its_first_pod():
    found = objects_of("aws", datasets=[{"name": "corpus", "kind": "efs"}])
    for each in found.values():
        assert each["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}


SOURCES = {
    ("aws", "efs"): (
        {"driver": "efs.csi.aws.com", "volumeHandle": UnresolvedOutput("data-corpus.handle")},
        ["tls"],
        "ro",
    ),
    ("aws", "fsx-lustre"): (
        {
            "driver": "fsx.csi.aws.com",
            "volumeHandle": UnresolvedOutput("data-corpus.handle"),
            "volumeAttributes": {
                "dnsname": UnresolvedOutput("data-corpus.address"),
                "mountname": UnresolvedOutput("data-corpus.share"),
            },
        },
        ["flock"],
        "ro",
    ),
    ("gcp", "managed-lustre"): (
        {
            "driver": "lustre.csi.storage.gke.io",
            "volumeHandle": UnresolvedOutput("data-corpus.handle"),
            "volumeAttributes": {
                "ip": UnresolvedOutput("data-corpus.address"),
                "filesystem": "fs6b17b8",
            },
        },
        [],
        "ro",
    ),
}


@every(("cloud", "kind"), SOURCES)
def test_a_file_system_is_mounted_as_its_driver_wants_it(cloud, kind):
    source, options, read_only = SOURCES[cloud, kind]
    written, read = volume(cloud, kind, writes=True), volume(cloud, kind)
    assert written["csi"] == read["csi"] == source
    assert written.get("mountOptions", []) == options
    assert read["mountOptions"] == [*options, read_only]
    assert written["accessModes"] == ["ReadWriteMany"]
    assert read["accessModes"] == ["ReadWriteMany" if kind == "fsx-lustre" else "ReadOnlyMany"]


def test_filestore_is_mounted_by_each_pod_for_itself():
    source = {"server": UnresolvedOutput("data-corpus.address"), "path": "/data"}
    read = volume("gcp", "filestore")
    assert (read["nfs"], read["mountOptions"]) == (source, ["ro"])
    assert "mountOptions" not in volume("gcp", "filestore", writes=True)


def test_a_bucket_on_aws_is_mounted_with_the_rights_of_the_pod_that_asks():
    read = volume("aws", "bucket", cache_gib=100)
    assert read["csi"] == {
        "driver": "s3.csi.aws.com",
        "volumeHandle": "lab.vision.corpus",
        "volumeAttributes": {
            "bucketName": UnresolvedOutput("data-corpus.bucket"),
            "authenticationSource": "pod",
            "cache": "emptyDir",
            "cacheEmptyDirSizeLimit": "100Gi",
        },
    }
    assert read["mountOptions"] == ["allow-other", "read-only"]
    written = volume("aws", "bucket", bucket="our-corpus", writes=True)
    assert written["csi"]["volumeAttributes"] == {
        "bucketName": "our-corpus",
        "authenticationSource": "pod",
    }
    assert {"allow-delete", "allow-overwrite"} < set(written["mountOptions"])


def test_a_bucket_on_gcp_is_cached_where_that_is_asked_for():
    read = volume("gcp", "bucket", cache_gib=2)
    assert read["csi"]["volumeHandle"] == UnresolvedOutput("data-corpus.bucket")
    assert read["mountOptions"] == [
        "implicit-dirs",
        "file-cache:max-size-mb:2048",
        "file-cache:cache-file-for-range-read:true",
        "ro",
    ]
    written = volume("gcp", "bucket", bucket="our-corpus", writes=True)
    assert written["mountOptions"] == ["implicit-dirs", "dir-mode=0777", "file-mode=0666"]


def test_a_class_gives_each_namespace_a_volume_of_its_own():
    data = {"name": "corpus", "kind": "class", "class_name": "fast", "size_gib": 50}
    found = objects_of("none", datasets=[data])
    assert set(found) == {("PersistentVolumeClaim", "corpus")}
    spec = found["PersistentVolumeClaim", "corpus"]["spec"]
    assert (spec["storageClassName"], spec["accessModes"]) == ("fast", ["ReadWriteMany"])
    assert spec["resources"]["requests"]["storage"] == "50Gi"


@pytest.mark.parametrize(("protect", "kept"), [(True, "true"), (False, None)])
def test_a_claim_of_a_class_is_protected_as_its_storage_is(protect, kept):
    data = {"name": "corpus", "kind": "class", "class_name": "fast"}
    claim = objects_of("none", datasets=[data], protect=protect)["PersistentVolumeClaim", "corpus"]
    assert claim["metadata"]["annotations"].get("gpuyard.dev/protect") == kept


def test_every_namespace_of_a_team_has_it_and_other_teams_have_not():
    teams = [team("vision", namespaces=["vision", "vision-dev"]), team("speech")]
    data = {"name": "corpus", "kind": "efs", "teams": ["vision"]}
    plan = plan_with("aws", teams, datasets=[data])
    found = storage_objects(plan, plan.team("vision"))
    assert [each["metadata"]["name"] for each in found if each["kind"] == "PersistentVolume"] == [
        "lab.vision.corpus",
        "lab.vision-dev.corpus",
    ]
    assert storage_objects(plan, plan.team("speech")) == []


def test_a_team_is_told_where_its_checkpoints_go_and_who_may_write_them():
    found = objects_of("aws", checkpoints={})
    assert set(found) == {("ConfigMap", "checkpoints"), ("ServiceAccount", "gpuyard-data")}
    assert found["ConfigMap", "checkpoints"]["data"] == {
        "CHECKPOINT_BUCKET": UnresolvedOutput("checkpoints.url"),
        "CHECKPOINT_PREFIX": "vision/",
    }
    assert found["ServiceAccount", "gpuyard-data"]["automountServiceAccountToken"] is False


def test_a_bucket_that_exists_is_known_by_its_name():
    urls = {
        cloud: objects_of(cloud, checkpoints={"bucket": "ours"})["ConfigMap", "checkpoints"]["data"]
        for cloud in ("aws", "gcp")
    }
    assert urls["aws"]["CHECKPOINT_BUCKET"] == "s3://ours"
    assert urls["gcp"]["CHECKPOINT_BUCKET"] == "gs://ours"


def test_beside_a_cluster_of_ones_own_nobody_gives_rights():
    assert set(objects_of("none", checkpoints={"bucket": "ours"})) == {("ConfigMap", "checkpoints")}


def test_only_who_asks_a_bucket_has_an_account_for_it():
    kinds = {kind for kind, _ in objects_of("gcp", datasets=[{"name": "web", "kind": "bucket"}])}
    assert "ServiceAccount" in kinds
    data = [{"name": "corpus", "kind": "filestore"}]
    assert "ServiceAccount" not in {kind for kind, _ in objects_of("gcp", datasets=data)}


def test_a_simulated_platform_has_none():
    raw = platform(cloud="simulated", teams=[team()], storage={"checkpoints": {}})
    plan = plan_of(raw)
    assert storage_objects(plan, plan.teams[0]) == []
    assert limit_objects(plan, plan.teams[0], plan.teams[0].default_namespace)


def test_storage_is_part_of_the_teams_objects():
    plan = plan_with("aws", checkpoints={"bucket": "ours"})
    kinds = [each["kind"] for each in platform_objects(plan)]
    assert kinds.count("ServiceAccount") >= 2


# ── limits ────────────────────────────────────────────────────────────────────────────────────────
def hard(**storage):
    teams = [team("vision", limits={"storage_gib": 100, "claims": 3})]
    plan = plan_with("aws", teams, **storage)
    quota, ranges = limit_objects(plan, plan.teams[0], plan.teams[0].default_namespace)
    most = ranges["spec"]["limits"][-1]["max"]["storage"]
    said = quota["spec"]["hard"]
    return said["persistentvolumeclaims"], said["requests.storage"], most


def test_what_the_platform_claims_for_a_team_takes_none_of_its_own():
    assert hard() == ("3", "100Gi", "100Gi")
    data = [
        {"name": "corpus", "kind": "efs"},
        {"name": "own", "kind": "class", "class_name": "fast", "size_gib": 400},
    ]
    assert hard(datasets=data) == ("5", "501Gi", "501Gi")


def test_what_the_platform_claims_is_added_to_the_default_as_well():
    plan = plan_with("aws", [team()], datasets=[{"name": "corpus", "kind": "efs"}])
    quota, _ = limit_objects(plan, plan.teams[0], plan.teams[0].default_namespace)
    assert quota["spec"]["hard"]["requests.storage"] == "1025Gi"
