"""Idle reclaim: for whom, by which measurements, and whether there are any.

A small program looks at the teams that ask for it every few minutes; docs/decisions/0014 says why it is one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gpuyard.catalogue.metrics import PROMETHEUS_OPERATED
from gpuyard.catalogue.software.programs import PYTHON
from gpuyard.findings import Finding, Fix, error, format_list, info, warning
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import IdlePlan, IdleTeam, PoolPlan, Quota, usable_pools
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.sections import Prometheus
from gpuyard.spec.teams import Idle

CHECK_MINUTES = 5
"""From one look to the next."""
_MINUTES_A_DAY = 24 * 60


def decide_idle(draft: Draft) -> tuple[Draft, list[Finding]]:
    """The program, when any team asks for it."""
    return replace(draft, idle=_plan(draft.spec, draft.valid_pools.values())), []


def _plan(spec: PlatformSpec, pools: Iterable[PoolPlan]) -> IdlePlan | None:
    teams = tuple(
        IdleTeam(
            team=team.name,
            label=team.stable_name,
            namespace=space.name,
            after_minutes=team.idle.after_minutes,
            grace_minutes=team.idle.grace_minutes,
            below_percent=team.idle.below_percent,
            dry_run=team.idle.dry_run,
        )
        for team in spec.teams
        if team.idle
        for space in team.spaces
    )
    if not teams:
        return None
    named = spec.observability.prometheus_address if spec.observability else None
    return IdlePlan(
        prometheus=named or PROMETHEUS_OPERATED,
        image=PYTHON.at(spec.mirror.images if spec.mirror else None),
        resources=tuple(dict.fromkeys(a.resource for p in pools for a in p.advertised)),
        paused=spec.cloud is Cloud.SIMULATED,
        teams=teams,
    )


def check_idle(draft: Draft) -> list[Finding]:
    """What keeps idle reclaim from doing what the stack file says."""
    spec, pools, quotas = draft.spec, draft.valid_pools, draft.quotas
    idle_teams = [
        (index, team.name, team.idle) for index, team in enumerate(spec.teams) if team.idle
    ]
    if not idle_teams:
        return []
    findings = _unmeasured(spec, idle_teams[0][0])
    for index, name, idle in idle_teams:
        findings += _minutes(spec, index, idle)
        findings += _blind(index, name, pools, quotas[index])
    if spec.cloud is Cloud.SIMULATED:
        findings.append(
            info(
                "idle.simulated",
                ("teams", idle_teams[0][0], "idle"),
                "its schedule is made and paused: pods on simulated nodes run no program, and no GPU is there"
                " to be measured",
            )
        )
    return findings


def _unmeasured(spec: PlatformSpec, index: int) -> list[Finding]:
    """Whose Prometheus is asked; this release installs none."""
    prometheus = spec.observability.prometheus if spec.observability else None
    if prometheus is Prometheus.EXISTING:
        return []
    why = (
        "this release installs none" if prometheus is Prometheus.INSTALL else "there is to be none"
    )
    path = ("observability", "prometheus") if prometheus else ("observability",)
    value = "existing" if prometheus else {"prometheus": "existing"}
    return [
        error(
            "idle.unmeasured",
            ("teams", index, "idle"),
            "what GPUs do is asked of a Prometheus"
            + (f", and {why}" if prometheus else ", and the stack file names none")
            + ": nothing would ever be suspended",
            value=f"observability.prometheus: {prometheus.value}" if prometheus else "",
            allowed="observability: {prometheus: existing}, with prometheus_address where it is not"
            f" {PROMETHEUS_OPERATED}",
            fix=Fix(message="write observability: {prometheus: existing}", at=path, value=value),
        )
    ]


def _minutes(spec: PlatformSpec, index: int, idle: Idle) -> list[Finding]:
    """Times that cannot be kept."""
    findings: list[Finding] = []
    path = ("teams", index, "idle")
    if idle.grace_minutes < CHECK_MINUTES:
        findings.append(
            warning(
                "idle.grace",
                (*path, "grace_minutes"),
                f"the program looks every {CHECK_MINUTES} minutes: whoever is warned has"
                f" {CHECK_MINUTES} minutes all the same",
                value=str(idle.grace_minutes),
                allowed=f"{CHECK_MINUTES} or more",
                fix=Fix(
                    message=f"write {CHECK_MINUTES}",
                    at=(*path, "grace_minutes"),
                    value=CHECK_MINUTES,
                ),
            )
        )
    days = spec.observability.retention_days if spec.observability else None
    if days and idle.after_minutes > days * _MINUTES_A_DAY:
        most = days * _MINUTES_A_DAY
        findings.append(
            error(
                "idle.retention",
                (*path, "after_minutes"),
                "measurements are gone before a GPU can have been idle for so long: nothing would ever be"
                " suspended",
                value=f"{idle.after_minutes} minutes, with retention_days: {days}",
                allowed=f"at most {most} minutes",
                fix=Fix(message=f"write {most}", at=(*path, "after_minutes"), value=most),
            )
        )
    return findings


def _blind(
    index: int, name: str, pools: Mapping[str, PoolPlan], quotas: Iterable[Quota]
) -> list[Finding]:
    """Pools in which less is seen of a pod than of a whole GPU."""
    pool_names = usable_pools(quotas)
    together = [p for p in pool_names if pools[p].replicas > 1]
    claimed = [p for p in pool_names if pools[p].dra]
    messages = []
    if together:
        messages.append(
            f"in {format_list(together)} a GPU is measured for all who share it, so {name}'s pods count as busy as"
            " long as one of them is"
        )
    if claimed:
        messages.append(
            f"in {format_list(claimed)} GPUs are claimed, and nothing of {name} is suspended"
        )
    return [info("idle.blind", ("teams", index, "idle"), "; ".join(messages))] if messages else []
