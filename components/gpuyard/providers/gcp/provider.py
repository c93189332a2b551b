"""Google Cloud: GKE clusters, Compute Engine machines and node pools."""

from gpuyard.provider import Provider, lazy
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

    graph = lazy("render.gcp.graph:gcp_graph")
    pod_networks = lazy("render.gcp.fabric:pod_networks")
    access = lazy("render.gcp.graph:gke_access")
    node_agents = lazy("render.gcp.in_cluster.driver:node_agents")
    autoscaler_objects = lazy("render.gcp.in_cluster.compute_classes:compute_class_objects")
    nodes_by_option = lazy("render.gcp.capacity_options:nodes_by_option")
    volume_source = lazy("render.gcp.storage:volume_source")

    # ── metrics ───────────────────────────────────────────────────────────────────────────────────
    queue_service = "pubsub"
    pod_identity = "gcp"
    managed_prometheus = prometheus.GOOGLE

    metric_objects = lazy("render.gcp.in_cluster.metrics:metric_objects")
    pod_monitor = lazy("render.gcp.in_cluster.metrics:pod_monitoring")

    # ── account ───────────────────────────────────────────────────────────────────────────────────
    ids_have_project = True
    reservation_states = ("READY",)
    reservation_fix = "set the name of a reservation of this project, or of one shared with it"

    probe_account = lazy("providers.gcp.account:probe_account")
    caller_project = lazy("providers.gcp.account:caller_project")
    permissions = lazy("providers.gcp.account:gcp_permissions")
    reservation_findings = lazy("providers.gcp.prerequisites:reservation_findings")
    offer_findings = lazy("providers.gcp.prerequisites:offer_findings")

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
