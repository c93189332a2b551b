"""Stores at AWS: encrypted, closed to all but nodes, kept; and a team's rights end at what is its own."""

import json

import pytest
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.shapes import Place

from gpuyard.plan.records.late import UnresolvedOutput, resolve_outputs
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.aws.storage import store_calls
from gpuyard.render.cloud.graph import late_value_names, resolve_values
from kit.clouds.aws import ADMIN, found_by_rules, plan_on_aws, refused
from kit.every import every
from kit.stacks import pool, team

CLUSTER = {"zones": ["us-east-1a", "us-east-1b"], "admins": [ADMIN]}
TEAMS = [team("vision"), team("speech", namespaces=["speech", "speech-dev"])]
EFS, LUSTRE = "aws:efs/fileSystem:FileSystem", "aws:fsx/lustreFileSystem:LustreFileSystem"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
KEY = "arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef"


def plan_with(cluster=None, teams=TEAMS, **storage):
    return plan_on_aws(
        [pool(zones=["us-east-1a"])],
        cluster={**CLUSTER, **(cluster or {})},
        teams=teams,
        storage=storage,
        tags={"owner": "ml", "cost-center": "4711"},
    )


def graph_with(cluster=None, teams=TEAMS, **storage):
    return aws_graph(plan_with(cluster, teams, **storage))


def one(kind, **rest):
    return graph_with(datasets=[{"name": "corpus", "kind": kind, **rest}])


KINDS = {
    "efs": {},
    "efs-provisioned": {"throughput": 512, "writers": ["vision"]},
    "fsx-lustre": {"writers": ["vision"]},
    "fsx-lustre-filled": {"bucket": "our-corpus", "throughput": 1000, "writers": ["speech"]},
    "fsx-lustre-scratch": {"tier": "scratch", "size_gib": 2400},
    "bucket": {"cache_gib": 100, "writers": ["speech"]},
    "bucket-given": {"bucket": "our-corpus"},
    "class": {"class_name": "gp3"},
}


@every("name", KINDS)
def test_its_provider_and_service_refuse_nothing_and_our_rules_find_nothing(name):
    kind = next(k for k in ("efs", "fsx-lustre", "bucket", "class") if name.startswith(k))
    for cluster in ({}, {"key": KEY}):
        data = {"name": "corpus", "kind": kind, **KINDS[name]}
        graph = graph_with(cluster, datasets=[data], checkpoints={})
        assert refused(graph) == {}
        assert found_by_rules(graph, known=True) == set()
        if not cluster:  # the account of the judge has no key that is not made
            assert judged(graph, Place("aws", region="us-east-1")) == []


def test_without_storage_the_graph_has_none_of_it():
    graph = graph_with()
    kinds = {each.kind.split("/")[0] for each in graph.resources}
    assert kinds.isdisjoint({"aws:efs", "aws:fsx", "aws:s3"})
    assert "account" not in {each.name for each in graph.calls}


def test_what_holds_data_is_protected_unless_the_stack_file_lifts_it():
    data = [
        {"name": "home", "kind": "efs"},
        {"name": "fast", "kind": "fsx-lustre"},
        {"name": "web", "kind": "bucket"},
    ]
    names = ("data-home", "data-fast", "data-web", "checkpoints")
    for protect in (True, False):
        graph = graph_with(datasets=data, checkpoints={}, protect=protect)
        assert {name: graph.resource(name).protect for name in names} == dict.fromkeys(
            names, protect
        )


# ── EFS ───────────────────────────────────────────────────────────────────────────────────────────
def test_efs_has_a_door_in_each_zone_that_opens_to_nodes_alone():
    graph = one("efs")
    doors = graph.resources_of_kind("aws:efs/mountTarget:MountTarget")
    assert [each.inputs["subnetId"] for each in doors] == [
        UnresolvedOutput("private-us-east-1a.id"),
        UnresolvedOutput("private-us-east-1b.id"),
    ]
    assert {each.inputs["securityGroups"][0] for each in doors} == {
        UnresolvedOutput("access-data-corpus.id")
    }
    [rule] = [
        each
        for each in graph.resources_of_kind(INGRESS)
        if each.inputs["securityGroupId"] == UnresolvedOutput("access-data-corpus.id")
    ]
    assert rule.inputs["referencedSecurityGroupId"] == UnresolvedOutput("nodes.id")
    assert (rule.inputs["fromPort"], rule.inputs["toPort"]) == (2049, 2049)


