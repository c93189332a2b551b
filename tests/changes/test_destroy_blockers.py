"""What a destroy would not take is named, out of the state alone."""

from gpuyard.changes.deployed_state import deployed_state
from gpuyard.changes.destroy_blockers import BlockReason, DestroyBlocker, destroy_blockers


def row(kind, name, **more):
    return {"urn": f"urn:pulumi:dev::lab::{kind}::{name}", "type": kind, "outputs": {}, **more}


def test_what_is_protected_comes_before_what_is_left_at_the_cloud():
    cluster, space = "aws:eks/cluster:Cluster", "kubernetes:core/v1:Namespace"
    state = {
        "version": 3,
        "deployment": {
            "resources": [
                row(space, "vision", retainOnDelete=True),
                row("aws:ec2/vpc:Vpc", "vpc"),
                row(cluster, "platform-cluster", id="lab", protect=True, retainOnDelete=True),
                row("aws:iam/role:Role", "role", protect=True),
            ]
        },
    }
    assert destroy_blockers(deployed_state(state)) == (
        DestroyBlocker(
            BlockReason.PROTECTED,
            cluster,
            "platform-cluster",
            "lab",
            "cluster",
            "every object and job in the cluster",
        ),
        DestroyBlocker(BlockReason.PROTECTED, "aws:iam/role:Role", "role", "", "Role", ""),
        DestroyBlocker(BlockReason.LEFT, space, "vision", "", "Namespace", ""),
    )
