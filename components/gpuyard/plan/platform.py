"""The plan of a whole platform. Start here to see what a spec means.

Stages run one after the other, and each reads what earlier ones decided. Checks read the result of
all stages and report what is wrong with it, in any order. A new capability adds a stage or a check
(docs/contributing/architecture.md).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from types import MappingProxyType

from gpuyard.plan.blocked_checks import check_blocked, drop_dependent
from gpuyard.plan.capacity.capacity_checks import check_blocks, check_reservations
from gpuyard.plan.capacity.disruption_window import check_disruption_window
from gpuyard.plan.capacity.failback import check_failback
from gpuyard.plan.capacity.interruption import check_interruption, decide_interruption
from gpuyard.plan.capacity.scaling import check_autoscaler, check_karpenter
from gpuyard.plan.cluster.cloud_options import (
    check_cluster_inputs,
    check_cluster_options,
    check_tags,
)
from gpuyard.plan.cluster.endpoint_access import (
    check_cluster_names,
    check_cluster_zones,
    check_endpoint,
)
from gpuyard.plan.cluster.network import check_addresses, check_ranges
from gpuyard.plan.draft import Draft
from gpuyard.plan.fact_ages import check_exceptions, check_fact_ages
from gpuyard.plan.money.bill import bill_of
from gpuyard.plan.money.budgets import check_budgets
from gpuyard.plan.money.commitments import check_commitments
from gpuyard.plan.money.prices import check_price_regions, check_prices
from gpuyard.plan.observability.stage import check_observability, decide_observability
from gpuyard.plan.pools.gpu_operator import check_claim_drivers, operator_parts
from gpuyard.plan.pools.hardware.accepted_thresholds import (
    check_accepted_dates,
    check_accepted_thresholds,
)
from gpuyard.plan.pools.hardware.check import check_store_reads, check_validation, decide_validation
from gpuyard.plan.pools.node_images import check_numa
from gpuyard.plan.pools.own_nodes import check_selectors
from gpuyard.plan.pools.pools import decide_pools
from gpuyard.plan.pools.system import check_system, decide_system
from gpuyard.plan.pools.topology import check_fabrics, check_zones, decide_region
from gpuyard.plan.queueing.kueue import check_kueue
from gpuyard.plan.queueing.multikueue import check_clusters
from gpuyard.plan.queueing.priorities import check_priorities, check_targets
from gpuyard.plan.queueing.queueing import check_cohort_sizes, check_flavors, decide_queueing
from gpuyard.plan.queueing.queueing_checks import check_stop_policies, check_waiting
from gpuyard.plan.queueing.topology_checks import check_topology
from gpuyard.plan.queueing.volcano import check_volcano
from gpuyard.plan.quotas.cohorts import check_cohorts
from gpuyard.plan.quotas.owners import check_left_over, check_owner_names
from gpuyard.plan.quotas.quotas import decide_quotas
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.plan.shapes.quota import check_own_limits, decide_shapes
from gpuyard.plan.shapes.shapes import check_shape_names
from gpuyard.plan.sharing.compute_slices import check_slices
from gpuyard.plan.sharing.dra import (
    check_claims,
    check_compute_domains,
)
from gpuyard.plan.sharing.gke_sharing import check_one_name
from gpuyard.plan.software.pins import check_software, effective_pins, versions
from gpuyard.plan.software.support import (
    check_kubernetes,
    check_machine_minors,
    check_minor,
    check_operator,
)
from gpuyard.plan.storage.storage_checks import check_stores
from gpuyard.plan.storage.stores import decide_storage
from gpuyard.plan.teams.admission import check_admission, check_groups
from gpuyard.plan.teams.idle import check_idle, decide_idle
from gpuyard.plan.teams.isolation import check_isolation
from gpuyard.plan.teams.limits import decide_limits
from gpuyard.plan.teams.namespaces import (
    check_egress,
    check_namespace_names,
    check_namespaces,
    check_pod_security,
)
from gpuyard.plan.teams.teams import check_team_names, check_teams_without_quota, decide_teams
from gpuyard.plan.unimplemented import check_device_plugins, check_unimplemented
from gpuyard.plan.workloads.addons import check_addons
from gpuyard.plan.workloads.service_checks import check_services
from gpuyard.plan.workloads.services import decide_services
from gpuyard.plan.workloads.training import check_training, decide_training
from gpuyard.provider import provider_of
from gpuyard.spec.late_inputs import is_late_input
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.region import Region
from gpuyard_core.errors import PlanRejected
from gpuyard_core.findings import (
    Diagnostic,
    Fix,
    Severity,
    error,
    format_findings,
    has_errors,
    sort_findings,
)
from gpuyard_core.names import SYSTEM_POOL

Stage = Callable[[Draft], tuple[Draft, list[Diagnostic]]]
"""Decides more of a draft, and reports what prevents a decision."""
Check = Callable[[Draft], Iterable[Diagnostic]]
"""Reports what is wrong with a draft that has passed every stage."""


def decide_bill(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The hourly cost, and each team's share of it."""
    region = draft.region.name if draft.region else None
    bill = bill_of(draft.spec, list(draft.valid_pools.values()), draft.system, draft.quotas, region)
    return replace(draft, bill=bill), []


