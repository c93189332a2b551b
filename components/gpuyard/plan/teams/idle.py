"""Idle reclaim: for which teams, by which measurements, and whether they exist.

A small program checks the teams with `idle` every few minutes; docs/decisions/0014 explains why.
"""

from collections.abc import Iterator
from dataclasses import replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import IdlePlan, IdleTeam, usable_pools
from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.sections import Prometheus
from gpuyard.spec.teams import Idle
from gpuyard_core.catalogue.metrics import PROMETHEUS_OPERATED
from gpuyard_core.catalogue.software.programs import PYTHON
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning

CHECK_MINUTES = 5
"""The interval between two checks."""
_MINUTES_A_DAY = 24 * 60


def decide_idle(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """The idle reclaim program, if any team has `idle`."""
    spec = draft.spec
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
        return draft, []
    advertised = (a.resource for pool in draft.valid_pools.values() for a in pool.advertised)
    idle = IdlePlan(
        prometheus=draft.observability.address if draft.observability else PROMETHEUS_OPERATED,
        image=PYTHON.image_reference(spec.mirror.images if spec.mirror else None),
        resources=tuple(dict.fromkeys(advertised)),
        paused=spec.cloud is Cloud.SIMULATED,
        teams=teams,
    )
    return replace(draft, idle=idle), []


def check_idle(draft: Draft) -> Iterator[Diagnostic]:
    """Problems that prevent idle reclaim from working as configured."""
    spec, pools, quotas = draft.spec, draft.valid_pools, draft.quotas
    idle_teams = [
        (index, team.name, team.idle) for index, team in enumerate(spec.teams) if team.idle
    ]
    if not idle_teams:
        return
    yield from _unmeasured(spec, idle_teams[0][0])
    for index, name, idle in idle_teams:
        yield from _minutes(spec, index, idle)
        # pools in which the GPU use of a single pod cannot be measured
        pool_names = usable_pools(quotas[index])
        together = [p for p in pool_names if pools[p].replicas > 1]
        claimed = [p for p in pool_names if pools[p].dra]
        messages = []
        if together:
            messages.append(
                f"in {format_list(together)} a GPU is measured for all pods that share it, so {name}'s pods count as"
                " busy while any of them is"
            )
        if claimed:
            messages.append(
                f"in {format_list(claimed)} GPUs are allocated by claims, so no workload of {name} is suspended"
            )
        if messages:
            yield info("idle.blind", ("teams", index, "idle"), "; ".join(messages))
    if spec.cloud is Cloud.SIMULATED:
        yield info(
            "idle.simulated",
            ("teams", idle_teams[0][0], "idle"),
            "gpuyard creates the CronJob suspended: pods on simulated nodes run no program, and there is"
            " no GPU to measure",
        )


def _unmeasured(spec: PlatformSpec, index: int) -> Iterator[Diagnostic]:
    """Idle reclaim needs a Prometheus; a managed service answers only signed requests, which it does not send."""
    given, at = spec.observability, ("teams", index, "idle")
    prometheus = given.prometheus if given else Prometheus.NONE
    if given and prometheus is Prometheus.MANAGED and not given.prometheus_address:
        yield error(
            "idle.unreached",
            at,
            "the managed service answers only authenticated queries, and idle reclaim sends none: no"
            " workload would ever be suspended",
            given="observability.prometheus: managed",
            allowed="managed with prometheus_address, the URL of a proxy in the cluster that authenticates",
            fix=Fix(message="run the proxy, and write its URL as observability.prometheus_address"),
        )
    if prometheus is not Prometheus.NONE:
        return
    path: Path = ("observability", "prometheus") if given else ("observability",)
    why = "it is disabled" if given else "the stack file names none"
    yield error(
        "idle.unmeasured",
        at,
        f"GPU use is read from Prometheus, and {why}: no workload would ever be suspended",
        given="observability.prometheus: none" if given else "",
        allowed="observability: {prometheus: install}, or existing with prometheus_address if it is not"
        f" {PROMETHEUS_OPERATED}",
        fix=Fix(
            message="write observability: {prometheus: install}",
            at=path,
            value="install" if given else {"prometheus": "install"},
        ),
    )


def _minutes(spec: PlatformSpec, index: int, idle: Idle) -> Iterator[Diagnostic]:
    """Times that idle reclaim cannot meet."""
    path = ("teams", index, "idle")
    if idle.grace_minutes < CHECK_MINUTES:
        yield warning(
            "idle.grace",
            (*path, "grace_minutes"),
            f"gpuyard checks every {CHECK_MINUTES} minutes, so users have {CHECK_MINUTES} minutes after a"
            " warning anyway",
            given=str(idle.grace_minutes),
            allowed=f"{CHECK_MINUTES} or more",
            fix=Fix.write(CHECK_MINUTES, (*path, "grace_minutes")),
        )
    days = _retention_days(spec)
    if days and idle.after_minutes > days * _MINUTES_A_DAY:
        most = days * _MINUTES_A_DAY
        yield error(
            "idle.retention",
            (*path, "after_minutes"),
            "Prometheus deletes measurements before a GPU can be idle for so long: no workload would ever"
            " be suspended",
            given=f"{idle.after_minutes} minutes, with retention_days: {days}",
            allowed=f"at most {most} minutes",
            fix=Fix.write(most, (*path, "after_minutes")),
        )


def _retention_days(spec: PlatformSpec) -> int | None:
    """The retention that the stack file decides; None without metrics, and for a service with its own."""
    given, service = spec.observability, provider_of(spec.cloud).managed_prometheus
    if given is None:
        return None
    is_fixed = service is not None and "retention_days" in service.ignored
    return None if given.prometheus is Prometheus.MANAGED and is_fixed else given.retention_days
