"""Stores at Google: reached from the cluster's network alone, kept; a team's rights end at its own."""

from testbed.plugins.cloud.checking import refusals
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.shapes import Place

from gpuyard.plan.records.late import UnresolvedOutput, unresolved_output_names
from gpuyard.render.cloud.graph import resolve_values
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.render.storage import storage_objects
from kit.clouds.aws import found_by_rules
from kit.every import every
from kit.stacks import plan_of, platform, team
from render.gcp.made import gpu_pool

TEAMS = [team("vision"), team("speech", namespaces=["speech", "speech-dev"])]
KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"
BUCKET, MEMBER = "gcp:storage/bucket:Bucket", "gcp:storage/bucketIAMMember:BucketIAMMember"


def plan_with(cluster=None, teams=TEAMS, **storage):
    raw = platform(
        [gpu_pool()],
        teams,
        cloud="gcp",
        cluster=cluster,
        storage=storage,
        tags={"owner": "ml", "cost-center": "4711"},
        system=None if (cluster or {}).get("existing") else {"machine": "e2-standard-4", "nodes": 2},
    )  # fmt: skip
    return plan_of(raw)


def graph_with(cluster=None, teams=TEAMS, **storage):
    return gcp_graph(plan_with(cluster, teams, **storage))


def one(kind, cluster=None, **rest):
    return graph_with(cluster, datasets=[{"name": "corpus", "kind": kind, **rest}])


def shown(value):
    return resolve_values(value, lambda name: f"<{name}>")


def inputs(graph, name="data-corpus"):
    return {key: shown(value) for key, value in graph.resource(name).inputs.items()}


KINDS = {
    "filestore": {"writers": ["vision"]},
    "filestore-regional": {"tier": "regional", "size_gib": 10240},
    "filestore-basic-ssd": {"tier": "basic-ssd"},
    "filestore-basic-hdd": {"tier": "basic-hdd"},
    "managed-lustre": {"writers": ["vision", "speech"]},
    "managed-lustre-slow": {"throughput": 125},
    "bucket": {"cache_gib": 100, "writers": ["speech"]},
    "class": {"class_name": "fast"},
}
SHARED = {"network": {"id": "shared", "subnets": {"private": ["nodes"]}}}


@every("name", KINDS)
def test_its_provider_and_service_refuse_nothing_and_our_rules_find_nothing(name):
    kind = next(k for k in ("filestore", "managed-lustre", "bucket", "class") if k in name)
    data = {"name": "corpus", "kind": kind, **KINDS[name]}
    for cluster in (None, {"key": KEY}, SHARED):
        graph = graph_with(cluster, datasets=[data], checkpoints={})
        found = {r.name: said for r in graph.resources if (said := refusals(r.kind, r.inputs))}
        assert found == {}
        assert found_by_rules(graph, known=True) == set()
        if cluster is None:  # the judge's project has neither that key nor that network
            place = Place("gcp", region="us-central1", project="my-project")
            assert judged(graph, place) == []


def test_without_storage_the_graph_has_none_of_it():
    kinds = {each.kind.split("/")[0] for each in graph_with().resources}
    assert kinds.isdisjoint({"gcp:filestore", "gcp:lustre", "gcp:storage", "gcp:servicenetworking"})


def test_what_holds_data_is_protected_unless_the_stack_file_lifts_it():
    data = [
        {"name": "home", "kind": "filestore"},
        {"name": "fast", "kind": "managed-lustre"},
        {"name": "web", "kind": "bucket"},
    ]
    names = ("data-home", "data-fast", "data-web", "checkpoints")
    for protect in (True, False):
        graph = graph_with(datasets=data, checkpoints={}, protect=protect)
        found = {name: graph.resource(name).protect for name in names}
        assert found == dict.fromkeys(names, protect)
        assert inputs(graph, "data-home")["deletionProtectionEnabled"] is protect