def test_efs_scales_by_itself_or_has_the_throughput_that_is_written():
    assert one("efs").resource("data-corpus").inputs["throughputMode"] == "elastic"
    fixed = one("efs", throughput=512).resource("data-corpus").inputs
    assert (fixed["throughputMode"], fixed["provisionedThroughputInMibps"]) == ("provisioned", 512)


def test_efs_is_backed_up_as_long_as_it_is_protected():
    for protect, status in ((True, "ENABLED"), (False, "DISABLED")):
        graph = graph_with(datasets=[{"name": "corpus", "kind": "efs"}], protect=protect)
        found = graph.resource("backups-data-corpus").inputs["backupPolicy"]
        assert found == {"status": status}


def test_an_existing_file_system_is_mounted_and_nothing_of_it_is_created():
    files = "fs-0123456789abcdef0::fsap-0123456789abcdef0"
    graph = one("efs", file_system=files)
    assert not [each for each in graph.resources if each.kind.startswith("aws:efs/")]
    assert not [each for each in graph.resources if each.name.endswith("data-corpus")]
    assert graph.late_values["data-corpus.handle"] == files


def test_doors_of_subnets_without_a_zone_are_told_apart_by_their_place():
    graph = aws_graph(
        plan_on_aws(
            [pool()],
            cluster={"existing": "blue"},
            system=None,
            storage={"datasets": [{"name": "corpus", "kind": "efs"}]},
        )
    )
    doors = graph.resources_of_kind("aws:efs/mountTarget:MountTarget")
    assert [each.name for each in doors] == ["mount-0-data-corpus", "mount-1-data-corpus"]


# ── Lustre ────────────────────────────────────────────────────────────────────────────────────────
def test_lustre_lies_in_its_zone_and_talks_to_nodes_and_itself():
    graph = one("fsx-lustre")
    assert graph.resource("data-corpus").inputs["subnetIds"] == UnresolvedOutput(
        "private-us-east-1a.id"
    )
    ports = {
        (
            each.inputs["securityGroupId"].name,
            each.inputs["referencedSecurityGroupId"].name,
            each.inputs["fromPort"],
            each.inputs["toPort"],
        )
        for each in graph.resources_of_kind(INGRESS)
        if "data-corpus" in each.name
    }
    group, nodes = "access-data-corpus.id", "nodes.id"
    assert ports == {
        (mine, peer, *span)
        for mine, peer in ((group, group), (group, nodes), (nodes, group))
        for span in ((988, 988), (1018, 1023))
    }


def test_a_persistent_one_is_backed_up_unless_a_bucket_has_its_original():
    own = one("fsx-lustre", throughput=250).resource("data-corpus").inputs
    assert (own["deploymentType"], own["perUnitStorageThroughput"]) == ("PERSISTENT_2", 250)
    assert (own["automaticBackupRetentionDays"], own["skipFinalBackup"]) == (7, False)
    filled = one("fsx-lustre", bucket="our-corpus").resource("data-corpus").inputs
    assert (filled["automaticBackupRetentionDays"], filled["skipFinalBackup"]) == (0, True)


def test_scratch_has_neither_backups_nor_a_throughput():
    found = one("fsx-lustre", tier="scratch").resource("data-corpus").inputs
    assert found["deploymentType"] == "SCRATCH_2"
    assert {"perUnitStorageThroughput", "automaticBackupRetentionDays"}.isdisjoint(found)


