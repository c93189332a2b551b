"""The plan of a whole platform. Start here to see what a spec means."""

from datetime import date

from gpuyard.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard.errors import PlanRefused
from gpuyard.findings import Finding, Fix, note, refuse, refused, show
from gpuyard.plan.deferred import check_deferred
from gpuyard.plan.money.bill import bill_of
from gpuyard.plan.money.budgets import check_budgets
from gpuyard.plan.money.commitments import check_commitments
from gpuyard.plan.money.prices import check_prices
from gpuyard.plan.pools.machines import choose_system_machine
from gpuyard.plan.pools.node_images import operator_parts
from gpuyard.plan.pools.numa import check_numa
from gpuyard.plan.pools.pools import Pools, plan_pools
from gpuyard.plan.pools.topology import check_fabric
from gpuyard.plan.queueing.brakes import check_stops
from gpuyard.plan.queueing.installation import check_kueue
from gpuyard.plan.queueing.multikueue import check_clusters
from gpuyard.plan.queueing.priorities import check_priorities
from gpuyard.plan.queueing.queueing import check_cohort_sizes, plan_queueing
from gpuyard.plan.queueing.topology_proofs import check_topology
from gpuyard.plan.queueing.waiting import check_waiting
from gpuyard.plan.quotas.cohorts import check_cohorts
from gpuyard.plan.quotas.owners import check_left_over, check_owner_names
from gpuyard.plan.quotas.quotas import plan_quotas
from gpuyard.plan.records import PlatformPlan, PoolPlan
from gpuyard.plan.records.late import Late
from gpuyard.plan.rule_exceptions import check_exceptions
from gpuyard.plan.shapes.quota import place_shapes
from gpuyard.plan.shapes.shapes import plan_shapes
from gpuyard.plan.sharing.compute_slices import check_slices
from gpuyard.plan.sharing.dra import check_compute_domains
from gpuyard.plan.software.pins import check_software, effective_pins, versions
from gpuyard.plan.software.support import check_kubernetes
from gpuyard.plan.teams.idle import check_idle, plan_idle
from gpuyard.plan.teams.limits import fit_limits, plan_limits
from gpuyard.plan.teams.teams import plan_teams
from gpuyard.spec.platform import Cloud, PlatformSpec


def plan(
    spec: PlatformSpec, today: date | None = None
) -> tuple[PlatformPlan | None, list[Finding]]:
    """Derive the platform, with everything there is to say about it; None exactly when a finding refuses.

    Given the day, it also says which support ends soon or has ended; without one it knows no calendar.
    """
    findings = _check_platform(spec) + check_software(spec) + check_deferred(spec)
    findings += check_kueue(spec)
    if today is not None:
        findings += check_kubernetes(spec.cloud, spec.kubernetes, today)
        findings += check_exceptions(spec, today)
    system, problems = choose_system_machine(spec, spec.system) if spec.system else (None, [])
    findings += problems
    pools, problems = plan_pools(spec)
    findings += problems
    shapes, problems = plan_shapes(spec, pools)
    findings += problems + check_owner_names(spec) + check_priorities(spec)
    findings += check_cohorts(spec) + check_stops(spec) + check_clusters(spec)
    quotas, problems = plan_quotas(spec, pools)
    findings += problems
    shapes, problems = place_shapes(spec, pools, shapes, quotas)
    findings += [
        *check_fabric(spec, pools, shapes),
        *check_numa(spec, pools, shapes),
        *check_compute_domains(spec, pools, shapes),
    ]
    findings += problems
    sound = _sound(pools)
    findings += check_left_over(spec, sound, quotas.by_team, quotas.spare)
    limits = plan_limits(spec, sound, quotas.by_team, shapes)
    shapes, problems = fit_limits(spec, shapes)
    findings += problems
    bill = bill_of(spec, list(sound.values()), system, quotas.by_team)
    if None not in pools.values():  # what a refused pool would have used is not known
        findings += check_prices(spec, list(sound.values()))
        findings += check_commitments(list(sound.values()), bill)
    findings += check_slices(spec, sound, quotas.by_team)
    findings += check_waiting(spec, list(sound.values()))
    teams, problems = plan_teams(spec, sound, quotas.by_team, quotas.spare, bill, limits)
    findings += problems + check_topology(spec, sound, teams, shapes)
    findings += check_budgets(
        spec, bill, {i: t.guarantee_usd_per_month for i, t in enumerate(teams)}
    )
    queueing = plan_queueing(spec, list(sound.values()), quotas)
    findings += check_cohort_sizes(spec, queueing) + check_idle(spec, sound, quotas.by_team)
    if refused(findings):
        return None, findings
    return PlatformPlan(
        name=spec.name,
        cloud=spec.cloud,
        kubernetes=spec.kubernetes,
        spec=spec,
        cluster_name=_cluster_name(spec),
        system=next((line for line in bill.lines if line.pool == "system"), None),
        pools=tuple(sound.values()),
        teams=tuple(teams),
        queueing=queueing,
        shapes=tuple(shapes),
        bill=bill,
        validation=_validation(spec),
        software=versions(effective_pins(spec)),
        operator=None if queueing.dispatch else operator_parts(sound.values()),
        idle=plan_idle(spec, sound.values()),
    ), findings


