"""Who nodes are and what they may do, and whose key is around secrets and disks."""

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import Joined
from render.gcp.made import POOL, gpu_pool, graph_of, inputs_of

MEMBER = "gcp:projects/iAMMember:IAMMember"


def test_nodes_have_an_account_of_their_own_with_the_least_roles():
    graph = graph_of()
    assert inputs_of(graph, "nodes")["accountId"] == "lab-nodes"
    assert {
        each.inputs["role"]: each.inputs["member"] for each in graph.resources_of_kind(MEMBER)
    } == {
        "roles/container.defaultNodeServiceAccount": UnresolvedOutput("nodes.member"),
        "roles/artifactregistry.reader": UnresolvedOutput("nodes.member"),
    }
    accounts = {
        each.inputs["nodeConfig"]["serviceAccount"] for each in graph.resources_of_kind(POOL)
    }
    assert accounts == {UnresolvedOutput("nodes.email")}
    assert inputs_of(graph, "cluster")["nodeConfig"]["serviceAccount"] == UnresolvedOutput(
        "nodes.email"
    )


def test_the_accounts_name_is_as_long_as_google_takes_it():
    graph = graph_of(name="a-platform-with-quite-a-long-name")
    assert len(inputs_of(graph, "nodes")["accountId"]) == 30


def test_no_node_comes_before_it_may_log_pull_and_read_its_disk():
    graph = graph_of()
    granted = {
        "nodes-defaultnodeserviceaccount",
        "nodes-reader",
        "key-container-engine-robot",
        "key-compute-system",
    }
    assert {frozenset(each.after) for each in graph.resources_of_kind(POOL)} == {frozenset(granted)}
    assert set(graph.resource("cluster").after) == {n for n in granted if n.startswith("key-")}


def test_secrets_and_disks_rest_under_a_key_that_is_renewed():
    graph = graph_of()
    key = graph.resource("key")
    assert key.protect
    assert key.inputs["rotationPeriod"] == "7776000s"
    # a ring can never be deleted: with a name of ours, a second platform of this name would fail
    assert "name" not in inputs_of(graph, "keys")
    encrypted = {"state": "ENCRYPTED", "keyName": UnresolvedOutput("key.id")}
    assert inputs_of(graph, "cluster")["databaseEncryption"] == encrypted
    assert {p.inputs["nodeConfig"]["bootDiskKmsKey"] for p in graph.resources_of_kind(POOL)} == {
        UnresolvedOutput("key.id")
    }
    assert inputs_of(graph, "key-compute-system")["member"] == Joined(
        "serviceAccount:service-",
        UnresolvedOutput("project.number"),
        "@compute-system.iam.gserviceaccount.com",
    )


def test_a_key_that_is_given_is_used_and_left_to_whoever_gave_it():
    name = "projects/keys/locations/us-central1/keyRings/gke/cryptoKeys/gpu"
    graph = graph_of(cluster={"key": name})
    assert inputs_of(graph, "cluster")["databaseEncryption"]["keyName"] == name
    assert [each.name for each in graph.resources if ":kms/" in each.kind] == []


def test_admins_may_do_everything_in_the_clusters_of_the_project():
    graph = graph_of(cluster={"admins": ["group:ml@acme.example", "user:ada@acme.example"]})
    found = [r.inputs for r in graph.resources_of_kind(MEMBER) if r.name.startswith("admin-")]
    assert [(each["role"], each["member"]) for each in found] == [
        ("roles/container.admin", "group:ml@acme.example"),
        ("roles/container.admin", "user:ada@acme.example"),
    ]


def test_who_is_an_admin_does_not_depend_on_who_else_is():
    one = graph_of(gpu_pool(), cluster={"admins": ["user:ada@acme.example"]})
    two = graph_of(
        gpu_pool(), cluster={"admins": ["user:bob@acme.example", "user:ada@acme.example"]}
    )
    assert {r.name for r in one.resources_of_kind(MEMBER)} < {
        r.name for r in two.resources_of_kind(MEMBER)
    }


def test_an_existing_account_gets_no_roles():
    email = "nodes@my-project.iam.gserviceaccount.com"
    cluster = {"roles": {"nodes": email}}
    graph = graph_of(cluster=cluster, observability={"prometheus": "managed"})
    own = Joined("serviceAccount:", email)
    assert "nodes" not in {each.name for each in graph.resources}
    assert own not in [each.inputs["member"] for each in graph.resources_of_kind(MEMBER)]
    accounts = {
        each.inputs["nodeConfig"]["serviceAccount"] for each in graph.resources_of_kind(POOL)
    }
    assert accounts == {email}