def test_a_bucket_fills_it_and_gets_back_what_teams_write_and_never_a_delete():
    def link(**rest):
        graph = one("fsx-lustre", bucket="our-corpus", **rest)
        return graph.resource("filled-data-corpus").inputs

    read = link()
    assert (read["dataRepositoryPath"], read["fileSystemPath"]) == ("s3://our-corpus", "/")
    assert "autoExportPolicy" not in read["s3"]
    assert link(writers=["vision"])["s3"]["autoExportPolicy"] == {"events": ["NEW", "CHANGED"]}


# ── buckets ───────────────────────────────────────────────────────────────────────────────────────
def test_a_bucket_is_closed_versioned_and_encrypted():
    graph = graph_with(checkpoints={"retention_days": 14})
    block = graph.resource("publicaccessblock-checkpoints").inputs
    assert [value for key, value in block.items() if key != "bucket"] == [True] * 4
    versions = graph.resource("versioning-checkpoints").inputs["versioningConfiguration"]
    assert versions == {"status": "Enabled"}
    [rule] = graph.resource("serversideencryptionconfiguration-checkpoints").inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "AES256"}
    policy = document(graph, "policy-checkpoints")
    assert policy == [
        {
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": ["<checkpoints.arn>", "<checkpoints.arn>/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    ]


def test_only_what_was_deleted_or_never_finished_goes():
    rules = (
        graph_with(checkpoints={"retention_days": 14})
        .resource("lifecycleconfiguration-checkpoints")
        .inputs["rules"]
    )
    assert rules[0]["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 7}
    assert rules[1]["noncurrentVersionExpiration"] == {"noncurrentDays": 14}
    assert all("days" not in rule.get("expiration", {}) for rule in rules)


def test_its_name_is_the_accounts_and_fits():
    bucket = graph_with(checkpoints={}).resource("checkpoints").inputs["bucket"]
    assert shown(bucket) == "lab-checkpoints-<account.accountId>-us-east-1"
    long = graph_with(datasets=[{"name": "d" * 40, "kind": "bucket"}])
    name = shown(long.resource(f"data-{'d' * 40}").inputs["bucket"])
    assert len(name.replace("<account.accountId>", "123456789012")) <= 63


def test_the_account_is_asked_for_where_a_bucket_is_made():
    made, given = {"name": "a", "kind": "bucket"}, {"name": "a", "kind": "bucket", "bucket": "ours"}
    for storage, asked in (
        ({"datasets": [made]}, True),
        ({"datasets": [given]}, False),
        ({"checkpoints": {}}, True),
        ({"checkpoints": {"bucket": "ours"}}, False),
    ):
        assert bool(store_calls(plan_with(**storage))) is asked


# ── rights ────────────────────────────────────────────────────────────────────────────────────────
def document(graph, name):
    return json.loads(shown(graph.resource(name).inputs["policy"]))["Statement"]


def shown(value):
    return resolve_values(value, lambda name: f"<{name}>")


def allowed(team_name, cluster=None, **storage):
    statements = document(graph_with(cluster, **storage), f"rights-team-{team_name}")
    return [(each["Action"], each["Resource"], each.get("Condition")) for each in statements]


WRITE = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]


def test_a_team_reads_what_it_has_and_writes_what_it_may():
    data = [{"name": "web", "kind": "bucket", "writers": ["speech"]}]
    listed = ("s3:ListBucket", "<data-web.arn>", None)
    assert allowed("vision", datasets=data) == [
        listed,
        (["s3:GetObject"], "<data-web.arn>/*", None),
    ]
    assert allowed("speech", datasets=data) == [listed, (WRITE, "<data-web.arn>/*", None)]


def test_a_team_sees_its_own_checkpoints_and_no_others():
    assert allowed("vision", checkpoints={"bucket": "ours"}) == [
        (
            "s3:ListBucket",
            "arn:aws:s3:::ours",
            {"StringLike": {"s3:prefix": ["vision/*"]}},
        ),
        (WRITE, "arn:aws:s3:::ours/vision/*", None),
    ]


def test_with_a_key_of_ones_own_a_team_may_use_it():
    found = allowed("vision", {"key": KEY}, checkpoints={})
    assert found[-1] == (["kms:Decrypt", "kms:GenerateDataKey"], KEY, None)


def test_each_namespace_gives_the_role_to_one_account():
    graph = graph_with(checkpoints={})
    found = graph.resources_of_kind("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    assert [(e.inputs["namespace"], e.inputs["roleArn"].name) for e in found] == [
        ("vision", "team-vision.arn"),
        ("speech", "team-speech.arn"),
        ("speech-dev", "team-speech.arn"),
    ]
    assert {e.inputs["serviceAccount"] for e in found} == {"gpuyard-data"}
    assert "addon-eks-pod-identity-agent" in found[0].after


def test_a_team_that_asks_no_bucket_has_no_role():
    graph = graph_with(
        datasets=[{"name": "web", "kind": "bucket", "teams": ["speech"]}],
        checkpoints={"teams": ["speech"]},
    )
    assert [r.name for r in graph.resources if r.name.startswith("team-")] == ["team-speech"]


def test_the_pod_of_the_check_reads_what_it_is_to_read_and_nothing_else():
    data = [
        {"name": "web", "kind": "bucket", "bucket": "our-web", "writers": ["vision"]},
        {"name": "new", "kind": "bucket"},
        {"name": "home", "kind": "efs", "read_mb_per_s": 100},
    ]
    full = {"image": "registry.example.org/ml/full:1", "profile": "full"}

    def rights(**more):
        graph = aws_graph(
            plan_on_aws([pool(zones=["us-east-1a"])], cluster=CLUSTER, teams=TEAMS, **more)
        )
        return graph, [r.name for r in graph.resources if "check-volumes" in r.name]

    assert rights(storage={"datasets": data})[1] == []
    assert rights(storage={"datasets": data[1:]}, validation=full)[1] == []
    graph, names = rights(storage={"datasets": data}, validation=full)
    assert names == ["check-volumes", "rights-check-volumes"]
    said = [(s["Action"], s["Resource"]) for s in document(graph, "rights-check-volumes")]
    assert said == [
        ("s3:ListBucket", "arn:aws:s3:::our-web"), (["s3:GetObject"], "arn:aws:s3:::our-web/*"),
    ]  # fmt: skip
    given = graph.resource("rights-of-gpuyard-lab").inputs
    assert (given["namespace"], given["serviceAccount"]) == ("gpuyard-lab", "gpuyard-data")


# ── what the cluster is told ──────────────────────────────────────────────────────────────────────
def test_everything_that_objects_wait_for_is_known_once_the_graph_is_made():
    from gpuyard.plan.records.late import unresolved_output_names
    from gpuyard.render.storage import storage_objects

    plan = plan_with(
        datasets=[
            {"name": "home", "kind": "efs"},
            {"name": "fast", "kind": "fsx-lustre"},
            {"name": "web", "kind": "bucket"},
            {"name": "old", "kind": "bucket", "bucket": "ours"},
        ],
        checkpoints={},
    )
    graph = aws_graph(plan)
    values = graph.late_values
    objects = [each for one in plan.teams for each in storage_objects(plan, one)]
    assert unresolved_output_names(objects) == values.keys()
    for value in values.values():
        for name in late_value_names(value):
            whose, _, output = name.partition(".")
            graph.resource(whose).get(output)
    told = {name: shown(value) for name, value in values.items()}
    assert told["data-home.handle"] == "<data-home.id>::<root-data-home.id>"
    assert told["checkpoints.url"] == "s3://<checkpoints.id>"
    assert resolve_outputs(objects, told.__getitem__)
    assert graph_with(checkpoints={"bucket": "ours"}).late_values == {}


@pytest.mark.parametrize("name", ["nat", "x-root", "root", "of-vision"])
def test_no_name_of_a_dataset_is_that_of_another_resource(name):
    data = [{"name": n, "kind": "efs"} for n in ("x", name)]
    assert graph_with(datasets=data).resource(f"data-{name}")
