"""Google Cloud permissions of each kind of resource by operation, and the API that must be enabled."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard_core.catalogue.sources import Source

METHODS = Source(
    "permissions of Google's API methods (iam-dataset, 2026-08-22), for the methods that the provider calls",
    date(2026, 11, 23),
    as_of=date(2026, 8, 22),
    second="pike 1.0.9, which found them by running Terraform's provider",
)
CONDITIONS = Source(
    "IAM, set limits on granting roles: modifiedGrantsByRole, for projects; there is no condition for"
    " iam.serviceAccounts.actAs",
    date(2026, 11, 23),
    verified=False,
    as_of=date(2026, 11, 23),
)
IN_CLUSTER = "roles/container.admin"
"""The role that GKE requires to create namespaces, roles and admission policies in a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GcpKind:
    """One kind of resource."""

    api: str
    create: tuple[str, ...]
    read: tuple[str, ...]
    update: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    acts_as: str = ""
    """The field with the service account of its machines; its creator needs permission to act as that account."""
    source: Source = METHODS

    @property
    def permissions(self) -> tuple[str, ...]:
        """All permissions, each once."""
        return tuple(dict.fromkeys((*self.create, *self.read, *self.update, *self.delete)))


def _row(
    api: str,
    *,
    create: str,
    read: str,
    update: str = "",
    delete: str = "",
    acts_as: str = "",
) -> GcpKind:
    return GcpKind(
        api=f"{api}.googleapis.com",
        create=tuple(create.split()),
        read=tuple(read.split()),
        update=tuple(update.split()),
        delete=tuple(delete.split()),
        acts_as=acts_as,
    )


