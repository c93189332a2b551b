"""AWS: EKS clusters, EC2 machines, node groups and Karpenter."""

from gpuyard.provider import Provider, lazy
from gpuyard.providers.aws import capacity, cluster
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import DatasetKind
from gpuyard_core.catalogue import fees, prometheus
from gpuyard_core.catalogue.cluster.disks import GP3
from gpuyard_core.catalogue.cluster.names import AWS_NAMES
from gpuyard_core.catalogue.cluster.networks import EKS_RANGES
from gpuyard_core.catalogue.cluster.stores import EFS_FILE_SYSTEMS, S3_BUCKETS
from gpuyard_core.catalogue.cluster.tags import AWS_TAGS
from gpuyard_core.catalogue.fabric import EFA_DRIVER_FAULTS, efa_interfaces_to_launch
from gpuyard_core.catalogue.kubernetes.interruptions import NOTICE_SECONDS
from gpuyard_core.catalogue.machines import machines_of
from gpuyard_core.catalogue.purchasing import EC2_ZONE
from gpuyard_core.catalogue.software.images import images_of


class Aws(Provider):
    """AWS with EKS."""

    name = Cloud.AWS
    service = "EKS"
    sells_machines = True

    # ── machines and prices ───────────────────────────────────────────────────────────────────────
    cluster_fee = fees.EKS
    spot_notice_seconds = NOTICE_SECONDS["aws"]

    # ── pools and node images ─────────────────────────────────────────────────────────────────────
    machines = machines_of(Cloud.AWS)
    system_machine = "m7i.xlarge"
    system_family = "m7i."
    images = images_of(Cloud.AWS)
    faulty_drivers = EFA_DRIVER_FAULTS
    disk_sizes = GP3
    storage_class = "gp2"  # not the default one since EKS 1.30 (EKS user guide, release notes)
    label_domains = ("eks.amazonaws.com",)  # kubernetes/cloud-provider-aws#242
    node_labels = staticmethod(capacity.node_labels)
    check_pods = staticmethod(capacity.check_pods)

    # ── capacity ──────────────────────────────────────────────────────────────────────────────────
    needs_autoscaler = True
    packs_nodes = True
    complete_option = staticmethod(capacity.complete_option)
    max_autoscaled_nodes = staticmethod(capacity.max_autoscaled_nodes)
    check_reservation = staticmethod(capacity.check_reservation)
    check_capacity = staticmethod(capacity.check_capacity)
    check_block = staticmethod(capacity.check_block)
    complete_hints = staticmethod(capacity.complete_hints)
    check_scaling = staticmethod(capacity.check_scaling)
    plan_upgrade = staticmethod(capacity.plan_upgrade)
    unsupported_upgrade_fields = staticmethod(capacity.unsupported_upgrade_fields)

    # ── rendering ─────────────────────────────────────────────────────────────────────────────────
    graph = lazy("render.aws.graph:aws_graph")
    access = lazy("render.aws.graph:eks_access")
    node_agents = lazy("render.aws.in_cluster.efa:efa_objects")
    autoscaler_objects = lazy("render.aws.in_cluster.autoscaler:priority_objects")
    autoscaler_release = lazy("render.aws.in_cluster.autoscaler:node_group_autoscaler")
    karpenter_releases = lazy("render.aws.karpenter.charts:karpenter_charts")
    karpenter_nodes = lazy("render.aws.karpenter.nodes:karpenter_nodes")
    nodes_by_option = lazy("render.aws.pools:nodes_by_option")
    volume_source = lazy("render.aws.storage:volume_source")
    network_interfaces = staticmethod(efa_interfaces_to_launch)

    # ── metrics ───────────────────────────────────────────────────────────────────────────────────
    queue_service = "sqs"
    pod_identity = "aws"
    managed_prometheus = prometheus.AMAZON

    # ── account ───────────────────────────────────────────────────────────────────────────────────
    reservation_states = ("active", "scheduled")
    reservation_fix = (
        "set the id of a reservation of this account and region, or of one shared with it"
    )
    delays_block_nodes = True
    probe_account = lazy("providers.aws.account:probe_account")
    permissions = lazy("providers.aws.account:aws_permissions")
    reservation_findings = lazy("providers.aws.prerequisites:reservation_findings")
    offer_findings = lazy("providers.aws.prerequisites:offer_findings")

    # ── components ────────────────────────────────────────────────────────────────────────────────
    cluster_component = "gpuyard.resources.clusters.eks:EksCluster"

    # ── cluster and network ───────────────────────────────────────────────────────────────────────
    cluster_fields_of_others = dict.fromkeys(cluster.GCP_FIELDS, Cloud.GCP)
    cluster_names = AWS_NAMES
    zone_names = EC2_ZONE
    network_ranges = EKS_RANGES
    has_zonal_subnets = True
    endpoint_example = "endpoint: {public: [YOUR RANGE]}"
    tag_limits = AWS_TAGS
    check_cluster = staticmethod(cluster.check_cluster)
    check_addresses = staticmethod(cluster.check_addresses)

    # ── storage ───────────────────────────────────────────────────────────────────────────────────
    dataset_kinds = (DatasetKind.EFS, DatasetKind.FSX_LUSTRE, DatasetKind.BUCKET, DatasetKind.CLASS)
    bucket_names = S3_BUCKETS
    file_system_ids = EFS_FILE_SYSTEMS

    # ── software ──────────────────────────────────────────────────────────────────────────────────
    node_image_dates = staticmethod(cluster.node_image_dates)


PROVIDER = Aws()
