"""Add-ons: at a version of the cluster's minor, with roles of their own, before or after the first nodes."""

import json

import pytest

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import resolve_values
from gpuyard_core.catalogue.cluster.eks import EKS_ADDONS
from kit.clouds.aws import graph_of

ADDON = "aws:eks/addon:Addon"
ZONES = {"zones": ["us-east-1a", "us-east-1b"]}


def addons(**rest):
    return {each.inputs["addonName"]: each for each in graph_of(**rest).resources_of_kind(ADDON)}


def data(kind):
    """A dataset, which lies in one zone if it must."""
    zone = {"zone": "us-east-1a"} if kind == "fsx-lustre" else {}
    return {"name": "corpus", "kind": kind, **zone}


def test_every_cluster_has_all_of_them():
    assert set(addons()) == {each.name for each in EKS_ADDONS.values() if not each.dataset}


def test_the_network_gives_pods_blocks_of_addresses():
    values = json.loads(resolve_values(addons()["vpc-cni"].inputs["configurationValues"], str))
    assert values["env"] == {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}


def test_a_version_belongs_to_the_minor_and_is_left_to_eks_where_none_is_known():
    assert addons(kubernetes="1.35")["kube-proxy"].inputs["addonVersion"].startswith("v1.35.")
    assert addons(kubernetes="1.36")["kube-proxy"].inputs["addonVersion"].startswith("v1.36.")
    assert "addonVersion" not in addons(kubernetes="1.36")["eks-node-monitoring-agent"].inputs


def test_one_that_asks_aws_has_a_role_by_pod_identity():
    found = addons()
    assert found["vpc-cni"].inputs["podIdentityAssociations"] == [
        {"roleArn": UnresolvedOutput("vpc-cni-role.arn"), "serviceAccount": "aws-node"}
    ]
    assert "podIdentityAssociations" not in found["coredns"].inputs
    assert not [each for each in found.values() if "serviceAccountRoleArn" in each.inputs]


@pytest.mark.parametrize(
    ("kind", "driver"),
    [
        ("efs", "aws-efs-csi-driver"),
        ("fsx-lustre", "aws-fsx-csi-driver"),
        ("bucket", "aws-mountpoint-s3-csi-driver"),
    ],
)
def test_a_file_system_brings_its_driver(kind, driver):
    assert driver in addons(storage={"datasets": [data(kind)]}, cluster=ZONES)
    assert driver not in addons()


def test_buckets_are_mounted_on_nodes_with_taints_too():
    found = addons(storage={"datasets": [data("bucket")]})["aws-mountpoint-s3-csi-driver"]
    values = json.loads(resolve_values(found.inputs["configurationValues"], str))
    assert values == {"node": {"tolerateAllTaints": True}}
    assert "podIdentityAssociations" not in found.inputs


def test_a_class_of_yours_brings_none():
    assert set(
        addons(storage={"datasets": [{"name": "corpus", "kind": "class", "class_name": "fast"}]})
    ) == set(addons())


def test_what_nodes_wait_for_is_known_not_to_wait_for_them():
    early = {each.name for each in EKS_ADDONS.values() if not each.needs_nodes}
    assert early == {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}
