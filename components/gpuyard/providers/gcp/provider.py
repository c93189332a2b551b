"""Google Cloud: GKE clusters, Compute Engine machines and node pools."""

from typing import TYPE_CHECKING, Any

from gpuyard.provider import Provider
from gpuyard.providers.gcp import capacity, cluster
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import DatasetKind
from gpuyard_core.catalogue import fees, prometheus
from gpuyard_core.catalogue.cluster.disks import GKE_BOOT_DISK
from gpuyard_core.catalogue.cluster.names import GCP_NAMES
from gpuyard_core.catalogue.cluster.networks import GKE_RANGES
from gpuyard_core.catalogue.cluster.stores import GCS_BUCKETS
from gpuyard_core.catalogue.cluster.tags import GCP_TAGS
from gpuyard_core.catalogue.gke.classes import CLASS_GROUP
from gpuyard_core.catalogue.kubernetes.addresses import CLOUD_DNS, NODE_DNS
from gpuyard_core.catalogue.kubernetes.interruptions import NOTICE_SECONDS
from gpuyard_core.catalogue.machines import machines_of
from gpuyard_core.catalogue.node_pools import gke_versions
from gpuyard_core.catalogue.purchasing import GCE_ZONE
from gpuyard_core.catalogue.software.images import images_of
from gpuyard_core.names import GKE_NETWORKING_GROUP

if TYPE_CHECKING:
    from gpuyard.plan.records import (
        DatasetPlan,
        ObservabilityPlan,
        PlatformPlan,
        PoolPlan,
        ServicePlan,
    )
    from gpuyard.preflight.prerequisites import PrerequisiteAnswers
    from gpuyard.preflight.probes import ProbeResult, RunProbes
    from gpuyard.preflight.reservations import ReservationUse
    from gpuyard.render.cloud.graph import CloudGraph
    from gpuyard.render.cloud.kubeconfig import ClusterAccess
    from gpuyard.render.objects import Object
    from gpuyard.render.permissions.roles import GcpPermissions
    from gpuyard.render.storage import VolumeSource
    from gpuyard.spec.region import CloudAccount
    from gpuyard_core.findings import Diagnostic