def check_cluster(draft: Draft) -> Iterator[Diagnostic]:
    """Reject `cluster.existing` on a simulated platform."""
    spec = draft.spec
    if spec.cloud is not Cloud.SIMULATED or not _existing(spec):
        return
    yield error(
        "cluster.simulated",
        ("cluster", "existing"),
        "gpuyard creates the simulated cluster with the platform and under its name",
        given=str(_existing(spec)),
        allowed="cloud: none for an existing cluster",
        fix=Fix.remove(("cluster", "existing")),
    )


STAGES: tuple[Stage, ...] = (
    decide_region,
    decide_system,
    decide_pools,
    decide_quotas,
    decide_shapes,
    decide_limits,
    decide_bill,
    decide_teams,
    decide_queueing,
    decide_observability,
    decide_idle,
    decide_interruption,
    decide_storage,
    decide_services,
    decide_validation,
    decide_training,
)
"""In this order: each reads what earlier ones decided."""

CALENDAR_CHECKS: tuple[Check, ...] = (
    check_accepted_dates,
    check_exceptions,
    check_fact_ages,
    check_kubernetes,
)
"""What a deployment reports of a date; each reads the spec, the pools, the bill and the validation."""

CHECKS: tuple[Check, ...] = (
    *CALENDAR_CHECKS,
    check_accepted_thresholds,
    check_addons,
    check_addresses,
    check_admission,
    check_autoscaler,
    check_budgets,
    check_claim_drivers,
    check_claims,
    check_cluster,
    check_cluster_names,
    check_cluster_options,
    check_cluster_zones,
    check_clusters,
    check_cohort_sizes,
    check_cohorts,
    check_commitments,
    check_compute_domains,
    check_training,
    check_unimplemented,
    check_device_plugins,
    check_egress,
    check_endpoint,
    check_fabrics,
    check_flavors,
    check_cluster_inputs,
    check_groups,
    check_blocked,
    check_idle,
    check_interruption,
    check_isolation,
    check_karpenter,
    check_kueue,
    check_machine_minors,
    check_operator,
    check_left_over,
    check_minor,
    check_failback,
    check_namespace_names,
    check_namespaces,
    check_teams_without_quota,
    check_numa,
    check_observability,
    check_one_name,
    check_own_limits,
    check_owner_names,
    check_pod_security,
    check_prices,
    check_price_regions,
    check_priorities,
    check_ranges,
    check_blocks,
    check_reservations,
    check_selectors,
    check_services,
    check_shape_names,
    check_slices,
    check_software,
    check_stop_policies,
    check_store_reads,
    check_stores,
    check_system,
    check_tags,
    check_targets,
    check_team_names,
    check_topology,
    check_disruption_window,
    check_validation,
    check_volcano,
    check_waiting,
    check_zones,
)
"""In any order: findings are sorted."""