# ── file systems ──────────────────────────────────────────────────────────────────────────────────
def test_filestore_lies_in_its_zone_or_in_all_of_the_region():
    zonal = inputs(one("filestore"))
    assert (zonal["tier"], zonal["location"]) == ("ZONAL", "us-central1-a")
    assert zonal["fileShares"] == {"name": "data", "capacityGb": 1024}
    regional = inputs(one("filestore", tier="regional"))
    assert (regional["tier"], regional["location"]) == ("REGIONAL", "us-central1")


def test_the_key_that_is_given_is_used_where_the_tier_has_one():
    assert inputs(one("filestore", {"key": KEY}))["kmsKeyName"] == KEY
    assert "kmsKeyName" not in inputs(one("filestore", {"key": KEY}, tier="basic-hdd"))
    assert inputs(one("managed-lustre", {"key": KEY}))["kmsKey"] == KEY
    assert inputs(one("bucket", {"key": KEY}))["encryption"] == {"defaultKmsKeyName": KEY}


def test_lustre_is_reached_through_a_network_that_is_joined_to_ours():
    graph = one("managed-lustre", throughput=500)
    found = inputs(graph)
    assert (found["capacityGib"], found["perUnitStorageThroughput"]) == ("18000", "500")
    assert found["network"] == "projects/<client.project>/global/networks/<network.name>"
    assert graph.resource("data-corpus").after == ("services-range", "services")
    door = inputs(graph, "from-lustre")
    assert door["sourceRanges"] == ["<services-range.address>/20"]
    assert door["allows"] == [{"protocol": "tcp", "ports": ["988", "6988"]}]


def test_a_network_that_is_there_is_left_as_it_is():
    for network, called in (
        ("shared", "projects/<client.project>/global/networks/shared"),
        ("projects/host/global/networks/shared", "projects/host/global/networks/shared"),
    ):
        given = {"network": {"id": network, "subnets": {"private": ["nodes"]}}}
        graph = one("managed-lustre", given)
        assert inputs(graph)["network"] == called
        assert graph.resources_of_kind("gcp:servicenetworking/connection:Connection") == []
    there = one("filestore", {"existing": "gke_p_us-central1_blue"})
    network = inputs(there)["networks"][0]["network"]
    assert network == "projects/<client.project>/global/networks/<cluster.network>"


# ── buckets ───────────────────────────────────────────────────────────────────────────────────────
def test_a_bucket_is_closed_and_versioned_and_only_what_was_deleted_goes():
    found = inputs(graph_with(checkpoints={"retention_days": 14}), "checkpoints")
    assert found["name"] == "<client.project>-lab-checkpoints"
    assert found["uniformBucketLevelAccess"] is True
    assert found["publicAccessPrevention"] == "enforced"
    assert found["versioning"] == {"enabled": True}
    assert found["lifecycleRules"] == [
        {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 7}},
        {
            "action": {"type": "Delete"},
            "condition": {"daysSinceNoncurrentTime": 14, "withState": "ARCHIVED"},
        },
    ]


def test_its_name_fits_beside_the_longest_project():
    name = inputs(one("bucket"))["name"].replace("<client.project>", "p" * 30)
    long = graph_with(datasets=[{"name": "d" * 40, "kind": "bucket"}])
    longer = shown(long.resource(f"data-{'d' * 40}").inputs["name"])
    assert len(name) <= len(longer.replace("<client.project>", "p" * 30)) <= 63


# ── rights ────────────────────────────────────────────────────────────────────────────────────────
def members(**storage):
    graph = graph_with(**storage)
    return {each.name: inputs(graph, each.name) for each in graph.resources_of_kind(MEMBER)}