class Gcp(Provider):
    """Google Cloud with GKE."""

    name = Cloud.GCP
    service = "GKE"
    sells_machines = True

    # ── machines and prices ───────────────────────────────────────────────────────────────────────
    cluster_fee = fees.GKE
    spot_notice_seconds = NOTICE_SECONDS["gcp"]

    # ── pools and node images ─────────────────────────────────────────────────────────────────────
    machines = machines_of(Cloud.GCP)
    system_machine = capacity.SYSTEM_MACHINE
    system_family = "n2-standard-"
    images = images_of(Cloud.GCP)
    dra_chart_image = "cos"
    disk_sizes = GKE_BOOT_DISK
    label_domains = ("cloud.google.com",)  # magic-modules#11878
    node_taints = staticmethod(capacity.node_taints)
    check_system = staticmethod(capacity.check_system)
    check_fabrics = staticmethod(capacity.check_fabrics)

    # ── capacity ──────────────────────────────────────────────────────────────────────────────────
    has_queued_provisioning = True
    complete_option = staticmethod(capacity.complete_option)
    max_autoscaled_nodes = staticmethod(capacity.max_autoscaled_nodes)
    check_reservation = staticmethod(capacity.check_reservation)
    check_capacity = staticmethod(capacity.check_capacity)
    compute_class = staticmethod(capacity.compute_class)
    complete_hints = staticmethod(capacity.complete_hints)
    check_scaling = staticmethod(capacity.check_scaling)
    plan_upgrade = staticmethod(capacity.plan_upgrade)
    unsupported_upgrade_fields = staticmethod(capacity.unsupported_upgrade_fields)

    # ── rendering ─────────────────────────────────────────────────────────────────────────────────
    bucket_scheme = "gs"
    bucket_pod_annotations = {"gke-gcsfuse/volumes": "true"}
    requires_priority_quota = True
    taints_arm_nodes = True

    def graph(self, plan: "PlatformPlan") -> "CloudGraph":
        """The new or existing cluster, and the node pools of its pools."""
        from gpuyard.render.gcp.graph import gcp_graph

        return gcp_graph(plan)

    def pod_networks(self, plan: "PlatformPlan", pool: "PoolPlan") -> tuple[str, ...]:
        """The networks of the machine's cards; none where pods claim the cards."""
        from gpuyard.render.gcp.fabric import links

        return tuple(each.pod_network_name for each in links(plan, pool, pool.machine) if each.mode)

    def access(self, plan: "PlatformPlan", profile: str | None = None) -> "ClusterAccess":
        """With gke-gcloud-auth-plugin."""
        from gpuyard.render.gcp.graph import gke_reach

        return gke_reach(plan)

    def node_agents(self, plan: "PlatformPlan") -> "list[Object]":
        """Additional networks, and Google's driver installer unless the cluster exists already."""
        from gpuyard.render.gcp.in_cluster.driver import driver_objects
        from gpuyard.render.gcp.in_cluster.network_objects import network_objects

        drivers = [] if plan.spec.cluster_exists else driver_objects(plan)
        return [*network_objects(plan), *drivers]

    def autoscaler_objects(self, plan: "PlatformPlan") -> "list[Object]":
        """The ComputeClasses of pools that GKE scales."""
        from gpuyard.render.gcp.in_cluster.compute_classes import compute_class_objects

        return compute_class_objects(plan)

    def nodes_by_option(self, pool: "PoolPlan") -> tuple[str, list[dict[str, Any]]]:
        """Node pools."""
        from gpuyard.render.gcp.capacity_options import nodes_by_option

        return nodes_by_option(pool)

    def volume_source(
        self, plan: "PlatformPlan", space: str, data: "DatasetPlan", *, writes: bool
    ) -> "VolumeSource":
        """Filestore, Managed Lustre, or a bucket of Cloud Storage."""
        from gpuyard.render.gcp.storage import volume_source

        return volume_source(data, writes=writes)

    # ── metrics ───────────────────────────────────────────────────────────────────────────────────
    queue_service = "pubsub"
    pod_identity = "gcp"
    managed_prometheus = prometheus.GOOGLE

    def metric_objects(
        self, plan: "PlatformPlan", observed: "ObservabilityPlan"
    ) -> "list[Object] | None":
        """PodMonitorings and ClusterRules, if its managed service is used."""
        from gpuyard.render.gcp.in_cluster.metrics import metric_objects

        return metric_objects(plan, observed) if observed.managed else None

    def pod_monitor(
        self,
        plan: "PlatformPlan",
        observed: "ObservabilityPlan",
        service: "ServicePlan",
        name: str,
    ) -> "Object | None":
        """For Google Cloud Managed Service for Prometheus."""
        from gpuyard.render.gcp.in_cluster.metrics import pod_monitoring

        return pod_monitoring(plan, observed, service, name) if observed.managed else None

    # ── account ───────────────────────────────────────────────────────────────────────────────────
    ids_have_project = True
    reservation_states = ("READY",)
    reservation_fix = "set the name of a reservation of this project, or of one shared with it"

    def probe_account(
        self, plan: "PlatformPlan", run: "RunProbes", account: "CloudAccount"
    ) -> "ProbeResult":
        """With gcloud."""
        from gpuyard.providers.gcp.account import probe_account

        return probe_account(plan, run, account)

    def caller_project(self, run: "RunProbes") -> str:
        """The project of gcloud."""
        from gpuyard.preflight.gcp import caller_probe, project_of

        question = caller_probe()
        return project_of(run([question])[question.name].value)

    def permissions(self, plan: "PlatformPlan", account: str) -> "GcpPermissions":
        """Custom roles and bindings."""
        from gpuyard.render.gcp.graph import gcp_graph
        from gpuyard.render.permissions.roles import permissions_of

        return permissions_of(gcp_graph(plan), plan.name)

    def reservation_findings(
        self, plan: "PlatformPlan", use: "ReservationUse", answers: "PrerequisiteAnswers"
    ) -> "list[Diagnostic]":
        """A reservation of Compute Engine in the zone of its pool."""
        from gpuyard.providers.gcp.prerequisites import reservation_findings

        return reservation_findings(plan, use, answers)

    def offer_findings(
        self, plan: "PlatformPlan", answers: "PrerequisiteAnswers"
    ) -> "tuple[Diagnostic, ...]":
        """Machine types of each zone."""
        from gpuyard.providers.gcp.prerequisites import offer_findings

        return tuple(offer_findings(plan, answers))

    # ── components ────────────────────────────────────────────────────────────────────────────────
    cluster_component = "gpuyard.resources.clusters.gke:GkeCluster"
    late_api_groups = (GKE_NETWORKING_GROUP, CLASS_GROUP)

    # ── cluster and network ───────────────────────────────────────────────────────────────────────
    cluster_fields_of_others = dict.fromkeys(cluster.AWS_FIELDS, Cloud.AWS)
    cluster_names = GCP_NAMES
    zone_names = GCE_ZONE
    network_ranges = GKE_RANGES
    endpoint_example = "endpoint: {dns: true}"
    tag_limits = GCP_TAGS
    name_servers = (NODE_DNS, CLOUD_DNS)
    check_cluster = staticmethod(cluster.check_cluster)
    check_addresses = staticmethod(cluster.check_addresses)

    # ── storage ───────────────────────────────────────────────────────────────────────────────────
    dataset_kinds = (
        DatasetKind.FILESTORE,
        DatasetKind.MANAGED_LUSTRE,
        DatasetKind.BUCKET,
        DatasetKind.CLASS,
    )
    bucket_names = GCS_BUCKETS
    check_storage = staticmethod(cluster.check_storage)

    # ── software ──────────────────────────────────────────────────────────────────────────────────
    includes_autoscaler = True
    kubernetes_versions = staticmethod(gke_versions)


PROVIDER = Gcp()