def plan(
    spec: PlatformSpec,
    today: date | None = None,
    region: Region | None = None,
    broken: Mapping[int, frozenset[str]] = MappingProxyType({}),
) -> tuple[PlatformPlan | None, list[Diagnostic]]:
    """Derive the plan and all findings; None if one is an error or a pool was read in part only.

    With a date, it also reports support that ends soon or has ended; without one, dates are not
    checked. With the region of the stack's configuration, zones and prices are checked against it.
    For pools that were read in part (`broken`), findings that depend on an unread field are dropped.
    Findings are sorted by severity, then by path.
    """
    draft, known = _drafted(spec, today, region, broken)
    return None if broken or has_errors(known) else _recorded(draft), sort_findings(known)


_BUDGETS = frozenset({"budget.worst", "budget.team"})


def plan_ignoring_budgets(spec: PlatformSpec, region: Region | None = None) -> PlatformPlan | None:
    """The plan of a platform that only its budgets reject, to show what causes the cost."""
    draft, findings = _drafted(spec, None, region, MappingProxyType({}))
    why = {f.id for f in findings if f.severity is Severity.ERROR}
    return _recorded(draft) if why and why <= _BUDGETS else None


def _drafted(
    spec: PlatformSpec,
    today: date | None,
    region: Region | None,
    broken: Mapping[int, frozenset[str]],
) -> tuple[Draft, list[Diagnostic]]:
    """Run every stage and check; drop findings that depend on a field that could not be read."""
    draft, findings = Draft(spec, today, broken, region), list[Diagnostic]()
    for stage in STAGES:
        draft, problems = stage(draft)
        findings += problems
    for check in CHECKS:
        findings += check(draft)
    return draft, drop_dependent(findings, broken)


def calendar_findings(plan: PlatformPlan, day: date) -> list[Diagnostic]:
    """The findings of the calendar checks on a plan; the plan itself depends on no date."""
    pools: dict[str, PoolPlan | None] = {pool.name: pool for pool in plan.pools}
    draft = Draft(plan.spec, day, pools=pools, bill=plan.bill, validation=plan.validation)
    return sort_findings(finding for check in CALENDAR_CHECKS for finding in check(draft))


def plan_or_raise(spec: PlatformSpec, today: date | None = None) -> PlatformPlan:
    """The plan, or PlanRejected with every finding."""
    result, findings = plan(spec, today)
    if result is None:
        raise PlanRejected(f"the platform {spec.name} is rejected:\n{format_findings(findings)}")
    return result


def _recorded(draft: Draft) -> PlatformPlan:
    """The plan as the record that all other packages read."""
    spec, pools = draft.spec, tuple(draft.valid_pools.values())
    return PlatformPlan(
        name=spec.name,
        cloud=spec.cloud,
        region=draft.region.name if draft.region else None,
        kubernetes=spec.kubernetes,
        spec=spec,
        cluster_name=_cluster_name(spec),
        system=next((line for line in draft.bill.lines if line.pool == SYSTEM_POOL), None),
        pools=pools,
        teams=draft.teams,
        queueing=draft.queueing,
        shapes=draft.shapes,
        bill=draft.bill,
        validation=draft.validation,
        software=versions(effective_pins(spec)),
        operator=None if draft.queueing.dispatch else operator_parts(spec, pools),
        idle=draft.idle,
        interruption=draft.interruption,
        observability=draft.observability,
        storage=draft.storage,
        runtimes=draft.runtimes,
        services=draft.services,
    )


def _cluster_name(spec: PlatformSpec) -> str | UnresolvedOutput:
    """The existing cluster's name, else the platform's; late if a cloud creates the cluster."""
    creates = provider_of(spec.cloud).sells_machines
    existing = _existing(spec)
    if is_late_input(existing):
        return UnresolvedOutput("cluster.name")
    return existing or (UnresolvedOutput("cluster.name") if creates else spec.name)


def _existing(spec: PlatformSpec) -> str | None:
    return spec.cluster.existing if spec.cluster else None