def test_one_account_of_each_namespace_is_let_in_itself():
    found = members(datasets=[{"name": "web", "kind": "bucket", "writers": ["speech"]}])
    assert {name: each["role"] for name, each in found.items()} == {
        "vision_data-web": "roles/storage.objectViewer",
        "speech_data-web": "roles/storage.objectUser",
        "speech-dev_data-web": "roles/storage.objectUser",
    }
    assert found["speech-dev_data-web"]["member"] == (
        "principal://iam.googleapis.com/projects/<project.number>/locations/global/workloadIdentityPools/"
        "<client.project>.svc.id.goog/subject/ns/speech-dev/sa/gpuyard-data"
    )
    assert found["vision_data-web"]["bucket"] == "<data-web.name>"


def test_a_team_sees_its_own_checkpoints_and_no_others():
    found = members(checkpoints={"bucket": "ours", "teams": ["vision"]})
    assert found["vision_checkpoints"]["condition"] == {
        "title": "checkpoints of vision",
        "expression": 'resource.name.startsWith("projects/_/buckets/ours/objects/vision/")'
        ' || api.getAttribute("storage.googleapis.com/objectListPrefix", "").startsWith("vision/")',
    }
    assert list(found) == ["vision_checkpoints"]


def test_the_pod_of_the_check_reads_what_it_is_to_read_and_nothing_else():
    data = [
        {"name": "web", "kind": "bucket", "bucket": "our-web", "writers": ["vision", "speech"]},
        {"name": "new", "kind": "bucket"},
        {"name": "home", "kind": "filestore", "read_mb_per_s": 50},
    ]
    full = {"image": "x", "profile": "full"}
    more = {"validation": full, "system": {"machine": "e2-standard-4", "nodes": 2}}
    stores = {"datasets": data}
    raw = platform([gpu_pool(nodes=1)], TEAMS, cloud="gcp", storage=stores, **more)
    graph = gcp_graph(plan_of(raw))
    found = [
        each for each in graph.resources_of_kind(MEMBER) if each.name.startswith("gpuyard-lab_")
    ]
    assert [each.name for each in found] == ["gpuyard-lab_data-web"]
    given = inputs(graph, "gpuyard-lab_data-web")
    assert (given["role"], given["bucket"]) == ("roles/storage.objectViewer", "our-web")
    assert given["member"].endswith("/subject/ns/gpuyard-lab/sa/gpuyard-data")


def test_rights_wait_for_the_cluster_that_brings_the_pool_of_identities():
    graph = graph_with(datasets=[{"name": "web", "kind": "bucket"}], checkpoints={})
    assert {each.after for each in graph.resources_of_kind(MEMBER)} == {("cluster",)}
    there = graph_with({"existing": "gke_p_us-central1_blue"}, checkpoints={})
    assert {each.after for each in there.resources_of_kind(MEMBER)} == {()}


# ── what the cluster is told ──────────────────────────────────────────────────────────────────────
def test_everything_that_objects_wait_for_is_known_once_the_graph_is_made():
    plan = plan_with(
        datasets=[
            {"name": "home", "kind": "filestore"},
            {"name": "fast", "kind": "managed-lustre"},
            {"name": "web", "kind": "bucket"},
            {"name": "old", "kind": "bucket", "bucket": "ours"},
        ],
        checkpoints={},
    )
    graph = gcp_graph(plan)
    values = graph.late_values
    objects = [each for one in plan.teams for each in storage_objects(plan, one)]
    assert unresolved_output_names(objects) == values.keys()
    made = {"data-fast.mountPoint": "10.1.2.3@tcp:/fs", "data-fast.instanceId": "lab-fast"}
    told = {
        n: resolve_values(v, lambda name: made.get(name, f"<{name}>")) for n, v in values.items()
    }
    assert told["data-fast.address"] == "10.1.2.3"
    assert told["data-fast.handle"] == "<client.project>/us-central1-a/lab-fast"
    assert told["checkpoints.url"] == "gs://<checkpoints.name>"
    assert values["data-home.address"] == UnresolvedOutput("data-home.networks.0.ipAddresses.0")
    assert graph_with(checkpoints={"bucket": "ours"}).late_values == {}
