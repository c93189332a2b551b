"""What is bought where the stack file does not say it, and which team has what."""

import pytest

from gpuyard.plan.records import StoragePlan
from gpuyard.provider import provider_of
from gpuyard_core.catalogue.cluster.stores import FILESTORE, FSX_LUSTRE, MANAGED_LUSTRE
from kit.every import every
from kit.stacks import plan_of, platform, pool, team

TEAMS = [team("vision"), team("speech", previous_names=["audio"])]
ON_A = {
    "aws": pool(zones=["us-east-1a"]),
    "gcp": pool(machine="a3-highgpu-8g", zones=["us-central1-a"]),
}


def storage_of(cloud="aws", **storage):
    return plan_of(platform([ON_A[cloud]], TEAMS, cloud=cloud, storage=storage)).storage


def one(kind, cloud="aws", **rest):
    return storage_of(cloud, datasets=[{"name": "corpus", "kind": kind, **rest}]).datasets[0]


def test_a_platform_without_the_section_has_no_storage():
    assert plan_of(platform()).storage == StoragePlan()


BOUGHT = {
    "efs": ("aws", None, None, None, None),
    "fsx-lustre": ("aws", 1200, "persistent", 125, "us-east-1a"),
    "filestore": ("gcp", 1024, "zonal", None, "us-central1-a"),
    "managed-lustre": ("gcp", 9000, None, 1000, "us-central1-a"),
    "bucket": ("gcp", None, None, None, None),
    "class": ("aws", 100, None, None, None),
}


@every("kind", BOUGHT)
def test_what_nobody_says_is_the_least_that_is_sold(kind):
    cloud, *expected = BOUGHT[kind]
    named = {"class_name": "fast"} if kind == "class" else {}
    found = one(kind, cloud, **named)
    assert [found.size_gib, found.tier, found.throughput, found.zone] == expected


def test_scratch_has_the_throughput_that_it_has():
    assert one("fsx-lustre", tier="scratch").throughput is None


def test_a_regional_file_system_lies_in_no_zone():
    assert one("filestore", "gcp", tier="regional").zone is None


def test_it_lies_where_the_cluster_is_when_pools_say_nothing():
    raw = platform(
        [pool(machine="a3-highgpu-8g")],
        cloud="gcp",
        cluster={"zones": ["us-central1-b"]},
        storage={"datasets": [{"name": "corpus", "kind": "filestore"}]},
    )
    assert plan_of(raw).storage.datasets[0].zone == "us-central1-b"


def test_all_teams_have_a_dataset_that_names_none_by_their_first_names():
    found = one("efs", writers=["speech"])
    assert (found.teams, found.writers) == (("vision", "audio"), ("audio",))
    assert one("efs", teams=["vision"]).teams == ("vision",)


def test_a_team_has_what_names_it():
    storage = storage_of(
        datasets=[
            {"name": "corpus", "kind": "efs", "teams": ["vision"]},
            {"name": "web", "kind": "bucket"},
        ],
        checkpoints={"teams": ["speech"], "retention_days": 3},
        protect=False,
    )
    assert [each.name for each in storage.datasets_of_team("vision")] == ["corpus", "web"]
    assert [each.name for each in storage.buckets("vision")] == ["web"]
    assert [each.name for each in storage.datasets_of_team("audio")] == ["web"]
    assert storage.keeps_checkpoints("audio")
    assert not storage.keeps_checkpoints("vision")
    assert (storage.checkpoints.retention_days, storage.protect) == (3, False)
    assert not storage_of(datasets=[]).keeps_checkpoints("vision")


def test_a_claim_of_shared_data_asks_for_next_to_nothing():
    assert one("fsx-lustre").claim_gib == 1
    assert one("class", class_name="fast", size_gib=50).claim_gib == 50


def test_the_tiers_of_the_catalogue_are_the_words_of_the_stack_file():
    assert set(FSX_LUSTRE) | set(FILESTORE) == {
        *("persistent", "scratch"),
        *("zonal", "regional", "basic-ssd", "basic-hdd"),
    }


@pytest.mark.parametrize(
    ("offer", "size", "sold"),
    [
        (FSX_LUSTRE["scratch"], 1, 1200),
        (FSX_LUSTRE["scratch"], 1201, 2400),
        (FSX_LUSTRE["scratch"], 9_999_999, 2_400_000),
        (FILESTORE["zonal"], 9985, 10_240),
        (FILESTORE["basic-hdd"], 1025, 1025),
        (MANAGED_LUSTRE[1000], 1_530_001, 1_584_000),
        (MANAGED_LUSTRE[1000], 10_000_000, 10_008_000),
        (MANAGED_LUSTRE[125], 72_001, 144_000),
    ],
)
def test_the_nearest_size_that_is_sold_holds_as_much(offer, size, sold):
    assert offer.nearest(size) == sold


