"""The control plane: private, with a key and logs of its own, and open to those who are listed."""

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import resolve_values
from kit.clouds.aws import ADMIN, graph_of

KEY = "arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef"


def cluster(**said):
    return graph_of(cluster=said).resource("cluster")


def test_its_endpoint_is_private_unless_networks_are_listed():
    assert cluster().inputs["vpcConfig"] == {
        "subnetIds": [
            UnresolvedOutput("private-another-1.id"),
            UnresolvedOutput("private-another-2.id"),
        ],
        "endpointPrivateAccess": True,
        "endpointPublicAccess": False,
    }
    office = cluster(endpoint={"public": ["203.0.113.0/24"]}).inputs["vpcConfig"]
    assert office["endpointPrivateAccess"] is office["endpointPublicAccess"] is True
    assert office["publicAccessCidrs"] == ["203.0.113.0/24"]


def test_secrets_have_a_key_of_their_own_that_is_renewed():
    graph = graph_of()
    key = graph.resource("secrets-key")
    assert (key.inputs["enableKeyRotation"], key.inputs["deletionWindowInDays"]) == (True, 30)
    assert graph.resource("secrets-key-alias").inputs["name"] == "alias/gpuyard/lab/secrets"
    assert graph.resource("cluster").inputs["encryptionConfig"] == {
        "provider": {"keyArn": UnresolvedOutput("secrets-key.arn")},
        "resources": ["secrets"],
    }


def test_a_key_that_is_given_is_used_and_none_is_made():
    graph = graph_of(cluster={"key": KEY})
    assert graph.resource("cluster").inputs["encryptionConfig"]["provider"] == {"keyArn": KEY}
    assert graph.resources_of_kind("aws:kms/key:Key") == []


def test_all_logs_are_kept_in_a_group_that_is_there_first():
    graph = graph_of(cluster={"logs": {"retention_days": 4000}})
    group = graph.resource("control-plane-logs").inputs
    assert (group["name"], group["retentionInDays"]) == ("/aws/eks/lab/cluster", 3653)
    made = graph.resource("cluster")
    assert "control-plane-logs" in made.after
    assert made.inputs["enabledClusterLogTypes"] == [
        "api", "audit", "authenticator", "controllerManager", "scheduler",
    ]  # fmt: skip


def test_it_waits_for_what_its_role_may_do():
    assert "cluster-role-AmazonEKSClusterPolicy" in cluster().after


def test_nothing_deletes_it_unless_it_is_not_protected():
    kept, loose = cluster(), cluster(protect=False)
    assert (kept.protect, kept.inputs["deletionProtection"]) == (True, True)
    assert (loose.protect, loose.inputs["deletionProtection"]) == (False, False)


def test_who_is_listed_enters_and_who_made_it_does_not():
    graph = graph_of(cluster={"admins": [ADMIN, ADMIN]})
    access = graph.resource("cluster").inputs["accessConfig"]
    assert access == {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": False,
    }
    entry = graph.resource("admin-123456789012-role-platform")
    assert entry.inputs["principalArn"] == ADMIN
    policy = graph.resource("admin-123456789012-role-platform-policy")
    assert policy.after == (entry.name,)
    assert resolve_values(policy.inputs["policyArn"], str) == (
        "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
    )


def test_without_a_list_who_made_it_enters_and_a_list_later_makes_no_other_cluster():
    made = cluster()
    assert made.inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is True
    assert made.ignores == (
        "accessConfig.bootstrapClusterCreatorAdminPermissions",
        "bootstrapSelfManagedAddons",
    )


def test_support_zonal_shift_and_packing_are_as_asked():
    inputs = cluster(support="standard").inputs
    assert inputs["upgradePolicy"] == {"supportType": "STANDARD"}
    assert cluster().inputs["upgradePolicy"] == {"supportType": "EXTENDED"}
    assert inputs["zonalShiftConfig"] == {"enabled": True}
    packing = inputs["kubeSchedulerConfig"]["nodeResourcesFit"]["scoringStrategy"]
    assert packing["type"] == "MostAllocated"
    weights = {each["name"]: each["weight"] for each in packing["resources"]}
    assert weights["nvidia.com/gpu"] > weights["cpu"] == weights["memory"]


def test_services_have_a_range_where_the_network_is_ours():
    assert cluster().inputs["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "172.20.0.0/16"
    given = {
        "id": "vpc-0123456789abcdef0",
        "subnets": {"private": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]},
    }
    assert "kubernetesNetworkConfig" not in cluster(network=given).inputs