def planned(spec: PlatformSpec, today: date | None = None) -> PlatformPlan:
    """The plan, or PlanRefused with every finding."""
    found, findings = plan(spec, today)
    if found is None:
        raise PlanRefused(f"the platform {spec.name} is refused:\n{show(findings)}")
    return found


def _cluster_name(spec: PlatformSpec) -> str | Late:
    """Known before a deployment when the cluster is simulated, or exists already."""
    if spec.cloud is Cloud.SIMULATED:
        return spec.name
    return _existing(spec) or Late("cluster.name")


def _existing(spec: PlatformSpec) -> str | None:
    return spec.cluster.existing if spec.cluster else None


def _sound(pools: Pools) -> dict[str, PoolPlan]:
    return {name: pool for name, pool in pools.items() if pool is not None}


def _check_platform(spec: PlatformSpec) -> list[Finding]:
    findings: list[Finding] = []
    if spec.kubernetes not in KUBERNETES_MINORS:
        newest = KUBERNETES_MINORS[-1]
        findings.append(
            refuse(
                "kubernetes.unsupported",
                ("kubernetes",),
                "not a Kubernetes minor that every pinned component supports",
                given=spec.kubernetes,
                allowed=", ".join(f'"{v}"' for v in KUBERNETES_MINORS),
                fix=Fix(says=f'write "{newest}"', at=("kubernetes",), value=newest),
            )
        )
    if spec.cloud is Cloud.SIMULATED and _existing(spec):
        findings.append(
            refuse(
                "cluster.simulated",
                ("cluster", "existing"),
                "a simulated cluster is made with the platform, and named for it",
                given=str(_existing(spec)),
                allowed="cloud: none for a cluster that exists",
                fix=Fix(says="remove it", at=("cluster", "existing")),
            )
        )
    if spec.system is None and spec.cloud in {Cloud.AWS, Cloud.GCP} and not _existing(spec):
        machine = "m7i.xlarge" if spec.cloud is Cloud.AWS else "e2-standard-4"
        findings.append(
            refuse(
                "system.missing",
                ("system",),
                f"on {spec.cloud.value} no node exists before the pools; controllers need nodes without GPUs",
                allowed="system: {machine: TYPE, nodes: 2..3}",
                fix=Fix(
                    says=f"add system: {{machine: {machine}, nodes: 2..3}}",
                    at=("system",),
                    value={"machine": machine, "nodes": "2..3"},
                ),
            )
        )
    if spec.validation is not None:
        findings.append(note("validation.deferred", ("validation",), _validation(spec)))
    return findings


def _validation(spec: PlatformSpec) -> str:
    if spec.validation is None:
        return "not asked for"
    asked = (
        f"{spec.validation.profile.value} check{', required' if spec.validation.required else ''}"
    )
    return f"{asked}: deferred, this release has no hardware check, so no pool counts as checked"
