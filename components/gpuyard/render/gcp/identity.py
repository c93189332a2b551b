"""The identity and permissions of nodes, and the key that encrypts secrets and disks."""

from dataclasses import dataclass
from typing import Any

from gpuyard.plan.cluster.ranges import cluster_spec
from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import CloudResource, Joined
from gpuyard.render.cloud.spelling import digest, fit_name
from gpuyard.render.gcp.place import ACCOUNT_LENGTH, GcpLocation, gcp_resource, resource_labels
from gpuyard_core.catalogue.gke.nodes import KEY_ROLE, KEY_USERS, NODE_ROLES

ADMIN_ROLE = "roles/container.admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIdentity:
    """Identities for the cluster and its nodes."""

    account: str | UnresolvedOutput
    """The email of the nodes' service account."""
    member: Any
    """The same account as a member of a policy."""
    key: Any
    """The key of secrets and disks."""
    resources: tuple[CloudResource, ...]

    @property
    def grants(self) -> tuple[str, ...]:
        """Grants needed before the first node, so that it can log, pull and read its disk."""
        return tuple(r.name for r in self.resources if "IAMMember" in r.kind)


def identity(plan: PlatformPlan, place: GcpLocation) -> NodeIdentity:
    """The nodes' account with its roles, admins, and a new key; existing ones stay as they are."""
    cluster = cluster_spec(plan.spec)
    admins = [
        project_member(plan, place, f"admin-{digest(member)}", ADMIN_ROLE, member)
        for member in cluster.admins
    ]
    key, key_parts = _key(plan, place)
    if cluster.roles.nodes is not None:
        return NodeIdentity(
            account=cluster.roles.nodes,
            member=Joined("serviceAccount:", cluster.roles.nodes),
            key=key,
            resources=(*admins, *key_parts),
        )
    own = fit_name(f"{plan.name}-nodes", ACCOUNT_LENGTH)
    account = gcp_resource(plan, "nodes", id=own)
    roles = [
        project_member(
            plan, place, f"nodes-{role.rpartition('.')[2].lower()}", role, account.get("member")
        )
        for role in NODE_ROLES
    ]
    return NodeIdentity(
        account=account.get("email"),
        member=account.get("member"),
        key=key,
        resources=(account, *roles, *admins, *key_parts),
    )


def workload_identity(place: GcpLocation, namespace: str, account: str) -> Joined:
    """The pods of a service account of the cluster as a member of a policy, without a Google account."""
    return Joined(
        "principal://iam.googleapis.com/projects/",
        place.number,
        "/locations/global/workloadIdentityPools/",
        place.project,
        f".svc.id.goog/subject/ns/{namespace}/sa/{account}",
    )


def project_member(
    plan: PlatformPlan,
    place: GcpLocation,
    name: str,
    role: str,
    member: Any,
    after: tuple[str, ...] = (),
) -> CloudResource:
    """A role of the project, granted to one member."""
    values = {"name": name, "role": role, "member": member, "after": after}
    return gcp_resource(plan, "member", project=place.project, **values)


def _key(plan: PlatformPlan, place: GcpLocation) -> tuple[Any, list[CloudResource]]:
    """The key and its resources; a given key keeps its own access policy.

    A key ring can never be deleted, so its name is generated: a fixed name would be taken the next
    time.
    """
    cluster = cluster_spec(plan.spec)
    if cluster.key is not None:
        return cluster.key, []
    ring = gcp_resource(plan, "keys", region=place.region)
    labels, protect = resource_labels(plan), cluster.protect
    key = gcp_resource(plan, "key", labels=labels, protect=protect)
    users = [gcp_resource(plan, "key-user", agent=agent, role=KEY_ROLE) for agent in KEY_USERS]
    return key.get("id"), [ring, key, *users]