_GLOBAL, _REGION = "compute.globalOperations.get", "compute.regionOperations.get"
_ROUTERS = {
    "read": f"compute.routers.get {_REGION}",
    "update": "compute.routers.get compute.routers.update compute.networks.updatePolicy",
}
GCP_KINDS: Mapping[str, GcpKind] = {
    "gcp:compute/network:Network": _row(
        "compute",
        create="compute.networks.create",
        read=f"compute.networks.get {_GLOBAL}",
        update="compute.networks.update",
        delete="compute.networks.delete",
    ),
    "gcp:compute/subnetwork:Subnetwork": _row(
        "compute",
        create="compute.subnetworks.create compute.networks.updatePolicy",
        read=f"compute.subnetworks.get {_REGION}",
        update="compute.subnetworks.update compute.subnetworks.expandIpCidrRange"
        " compute.subnetworks.setPrivateIpGoogleAccess",
        delete="compute.subnetworks.delete compute.networks.updatePolicy",
    ),
    "gcp:compute/firewall:Firewall": _row(
        "compute",
        create="compute.firewalls.create compute.networks.updatePolicy",
        read=f"compute.firewalls.get {_GLOBAL}",
        update="compute.firewalls.update compute.networks.updatePolicy",
        delete="compute.firewalls.delete compute.networks.updatePolicy",
    ),
    "gcp:compute/router:Router": _row(
        "compute",
        create="compute.routers.create compute.networks.updatePolicy",
        delete="compute.routers.delete compute.networks.updatePolicy",
        **_ROUTERS,
    ),
    # It is a part of its router: creating, changing and deleting it updates the router.
    "gcp:compute/routerNat:RouterNat": _row("compute", create="compute.routers.update", **_ROUTERS),
    "gcp:compute/resourcePolicy:ResourcePolicy": _row(
        "compute",
        create="compute.resourcePolicies.create",
        read=f"compute.resourcePolicies.get {_REGION}",
        update="compute.resourcePolicies.update",
        delete="compute.resourcePolicies.delete",
    ),
    "gcp:compute/globalAddress:GlobalAddress": _row(
        "compute",
        create="compute.globalAddresses.create compute.globalAddresses.createInternal compute.networks.use"
        " compute.globalAddresses.setLabels",
        read=f"compute.globalAddresses.get {_GLOBAL}",
        delete="compute.globalAddresses.delete compute.globalAddresses.deleteInternal",
    ),
    "gcp:servicenetworking/connection:Connection": _row(
        "servicenetworking",
        create="servicenetworking.services.addPeering compute.networks.get resourcemanager.projects.get",
        read="servicenetworking.services.get servicenetworking.operations.get",
        delete="servicenetworking.services.deleteConnection compute.networks.removePeering serviceusage.operations.get",
    ),
    "gcp:container/cluster:Cluster": _row(
        "container",
        create="container.clusters.create",
        read="container.clusters.get container.operations.get compute.instanceGroupManagers.get",
        update="container.clusters.update",
        delete="container.clusters.delete",
        acts_as="nodeConfig.serviceAccount",
    ),
    "gcp:container/nodePool:NodePool": _row(
        "container",
        create="container.clusters.update",
        read="container.clusters.get container.operations.get compute.instanceGroupManagers.get",
        update="container.clusters.update",
        delete="container.clusters.update",
        acts_as="nodeConfig.serviceAccount",
    ),
    "gcp:kms/keyRing:KeyRing": _row(
        "cloudkms", create="cloudkms.keyRings.create", read="cloudkms.keyRings.get"
    ),
    "gcp:kms/cryptoKey:CryptoKey": _row(
        "cloudkms",
        create="cloudkms.cryptoKeys.create",
        read="cloudkms.cryptoKeys.get",
        update="cloudkms.cryptoKeys.update",
        delete="cloudkms.cryptoKeys.update cloudkms.cryptoKeyVersions.list cloudkms.cryptoKeyVersions.destroy",
    ),
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": _row(
        "cloudkms",
        create="cloudkms.cryptoKeys.setIamPolicy",
        read="cloudkms.cryptoKeys.getIamPolicy",
        delete="cloudkms.cryptoKeys.setIamPolicy",
    ),
    "gcp:projects/iAMMember:IAMMember": _row(
        "cloudresourcemanager",
        create="resourcemanager.projects.setIamPolicy",
        read="resourcemanager.projects.getIamPolicy",
        delete="resourcemanager.projects.setIamPolicy",
    ),
    "gcp:serviceaccount/account:Account": _row(
        "iam",
        create="iam.serviceAccounts.create",
        read="iam.serviceAccounts.get",
        update="iam.serviceAccounts.update",
        delete="iam.serviceAccounts.delete",
    ),
    "gcp:serviceaccount/iAMMember:IAMMember": _row(
        "iam",
        create="iam.serviceAccounts.setIamPolicy",
        read="iam.serviceAccounts.getIamPolicy",
        delete="iam.serviceAccounts.setIamPolicy",
    ),
    "gcp:storage/bucket:Bucket": _row(
        "storage",
        create="storage.buckets.create",
        read="storage.buckets.get",
        update="storage.buckets.update",
        delete="storage.buckets.delete",
    ),
    "gcp:storage/bucketIAMMember:BucketIAMMember": _row(
        "storage",
        create="storage.buckets.setIamPolicy",
        read="storage.buckets.getIamPolicy",
        delete="storage.buckets.setIamPolicy",
    ),
    "gcp:filestore/instance:Instance": _row(
        "file",
        create="file.instances.create",
        read="file.instances.get file.operations.get",
        update="file.instances.update",
        delete="file.instances.delete",
    ),
    "gcp:lustre/instance:Instance": _row(
        "lustre",
        create="lustre.instances.create",
        read="lustre.instances.get lustre.operations.get",
        update="lustre.instances.update",
        delete="lustre.instances.delete",
    ),
    "gcp:projects/service:Service": _row(
        "serviceusage",
        create="serviceusage.services.enable",
        read="serviceusage.services.get serviceusage.services.list resourcemanager.projects.get",
        delete="serviceusage.services.disable",
    ),
}
GCP_CALLS: Mapping[str, tuple[str, ...]] = {
    "gcp:container/getCluster:getCluster": ("container.clusters.get",),
    "gcp:compute/getZones:getZones": ("compute.zones.list",),
    "gcp:compute/getMachineTypes:getMachineTypes": ("compute.machineTypes.list",),
    "gcp:compute/getReservation:getReservation": ("compute.reservations.get",),
    "gcp:organizations/getProject:getProject": ("resourcemanager.projects.get",),
    # The provider needs no permission.
    "gcp:organizations/getClientConfig:getClientConfig": (),
}
"""Permissions of each provider function."""
