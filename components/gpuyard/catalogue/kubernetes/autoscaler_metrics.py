"""Metrics of autoscalers, and those that show that a capacity option had no machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from gpuyard.catalogue.sources import Source

_READ_ON = date(2026, 11, 26)
KARPENTER_METRICS = Source(
    "aws/karpenter-provider-aws 1d92708, website v1.14 reference/metrics.md, and all earlier versions of that page;"
    " reasons: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/lifecycle",
    _READ_ON,
    as_of=date(2026, 8, 20),
)
AUTOSCALER_METRICS = Source(
    "kubernetes/autoscaler 1dbeacf cluster-autoscaler/proposals/metrics.md, and metrics/metrics.go of 013fa19",
    _READ_ON,
    as_of=_READ_ON,
)


def _named(by_part: Mapping[str, str]) -> frozenset[str]:
    return frozenset(
        f"{part}_{name}" if part else name
        for part, names in by_part.items()
        for name in names.split()
    )


KARPENTER: frozenset[str] = _named(
    {
        "": "build_info cluster_utilization_percent",
        "cloudprovider_batcher": "batch_size batch_time_seconds",
        "cloudprovider": (
            "duration_seconds errors_total instance_launch_failures_total "
            "instance_termination_failures_total instance_type_cpu_cores instance_type_memory_bytes "
            "instance_type_offering_available instance_type_offering_price_estimate"
        ),
        "cluster_state": "node_count synced unsynced_time_seconds",
        "consolidation": "moves_total score",
        "interruption": (
            "deleted_messages_total instance_status_unhealthy_total message_queue_duration_seconds "
            "received_messages_total"
        ),
        "nodeclaims": (
            "created_total disrupted_total instance_termination_duration_seconds terminated_total "
            "termination_duration_seconds unhealthy_disrupted_total"
        ),
        "nodepools": (
            "allowed_disruptions cost_total cost_tracker_errors_total limit nodes_consuming_budgets usage"
        ),
        "nodes": (
            "allocatable created_total current_lifetime_seconds drained_total lifetime_duration_seconds "
            "system_overhead terminated_total termination_duration_seconds total_daemon_limits "
            "total_daemon_requests total_pod_limits total_pod_requests"
        ),
        "pods": (
            "bound_duration_seconds drained_total eviction_requests_total "
            "provisioning_bound_duration_seconds provisioning_scheduling_undecided_time_seconds "
            "provisioning_startup_duration_seconds provisioning_unbound_time_seconds "
            "provisioning_unstarted_time_seconds scheduling_decision_duration_seconds "
            "startup_duration_seconds state unbound_time_seconds unstarted_time_seconds"
        ),
        "scheduler": (
            "ignored_pods_count pending_pods_by_effective_zone_count queue_depth "
            "scheduling_duration_seconds unfinished_work_seconds unschedulable_pods_count"
        ),
        "voluntary_disruption": (
            "consolidation_timeouts_total decision_evaluation_duration_seconds "
            "decisions_by_nodepool_total decisions_total eligible_nodes failed_validations_total "
            "queue_failures_total"
        ),
    }
)
"""Metrics of Karpenter 1.14, without their prefix."""
KARPENTER_BEFORE: frozenset[str] = _named(
    {
        "allocation_controller": "bind_duration_seconds scheduling_duration_seconds",
        "cloudprovider": "instance_price_estimate instance_type_price_estimate",
        "consistency": "errors errors_total",
        "consolidation": (
            "actions_performed evaluation_duration_seconds nodes_created nodes_terminated "
            "replacement_node_initialized_seconds"
        ),
        "deprovisioning": (
            "actions_performed consolidation_timeouts eligible_machines evaluation_duration_seconds "
            "replacement_machine_initialized_seconds replacement_machine_launch_failure_counter "
            "replacement_node_initialized_seconds"
        ),
        "disruption": (
            "actions_performed_total budgets_allowed_disruptions consolidation_timeouts_total "
            "decisions_total eligible_nodes evaluation_duration_seconds nodes_disrupted_total "
            "pods_disrupted_total queue_depth queue_failures_total replacement_nodeclaim_failures_total "
            "replacement_nodeclaim_initialized_seconds"
        ),
        "": "ec2nodeclasses_userdata_bytes ignored_pod_count",
        "interruption": (
            "actions_performed deleted_messages infrastructure_create_time_seconds "
            "infrastructure_delete_time_seconds message_latency_time_seconds received_messages"
        ),
        "machines": "created disrupted drifted initialized launched registered terminated",
        "nodeclaims": (
            "created disrupted drifted drifted_total initialized initialized_total launched "
            "launched_total registered registered_total terminated"
        ),
        "nodepool": "allowed_disruptions limit usage",
        "nodepools": "usage_pct",
        "nodes": (
            "created eviction_queue_depth eviction_requests_total leases_deleted leases_deleted_total "
            "terminated termination_time_seconds"
        ),
        "pods": "startup_time_seconds",
        "provisioner": (
            "limit scheduling_duration_seconds scheduling_queue_depth "
            "scheduling_simulation_duration_seconds usage usage_pct"
        ),
    }
)
"""Metrics of earlier releases, without their prefix."""
CLUSTER_AUTOSCALER: frozenset[str] = _named(
    {
        "": (
            "cluster_safe_to_autoscale nodes_count node_groups_count unschedulable_pods_count max_nodes_count"
            " cluster_cpu_current_cores cpu_limits_cores cluster_memory_current_bytes memory_limits_bytes"
            " last_activity function_duration_seconds function_duration_quantile_seconds"
            " pending_node_deletions errors_total evicted_pods_total unneeded_nodes_count"
            " unremovable_nodes_count scale_down_in_cooldown old_unregistered_nodes_removed_count"
            " overflowing_controllers_count skipped_scale_events_count created_node_groups_total"
            " deleted_node_groups_total node_taints_count inconsistent_instances_migs_count"
            " binpacking_heterogeneity max_node_skip_eval_duration_seconds node_removal_latency_seconds"
            " dra_node_template_resources_mismatch nap_enabled"
        ),
        "node_group": "min_count max_count target_count healthiness backoff_status",
        "failed": "scale_ups_total node_creations_total gpu_scale_ups_total",
        "scaled_up": "nodes_total gpu_nodes_total",
        "scaled_down": "nodes_total gpu_nodes_total",
    }
)
"""Metrics without their prefix; those of its cloud providers have other names."""
PER_GROUP_FLAG = "emit-per-nodegroup-metrics"
"""The flag without which Cluster Autoscaler has no metrics of single groups (AUTOSCALER_METRICS)."""
_OF_HISTOGRAMS = ("_bucket", "_sum", "_count")


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """An autoscaler with the prefix and names of its metrics."""

    name: str
    prefix: str
    served: frozenset[str]
    """Metrics of the release in the catalogue."""
    previous_metrics: frozenset[str]
    """Metrics of older releases."""

    def serves(self, metric: str) -> bool:
        """Whether any of its releases serves this metric."""
        name = metric.removeprefix(self.prefix)
        bare = next((name.removesuffix(s) for s in _OF_HISTOGRAMS if name.endswith(s)), name)
        return not {name, bare}.isdisjoint(self.served | self.previous_metrics)


AUTOSCALERS = (
    Autoscaler("Karpenter", "karpenter_", KARPENTER, KARPENTER_BEFORE),
    Autoscaler("Cluster Autoscaler", "cluster_autoscaler_", CLUSTER_AUTOSCALER, frozenset()),
)


@dataclass(frozen=True, slots=True)
class Shortage:
    """PromQL of alerts for capacity options without machines."""

    autoscaler: str
    description: str
    query: str
    """PromQL that returns series as long as the shortage lasts."""


_DISRUPTED = "karpenter_nodeclaims_disrupted_total"
SHORTAGES = (
    Shortage(
        "Karpenter",
        "EC2 has no capacity for NodePool `nodepool`",
        f'sum by (nodepool) (increase({_DISRUPTED}{{reason="insufficient_capacity"}}[15m])) > 0',
    ),
    Shortage(
        "Karpenter",
        "machines of NodePool `nodepool` do not start, or do not join in time",
        f'sum by (nodepool) (increase({_DISRUPTED}{{reason=~"launch_timeout|registration_timeout"}}[30m])) > 0',
    ),
    Shortage(
        "Cluster Autoscaler",
        "node group `node_group` is in backoff for `reason`",
        "max by (node_group, reason) (cluster_autoscaler_node_group_backoff_status) == 1",
    ),
)
"""A NodePool or node group is one capacity option. GKE's own autoscaler has no such metric."""
