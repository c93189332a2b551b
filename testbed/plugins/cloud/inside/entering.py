"""Access to a cluster: a token that its API server accepts, or an invalid one.

A real token identifies a caller, and the cluster decides. So a token for a missing cluster or an unknown
caller is printed too, and the API server rejects it.
"""

import base64
from collections.abc import Iterable
from pathlib import Path

from testbed.plugins.cloud import faults
from testbed.plugins.cloud.account import Account, caller
from testbed.plugins.cloud.inside import control_plane
from testbed.plugins.cloud.service.ties import Resource

EKS, GKE = "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"
_ENTRY = "aws:eks/accessEntry:AccessEntry"
_POLICY = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
_ADMIN = "cluster-access-policy/AmazonEKSClusterAdminPolicy"
_REFUSED = {
    ("aws", "missing"): (
        'Unable to locate credentials. You can configure credentials by running "aws configure".'
    ),
    ("aws", "expired"): (
        "Error when retrieving token from sso: Token has expired and refresh failed"
    ),
    ("gcp", "missing"): (
        "print credential failed with error: Failed to retrieve access token:: failure while executing "
        "gcloud: You do not currently have an active account selected."
    ),
    ("gcp", "expired"): (
        "print credential failed with error: Failed to retrieve access token:: failure while executing "
        "gcloud: There was a problem refreshing your current auth tokens: Reauthentication failed."
    ),
}


class NoToken(Exception):
    """There are no credentials for a token."""


def eks_token(account: Account, cluster: str, region: str, role: str = "") -> str:
    """The token of the caller, or of the assumed role, for a cluster of this name."""
    _let_in("aws", account.folder)
    inside = control_plane.of(account.folder)
    blocked = account.find(EKS, cluster)
    known = (
        blocked is not None
        and inside is not None
        and blocked.state["arn"].split(":")[3] == region
        and control_plane.answers_at(blocked, inside)
        and _is_admin(role or caller(), blocked, account.creator(EKS, cluster), account.all())
    )
    if known and inside:
        return inside.token
    url = base64.urlsafe_b64encode(f"https://sts.{region}/?cluster={cluster}".encode()).decode()
    return f"k8s-aws-v1.{url.rstrip('=')}"


def gke_token(account: Account) -> str:
    """The token of the caller, valid for each cluster of the project."""
    _let_in("gcp", account.folder)
    inside = control_plane.of(account.folder)
    if inside and control_plane.holder(inside, account.all(GKE)):
        return inside.token
    return "ya29.fake-of-a-token"


def _let_in(cloud: str, folder: Path | None) -> None:
    ailing = faults.read(folder)[0]
    if (cloud, ailing) in _REFUSED:
        raise NoToken(_REFUSED[cloud, ailing])


def _is_admin(who: str, cluster: Resource, creator: str, existing: Iterable[Resource]) -> bool:
    """Whether a caller is an administrator: the creator of the cluster, or by an access entry with the policy."""
    access = cluster.inputs.get("accessConfig") or {}
    if who == creator and access.get("bootstrapClusterCreatorAdminPermissions", True):
        return True
    own = [
        each
        for each in existing
        if each.inputs.get("clusterName") == cluster.id and each.inputs.get("principalArn") == who
    ]
    entered = any(each.kind == _ENTRY for each in own)
    return entered and any(
        each.kind == _POLICY
        and each.inputs["policyArn"].endswith(_ADMIN)
        and each.inputs["accessScope"]["type"] == "cluster"
        for each in own
    )
