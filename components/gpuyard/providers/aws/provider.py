"""AWS: EKS clusters, EC2 machines, node groups and Karpenter."""

from typing import TYPE_CHECKING, Any

from gpuyard.plan.capacity.scaling import installs_autoscaler, installs_karpenter
from gpuyard.provider import Provider
from gpuyard.providers.aws import capacity, capacity_blocks, cluster
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import DatasetKind
from gpuyard_core.catalogue import fees, prometheus
from gpuyard_core.catalogue.cluster.disks import GP3
from gpuyard_core.catalogue.cluster.names import AWS_NAMES
from gpuyard_core.catalogue.cluster.networks import EKS_RANGES
from gpuyard_core.catalogue.cluster.stores import EFS_FILE_SYSTEMS, S3_BUCKETS
from gpuyard_core.catalogue.cluster.tags import AWS_TAGS
from gpuyard_core.catalogue.fabric import EFA_DRIVER_FAULTS, Interface, efa_interfaces_to_launch
from gpuyard_core.catalogue.kubernetes.interruptions import NOTICE_SECONDS
from gpuyard_core.catalogue.machines import machines_of
from gpuyard_core.catalogue.purchasing import EC2_ZONE
from gpuyard_core.catalogue.software.images import images_of

if TYPE_CHECKING:
    from gpuyard.plan.records import DatasetPlan, PlatformPlan, PoolPlan
    from gpuyard.preflight.prerequisites import PrerequisiteAnswers
    from gpuyard.preflight.probes import ProbeResult, RunProbes
    from gpuyard.preflight.reservations import ReservationUse
    from gpuyard.render.charts import Release
    from gpuyard.render.cloud.graph import CloudGraph
    from gpuyard.render.cloud.kubeconfig import ClusterAccess
    from gpuyard.render.objects import Object
    from gpuyard.render.permissions.policies import AwsPermissions
    from gpuyard.render.storage import VolumeSource
    from gpuyard.spec.region import CloudAccount
    from gpuyard_core.catalogue.machines import Machine
    from gpuyard_core.findings import Diagnostic


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
    check_block = staticmethod(capacity_blocks.check_block)
    complete_hints = staticmethod(capacity.complete_hints)
    check_scaling = staticmethod(capacity.check_scaling)
    plan_upgrade = staticmethod(capacity.plan_upgrade)
    unsupported_upgrade_fields = staticmethod(capacity.unsupported_upgrade_fields)

    # ── rendering ─────────────────────────────────────────────────────────────────────────────────
    def graph(self, plan: "PlatformPlan") -> "CloudGraph":
        """The new or existing cluster, and the node groups of its pools."""
        from gpuyard.render.aws.graph import aws_graph

        return aws_graph(plan)

    def access(self, plan: "PlatformPlan", profile: str | None = None) -> "ClusterAccess":
        """With a token from the AWS CLI."""
        from gpuyard.render.aws.graph import eks_reach

        return eks_reach(plan, profile)

    def node_agents(self, plan: "PlatformPlan") -> "list[Object]":
        """The device plugin of EFA; an existing cluster may have one already."""
        from gpuyard.render.aws.in_cluster.efa import efa_objects

        return [] if plan.spec.cluster_exists else efa_objects(plan)

    def autoscaler_objects(self, plan: "PlatformPlan") -> "list[Object]":
        """The priorities of node groups."""
        if not installs_autoscaler(plan.spec):
            return []
        from gpuyard.render.aws.in_cluster.autoscaler import priority_objects

        return priority_objects(plan)

    def autoscaler_release(self, plan: "PlatformPlan") -> "Release | None":
        """Cluster Autoscaler for node groups."""
        if not installs_autoscaler(plan.spec):
            return None
        from gpuyard.render.aws.in_cluster.autoscaler import node_group_autoscaler

        return node_group_autoscaler(plan)

    def karpenter_releases(self, plan: "PlatformPlan") -> "list[Release]":
        """For pools whose nodes Karpenter creates."""
        if not installs_karpenter(plan.spec):
            return []
        from gpuyard.render.aws.karpenter.charts import karpenter_charts

        return karpenter_charts(plan)

    def karpenter_nodes(self, plan: "PlatformPlan") -> "dict[str, list[Object]]":
        """For pools whose nodes Karpenter creates."""
        if not installs_karpenter(plan.spec):
            return {}
        from gpuyard.render.aws.karpenter.nodes import karpenter_pools, pool_objects

        return {pool.stable_name: list(pool_objects(plan, pool)) for pool in karpenter_pools(plan)}

    def nodes_by_option(self, pool: "PoolPlan") -> tuple[str, list[dict[str, Any]]]:
        """Node groups, or NodePools of Karpenter."""
        from gpuyard.render.aws.pools import nodes_by_option

        return nodes_by_option(pool)

    def volume_source(
        self, plan: "PlatformPlan", space: str, data: "DatasetPlan", *, writes: bool
    ) -> "VolumeSource":
        """EFS, FSx for Lustre, or a bucket of S3."""
        from gpuyard.render.aws.storage import volume_source

        return volume_source(plan, space, data, writes=writes)

    def network_interfaces(self, machine: "Machine") -> "tuple[Interface, ...]":
        """For every EFA of the machine."""
        return efa_interfaces_to_launch(machine)

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

    def probe_account(
        self, plan: "PlatformPlan", run: "RunProbes", account: "CloudAccount"
    ) -> "ProbeResult":
        """With the AWS CLI."""
        from gpuyard.providers.aws.account import probe_account

        return probe_account(plan, run, account)

    def permissions(self, plan: "PlatformPlan", account: str) -> "AwsPermissions":
        """IAM policies."""
        from gpuyard.render.aws.permissions import aws_permissions

        return aws_permissions(plan, account)

    def reservation_findings(
        self, plan: "PlatformPlan", use: "ReservationUse", answers: "PrerequisiteAnswers"
    ) -> "list[Diagnostic]":
        """A reservation or a capacity block of EC2."""
        from gpuyard.providers.aws.prerequisites import reservation_findings

        return reservation_findings(plan, use, answers)

    def offer_findings(
        self, plan: "PlatformPlan", answers: "PrerequisiteAnswers"
    ) -> "tuple[Diagnostic, ...]":
        """Instance types by zone."""
        from gpuyard.providers.aws.prerequisites import offer_findings

        return offer_findings(plan, answers)

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