NAMES = {
    "aws": {
        "our-data": True,
        "a.b": True,
        "xn--data": False,
        "data-s3alias": False,
        "192.168.0.1": False,
        "a..b": False,
        "under_score": False,
        "x" * 63: True,
        "x" * 64: False,
    },
    "gcp": {
        "our_data": True,
        "goog-data": False,
        "my-google-data": False,
        "x" * 64: False,
        f"{'x' * 60}.{'y' * 60}": True,
    },
}


@every("cloud", NAMES)
def test_names_of_buckets_are_the_clouds(cloud):
    pattern = provider_of(cloud).bucket_names.pattern
    assert {name: bool(pattern.fullmatch(name)) for name in NAMES[cloud]} == NAMES[cloud]


EVERY_KIND = {
    "aws": [
        {"name": "home", "kind": "efs"},
        {"name": "fast", "kind": "fsx-lustre"},
        {"name": "faster", "kind": "fsx-lustre", "throughput": 500},
        {"name": "filled", "kind": "fsx-lustre", "bucket": "our-corpus"},
        {"name": "brief", "kind": "fsx-lustre", "tier": "scratch"},
        {"name": "raw", "kind": "bucket"},
        {"name": "theirs", "kind": "bucket", "bucket": "their-corpus"},
        {"name": "mine", "kind": "class", "class_name": "gp3"},
    ],
    "gcp": [
        {"name": "files", "kind": "filestore", "tier": "regional"},
        {"name": "fast", "kind": "managed-lustre"},
    ],
}
LISTED = "list price of unknown date, read on 2026-11-23, not verified"
MADE = {
    "aws": [
        ("home", "efs", None, None, "backups", None, "billed by stored data"),
        ("fast", "fsx-lustre persistent", 1200, "us-east-1a", "backups 7 days", 174, LISTED),
        (
            "faster",
            "fsx-lustre persistent",
            1200,
            "us-east-1a",
            "backups 7 days",
            None,
            "no price known",
        ),
        ("filled", "fsx-lustre persistent", 1200, "us-east-1a", "nothing", 174, LISTED),
        ("brief", "fsx-lustre scratch", 1200, "us-east-1a", "nothing", 168, LISTED),
        ("raw", "bucket", None, None, "versions 7 days", None, "billed by stored data"),
        (
            "checkpoints",
            "bucket",
            None,
            None,
            "versions 30 days",
            None,
            "billed by stored data",
        ),
    ],
    "gcp": [
        ("files", "filestore regional", 1024, None, "nothing", None, "no price known"),
        ("fast", "managed-lustre", 9000, "us-central1-a", "nothing", None, "no price known"),
        (
            "checkpoints",
            "bucket",
            None,
            None,
            "versions 30 days",
            None,
            "billed by stored data",
        ),
    ],
}


@every("cloud", MADE)
def test_what_is_made_is_listed_with_what_it_costs_a_month(cloud):
    found = storage_of(cloud, datasets=EVERY_KIND[cloud], checkpoints={}).stores

    assert [
        (
            each.name,
            each.kind,
            each.size_gib,
            each.zone,
            each.retention,
            each.usd_per_month and round(each.usd_per_month, 6),
            each.basis,
        )
        for each in found
    ] == MADE[cloud]
    assert all(each.protect for each in found)


def test_without_protection_nothing_of_efs_is_backed_up():
    home = {"name": "home", "kind": "efs"}
    (made,) = storage_of(datasets=[home], protect=False).stores

    assert (made.protect, made.retention) == (False, "nothing")


def test_a_bucket_for_checkpoints_that_exists_is_not_made():
    assert storage_of(checkpoints={"bucket": "our-checkpoints"}).stores == ()


def test_no_store_is_made_where_no_cloud_makes_it():
    mine = {"name": "mine", "kind": "class", "class_name": "fast"}
    raw = platform([pool()], TEAMS, cloud="none", storage={"datasets": [mine]})

    assert plan_of(raw).storage.stores == ()


def test_a_price_is_of_its_region_alone():
    raw = platform(
        [pool(zones=["us-west-2a"])],
        TEAMS,
        cloud="aws",
        storage={"datasets": [{"name": "fast", "kind": "fsx-lustre"}]},
    )

    assert [each.usd_per_month for each in plan_of(raw).storage.stores] == [None]
