"""Priorities of jobs: names with values, and their effect on guarantees.

Kueue orders the waiting jobs of a queue by priority, and a job whose own queue is full preempts jobs of
lower priority there. Across queues, a priority takes nothing from a guarantee: only borrowed capacity can
be reclaimed, at any priority. A job without a priority has priority 0.
"""

from collections.abc import Iterator

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PriorityPlan
from gpuyard.plan.renames import nearest_fix
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.queueing import Preemption
from gpuyard.spec.teams import Team
from gpuyard_core.catalogue.kubernetes.api import MUTATES_SINCE, changes_jobs
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning
from gpuyard_core.names import PRIORITY_LABEL, services_priority

WITHOUT = 0
"""The priority of a job that names none."""


def plan_priorities(spec: PlatformSpec) -> tuple[PriorityPlan, ...]:
    """Every priority, the highest first."""
    by_value = sorted(spec.priorities.items(), key=lambda item: (-item[1], item[0]))
    return tuple(PriorityPlan(name, value) for name, value in by_value)


def queue_priorities(spec: PlatformSpec) -> tuple[PriorityPlan, ...]:
    """Every priority of the queues: those of the stack file, and one above them for services."""
    services = spec.workloads.services if spec.workloads else ()
    own = plan_priorities(spec)
    if all(service.priority for service in services):
        return own
    above = max((WITHOUT, *spec.priorities.values())) + 1
    return (PriorityPlan(services_priority(spec.name), above), *own)


def check_priorities(draft: Draft) -> Iterator[Diagnostic]:
    """Unknown names, values without effect, and default priorities that let jobs be evicted in a guarantee."""
    spec, minor = draft.spec, draft.spec.kubernetes
    first: dict[int, str] = {}
    for name, value in sorted(spec.priorities.items()):
        if first.setdefault(value, name) != name:
            yield warning(
                "priority.same",
                ("priorities", name),
                f"{name} and {first[value]} have the same value, so neither has precedence",
                given=str(value),
                allowed="a different value for each priority",
                fix=Fix(message=f"remove {name}, or give it another value"),
            )
    if spec.priorities and spec.queueing.preemption is Preemption.NEVER:
        yield info(
            "priority.order_only",
            ("priorities",),
            "with preemption: never, a higher priority only orders waiting jobs"
            " and preempts no running job",
            given=", ".join(p.name for p in plan_priorities(spec)),
        )
    for index, team in enumerate(spec.teams):
        if team.priority is not None:
            yield from _check_team(spec, team, team.priority, ("teams", index, "priority"))
    mine = [t.name for t in spec.teams if t.priority in spec.priorities]
    if mine and minor in KUBERNETES_MINORS and not changes_jobs(minor):
        yield warning(
            "team.priority_by_label",
            ("kubernetes",),
            f"Kubernetes {minor} cannot set a default priority in jobs: jobs of {format_list(mine)} get"
            f" their team's priority only with the label {PRIORITY_LABEL};"
            f" without it, their priority is {WITHOUT}",
            given=minor,
            allowed=f"1.{MUTATES_SINCE} or newer",
            fix=Fix(message=f"upgrade to 1.{MUTATES_SINCE}, or set the label on every job"),
        )


def _check_team(spec: PlatformSpec, team: Team, name: str, path: Path) -> Iterator[Diagnostic]:
    names = [p.name for p in plan_priorities(spec)]
    if name not in names:
        otherwise = Fix(message="remove it, or add it under `priorities`", at=path)
        yield error(
            "team.priority_unknown",
            path,
            "no priority has this name",
            given=name,
            allowed=", ".join(names) or "a name under `priorities`, which is empty",
            fix=nearest_fix(name, names, path, otherwise),
        )
    elif spec.priorities[name] < WITHOUT and spec.queueing.preemption is not Preemption.NEVER:
        value = spec.priorities[name]
        better = next((n for n in reversed(names) if spec.priorities[n] >= WITHOUT), None)
        yield warning(
            "priority.below_none",
            path,
            f"jobs of {team.name} have the default priority {value}, lower than a job without one ({WITHOUT}):"
            " any such job in the team's queue evicts them, even within the team's guarantee",
            given=f"{name} ({value})",
            allowed=f"a priority of {WITHOUT} or more as the default",
            fix=Fix.write(better, path)
            if better
            else Fix(message="remove it: without a default, jobs have equal priority", at=path),
        )


def check_targets(draft: Draft) -> Iterator[Diagnostic]:
    """Waits are measured by priority, so each target must name an existing one."""
    known = draft.spec.priorities
    targets = draft.spec.targets
    for name in targets.wait_p95_minutes if targets else ():
        if name not in known:
            yield error(
                "targets.priority",
                ("targets", "wait_p95_minutes", name),
                "no priority has this name",
                given=name,
                allowed=format_list(known) or "a name under `priorities`",
                fix=Fix(
                    message="remove it, or add it under `priorities`",
                    at=("targets", "wait_p95_minutes", name),
                ),
            )
