"""The interface of a cloud: everything that differs between the sources of a platform's nodes.

The planner, rendering, pre-flight checks and Pulumi components call `provider_of(cloud)`; none of
them tests which cloud it is. Each cloud is one class in `gpuyard.providers`, loaded on first use, so
that a platform loads only the modules of its own cloud. `register` adds a cloud at run time.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.pools import CapacityOptionSpec, Pool, Scaling, System
from gpuyard.spec.sections import DatasetKind
from gpuyard_core.catalogue.cluster.disks import DiskBounds
from gpuyard_core.catalogue.cluster.names import ClusterNames
from gpuyard_core.catalogue.cluster.networks import RangeSizes
from gpuyard_core.catalogue.cluster.tags import TagLimits
from gpuyard_core.catalogue.fees import ClusterFee
from gpuyard_core.catalogue.kubernetes.addresses import NODE_DNS
from gpuyard_core.catalogue.machines import MACHINES, Machine
from gpuyard_core.catalogue.prometheus import ManagedPrometheus
from gpuyard_core.catalogue.purchasing import IdFormat
from gpuyard_core.catalogue.software.images import NodeImage, images_of
from gpuyard_core.findings import Diagnostic, Fix, Path, error
from gpuyard_core.manifests.pods import Taint

if TYPE_CHECKING:
    from gpuyard.plan.draft import Draft
    from gpuyard.plan.records import (
        AdvertisedResources,
        AutoscalerHints,
        CapacityOption,
        DatasetPlan,
        ObservabilityPlan,
        PlatformPlan,
        PoolPlan,
        ServicePlan,
    )
    from gpuyard.plan.records.pools import UpgradePlan
    from gpuyard.preflight.prerequisites import PrerequisiteAnswers
    from gpuyard.preflight.probes import ProbeResult, RunProbes
    from gpuyard.preflight.reservations import ReservationUse
    from gpuyard.render.charts import Release
    from gpuyard.render.cloud.graph import CloudGraph
    from gpuyard.render.cloud.kubeconfig import ClusterAccess
    from gpuyard.render.objects import Object
    from gpuyard.render.permissions.policies import AwsPermissions
    from gpuyard.render.permissions.roles import GcpPermissions
    from gpuyard.render.storage import VolumeSource
    from gpuyard.spec.region import CloudAccount
    from gpuyard_core.catalogue.fabric import Interface
    from gpuyard_core.manifests.pods import Taint

_MODULES: Mapping[str, str] = {
    Cloud.AWS: "gpuyard.providers.aws.provider",
    Cloud.GCP: "gpuyard.providers.gcp.provider",
    Cloud.NONE: "gpuyard.providers.own",
    Cloud.SIMULATED: "gpuyard.providers.simulated",
}


def lazy(target: str) -> Any:
    """A method of a provider that is a function of another module, loaded on the first call.

    `target` is `module:function`, without `gpuyard.`. The function has the parameters of the method, without `self`.
    """
    module, _, name = target.partition(":")

    def call(*args: Any, **options: Any) -> Any:
        return getattr(import_module(f"gpuyard.{module}"), name)(*args, **options)

    call.__doc__ = target
    return staticmethod(call)


class Provider:
    """A source of nodes. The defaults are those of a cluster whose nodes exist already.

    A cloud overrides what differs: attributes for facts, methods for decisions.
    """

    name: ClassVar[str] = Cloud.NONE
    """The value of `cloud` in a stack file."""
    service: ClassVar[str] = "the Kubernetes project"
    """Who supports a Kubernetes version: the managed service, such as EKS."""
    sells_machines: ClassVar[bool] = False
    """Whether its machine types and prices are in the catalogue, and gpuyard creates its nodes."""

    # ── machines and prices ───────────────────────────────────────────────────────────────────────
    cluster_fee: ClassVar[ClusterFee | None] = None
    """The fee of a cluster that gpuyard creates; None: it has none."""
    spot_notice_seconds: ClassVar[int | None] = None
    """Seconds that a spot notice leaves to pods; None: unknown."""

    # ── pools and node images ─────────────────────────────────────────────────────────────────────
    machines: ClassVar[Mapping[str, Machine]] = MACHINES
    """The machines that its pools and system nodes may name, by name."""
    system_machine: ClassVar[str] = ""
    """The machine to suggest for system nodes, where gpuyard creates them."""
    system_family: ClassVar[str] = ""
    """Prefix of the machines from which one is chosen for described system nodes; empty: any."""
    images: ClassVar[tuple[NodeImage, ...]] = images_of(Cloud.NONE)
    """The images of its nodes, preferred first; empty: its nodes have none."""
    storage_class: ClassVar[str] = ""
    """The StorageClass for volumes of a cluster that gpuyard creates; empty: the cluster has a default one."""
    dra_chart_image: ClassVar[str] = ""
    """The image on which the DRA driver's own chart serves claims; empty: the GPU Operator does."""
    faulty_drivers: ClassVar[frozenset[tuple[str, int]]] = frozenset()
    """GPUs and branches of drivers with known faults in the network of its nodes."""
    disk_sizes: ClassVar[DiskBounds | None] = None
    """The sizes of the disks that gpuyard creates for nodes; None: it creates none."""
    label_domains: ClassVar[tuple[str, ...]] = ()
    """Additional label domains that its node groups reject."""

    def node_labels(self, pool: Pool, machine: Machine) -> Mapping[str, str]:
        """Labels that the autoscaler of the cloud reads."""
        return {}

    def node_taints(self, pool: Pool, machine: Machine) -> "tuple[Taint, ...]":
        """Taints that the cloud adds: a flavor without them admits pods that no node accepts."""
        return ()

    def check_system(self, spec: PlatformSpec, system: System, /) -> list[Diagnostic]:
        """Check how the cloud starts and taints system nodes that gpuyard creates."""
        return []

    def check_pods(
        self, machine: Machine, advertised: "AdvertisedResources", path: Path, /
    ) -> list[Diagnostic]:
        """Check that a node can run as many pods as share its GPUs."""
        return []

    def check_fabrics(self, draft: "Draft") -> list[Diagnostic]:
        """Check that nodes of a pool can communicate over the fabric of their machines."""
        return []

    # ── capacity ──────────────────────────────────────────────────────────────────────────────────
    needs_autoscaler: ClassVar[bool] = False
    """Whether gpuyard installs Karpenter or Cluster Autoscaler: new clusters have no autoscaler."""
    packs_nodes: ClassVar[bool] = False
    """Whether kube-scheduler of new clusters scores nodes by MostAllocated, not by its default."""
    has_queued_provisioning: ClassVar[bool] = False
    """Whether its autoscaler creates all nodes of a job at once, for a ProvisioningRequest."""

    def complete_option(
        self, option: "CapacityOption", written: CapacityOptionSpec, pool: Pool, machine: Machine
    ) -> "CapacityOption":
        """Add placement, lifetime and the cloud's own settings to a capacity option."""
        return option

    def max_autoscaled_nodes(self, pool: "PoolPlan") -> int:
        """The maximum of nodes that autoscalers allow a pool, which may exceed that of the pool."""
        return pool.nodes.high

    def check_reservation(
        self, option: CapacityOptionSpec, machine: Machine, path: Path, /
    ) -> list[Diagnostic]:
        """Check the ID of a reservation, and the size of a capacity block."""
        return []

    def check_capacity(
        self, spec: PlatformSpec, pool: Pool, machine: Machine, path: Path, /
    ) -> list[Diagnostic]:
        """Check that the capacity options provide the pool's nodes in this cloud."""
        return []

    def check_block(
        self, draft: "Draft", pool: Pool, option: CapacityOptionSpec, path: Path
    ) -> list[Diagnostic]:
        """Check a capacity block: approved, not over, and at a plausible price."""
        if option.purchase is None:
            return []
        return [
            error(
                "capacity.block_agreed",
                path,
                "a stack file can purchase capacity blocks on AWS only",
                given=f"{option.mode.value} {option.reservation}",
                allowed="an existing reservation, without `purchase`",
                fix=Fix(
                    message="remove `purchase`, and name your reservation", at=(*path, "purchase")
                ),
            )
        ]

    def compute_class(self, spec: PlatformSpec, pool: Pool) -> str:
        """The ComputeClass of a pool; empty where it has none."""
        return ""

    def complete_hints(
        self,
        hints: "AutoscalerHints",
        scaling: Scaling,
        labels: Mapping[str, str],
        taints: "tuple[Taint, ...]",
        advertised: "AdvertisedResources",
        /,
    ) -> "AutoscalerHints":
        """Add what the autoscaler of a pool knows before a node runs."""
        return hints

    def check_scaling(
        self, pool: Pool, machine: Machine, advertised: "AdvertisedResources", path: Path, /
    ) -> list[Diagnostic]:
        """Check that the autoscaler counts the resources of nodes correctly."""
        return []

    def plan_upgrade(self, pool: Pool) -> "UpgradePlan | None":
        """The upgrade settings with defaults filled in; None where no cloud replaces nodes."""
        return None

    def unsupported_upgrade_fields(
        self, pool: Pool, machine: Machine, /
    ) -> Iterable[tuple[str, str, str]]:
        """Fields of `upgrade`: the field, why it has no effect, and what is allowed."""
        return ()

    # ── rendering ─────────────────────────────────────────────────────────────────────────────────
    bucket_scheme: ClassVar[str] = "s3"
    """The scheme of a bucket's URL."""
    bucket_pod_annotations: ClassVar[Mapping[str, str]] = {}
    """Annotations of a pod that mounts buckets."""
    requires_priority_quota: ClassVar[bool] = False
    """Whether a namespace needs a quota to admit pods of critical priority."""
    taints_arm_nodes: ClassVar[bool] = False
    """Whether nodes of Arm machines have a taint of the cloud."""

    def graph(self, plan: "PlatformPlan") -> "CloudGraph | None":
        """All cloud resources of a platform; None if gpuyard creates none."""

    def access(self, plan: "PlatformPlan", profile: str | None = None) -> "ClusterAccess | None":
        """The access to the cluster of the graph."""

    def node_agents(self, plan: "PlatformPlan") -> "list[Object]":
        """Node agents besides the GPU Operator, and objects by which pods name additional networks."""
        return []

    def autoscaler_objects(self, plan: "PlatformPlan") -> "list[Object]":
        """The order in which the autoscaler tries capacity options."""
        return []

    def autoscaler_release(self, plan: "PlatformPlan") -> "Release | None":
        """The chart of the autoscaler, if gpuyard installs it."""

    def karpenter_releases(self, plan: "PlatformPlan") -> "list[Release]":
        """The charts of Karpenter in order."""
        return []

    def karpenter_nodes(self, plan: "PlatformPlan") -> "dict[str, list[Object]]":
        """The node classes and NodePools of Karpenter, by the first name of the pool."""
        return {}

    def nodes_by_option(self, pool: "PoolPlan") -> tuple[str, list[dict[str, Any]]]:
        """The label that names a node's group, and the groups of each capacity option."""
        return "", []

    def volume_source(
        self, plan: "PlatformPlan", space: str, data: "DatasetPlan", *, writes: bool
    ) -> "VolumeSource":
        """The source and the mount options of a dataset's volume in a namespace."""
        options = [] if writes else ["ro"]
        return {"nfs": {"server": str(self.name), "path": f"/{data.name}"}}, options

    def network_interfaces(self, machine: Machine) -> "tuple[Interface, ...]":
        """The network interfaces that its nodes are launched with; empty if it adds none."""
        return ()

    def pod_networks(self, plan: "PlatformPlan", pool: "PoolPlan") -> tuple[str, ...]:
        """Names of the additional networks that a pod with all GPUs of a node lists; empty if there are none."""
        return ()

    # ── metrics ───────────────────────────────────────────────────────────────────────────────────
    queue_service: ClassVar[str] = ""
    """The field of `queue` whose queues KEDA reads with an identity of the cloud; empty: it has none."""
    pod_identity: ClassVar[str] = ""
    """KEDA's name for the identity that the cloud gives to pods; empty: it gives none."""
    managed_prometheus: ClassVar[ManagedPrometheus | None] = None
    """Its managed service for Prometheus; None: it has none."""

    def metric_objects(
        self, plan: "PlatformPlan", observed: "ObservabilityPlan"
    ) -> "list[Object] | None":
        """The objects that its own collectors and evaluator of rules read; None: an operator reads monitors."""

    def pod_monitor(
        self,
        plan: "PlatformPlan",
        observed: "ObservabilityPlan",
        service: "ServicePlan",
        name: str,
    ) -> "Object | None":
        """The object by which its own collectors scrape a service's pods; None: an operator reads monitors."""

    # ── account ───────────────────────────────────────────────────────────────────────────────────
    ids_have_project: ClassVar[bool] = False
    """Whether the id of each resource begins with a project."""
    reservation_states: ClassVar[tuple[str, ...]] = ()
    """States of a reservation from which nodes start, now or later; a fix names the first."""
    reservation_fix: ClassVar[str] = ""
    """The fix for a reservation that does not exist."""
    delays_block_nodes: ClassVar[bool] = False
    """Whether no node of a capacity block starts before the block does."""

    def probe_account(
        self, plan: "PlatformPlan", run: "RunProbes", account: "CloudAccount"
    ) -> "ProbeResult | None":
        """Query the account for everything that would fail the deployment; None without an account."""

    def caller_project(self, run: "RunProbes") -> str | None:
        """The project of the signed-in identity; None if ids have no project."""

    def permissions(
        self, plan: "PlatformPlan", account: str
    ) -> "AwsPermissions | GcpPermissions | None":
        """The least privileges that deploy a platform; None if it needs none in a cloud."""

    def reservation_findings(
        self, plan: "PlatformPlan", use: "ReservationUse", answers: "PrerequisiteAnswers"
    ) -> list[Diagnostic]:
        """Compare a reservation with its state in the cloud."""
        return []

    def offer_findings(
        self, plan: "PlatformPlan", answers: "PrerequisiteAnswers"
    ) -> tuple[Diagnostic, ...]:
        """Compare machine types with the zones that offer them."""
        return ()

    # ── components ────────────────────────────────────────────────────────────────────────────────
    cluster_component: ClassVar[str] = ""
    """Module and class of the component that is its cluster; empty if a kubeconfig names the cluster."""
    late_api_groups: ClassVar[tuple[str, ...]] = ()
    """API groups that a new cluster serves some time after its creation."""

    @property
    def cluster_kind(self) -> str:
        """The class of its cluster component."""
        return self.cluster_component.rpartition(":")[2]

    # ── cluster and network ───────────────────────────────────────────────────────────────────────
    cluster_fields_of_others: ClassVar[Mapping[Path, str]] = {}
    """Fields of `cluster` without effect here, and the cloud that has them."""
    cluster_names: ClassVar[ClusterNames | None] = None
    """The formats of principals, keys and networks; None where gpuyard creates no cluster."""
    zone_names: ClassVar[IdFormat | None] = None
    """The format of zones, with their region; None where zones have no format."""
    network_ranges: ClassVar[Mapping[str, RangeSizes]] = {}
    """The ranges of a network that gpuyard creates, by field of `cluster.network`."""
    has_zonal_subnets: ClassVar[bool] = False
    """Whether a subnet is in one zone, so that a cluster needs one in each of its zones."""
    endpoint_example: ClassVar[str] = ""
    """Fields of `cluster` that open the Kubernetes API of a new cluster to other networks."""
    tag_limits: ClassVar[TagLimits | None] = None
    """How many tags a resource has; None where gpuyard creates no cloud resources."""
    name_servers: ClassVar[tuple[str, ...]] = (NODE_DNS,)
    """Addresses of DNS servers that are not pods."""

    def check_cluster(self, draft: "Draft") -> list[Diagnostic]:
        """Check subnets, upgrade hours and tags as far as the cloud limits them."""
        return []

    def check_addresses(self, draft: "Draft", ranges: Mapping[str, str]) -> Iterable[Diagnostic]:
        """Check that the ranges of a new network have addresses for all nodes."""
        return ()

    # ── storage ───────────────────────────────────────────────────────────────────────────────────
    dataset_kinds: ClassVar[tuple[DatasetKind, ...]] = (DatasetKind.CLASS,)
    """The kinds of datasets that a stack file may contain."""
    bucket_names: ClassVar[IdFormat | None] = None
    """The format of bucket names; None: they are not checked."""
    file_system_ids: ClassVar[IdFormat | None] = None
    """The format of ids of existing file systems; None: there are none."""

    def check_storage(self, draft: "Draft") -> list[Diagnostic]:
        """Check what pods need in this cloud to mount a store."""
        return []

    # ── software ──────────────────────────────────────────────────────────────────────────────────
    includes_autoscaler: ClassVar[bool] = False
    """Whether the managed service includes an autoscaler, so that no version is chosen for it."""

    def kubernetes_versions(self, machine: Machine) -> Mapping[str, str]:
        """The first version with the machine, by Kubernetes minor; empty: any version."""
        return {}

    def node_image_dates(self, spec: PlatformSpec) -> Iterable[tuple[str, date]]:
        """Images of nodes with a version in the catalogue, and the day that it describes."""
        return ()


_registered: dict[str, Provider] = {}


def register(provider: Provider) -> None:
    """Add a cloud; stack files may name it from then on."""
    Cloud.add(provider.name)
    _registered[provider.name] = provider


def provider_of(cloud: str) -> Provider:
    """The provider of a cloud, loaded on first use."""
    return _registered.get(cloud) or _load(cloud)


@cache
def _load(cloud: str) -> Provider:
    provider: Provider = import_module(_MODULES[cloud]).PROVIDER
    return provider
