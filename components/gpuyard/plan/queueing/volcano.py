"""Volcano as the queueing engine: fields that it cannot implement, and what differs from Kueue."""

from collections.abc import Iterator, Mapping

from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.queueing import Engine, MigQuota
from gpuyard.spec.teams import Team
from gpuyard_core.catalogue.kubernetes.api import MUTATES_SINCE, changes_jobs
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, info, warning
from gpuyard_core.models.values import SpecModel
from gpuyard_core.names import VOLCANO, VOLCANO_QUEUE

_ENGINE: Path = ("queueing", "engine")
_Lacks = Mapping[str, str]
"""Why Volcano does not implement a field, by field."""

PLATFORM: _Lacks = {
    "priorities": "Volcano orders jobs by PriorityClasses of the cluster, with which pods preempt pods of every team;"
    " `admission.priority_classes` allows those that you have created",
    "workloads": "gpuyard writes training runtimes and services for Kueue's queues only",
}
QUEUEING: _Lacks = {
    "clusters": "Volcano dispatches no job to other clusters",
    "integrations": "they are controllers of Kueue",
    "mig_quota": "Volcano counts MIG slices by profile only",
    "usage_half_life_hours": "its queues do not count past usage",
    "stop_policy": "a queue is closed by a Command, not by a field of the queue",
}
TEAM: _Lacks = {
    "stop_policy": QUEUEING["stop_policy"],
    "idle": "the idle agent suspends workloads of Kueue",
    "priority": PLATFORM["priorities"],
}
POOL: _Lacks = {
    "owners": "its queues count a resource in all pools together, and cannot exclude a pool",
    "provisioning": "Volcano sends no ProvisioningRequest to autoscalers",
    "stop_policy": "its queues count a resource in all pools together, and cannot exclude a pool",
}
IGNORED: _Lacks = {
    "fair_sharing": "Volcano gives free capacity to the queue that uses the smallest part of its guarantee",
    "pool_choice": "its scheduler chooses the nodes of all pools together",
    "start_within_minutes": "a gang holds no quota before all its pods have nodes",
}
"""Fields of `queueing` without an effect."""


def uses_volcano(spec: PlatformSpec) -> bool:
    """Whether Volcano queues the jobs of the platform."""
    return spec.queueing.engine is Engine.VOLCANO


def check_volcano(draft: Draft) -> Iterator[Diagnostic]:
    """Reject what Volcano cannot do, and report what it does differently."""
    spec = draft.spec
    if not uses_volcano(spec):
        return
    yield from (
        error(
            "volcano.unsupported",
            path,
            f"Volcano does not implement this field: {why}",
            given=given,
            allowed="no field, or queueing.engine: kueue",
            fix=Fix(
                message="remove it, or write engine: kueue", at=_ENGINE, value=Engine.KUEUE.value
            ),
        )
        for path, why, given in _unsupported_fields(spec)
    )
    yield from (info("volcano.differs", path, why) for path, why in _differences(draft))
    yield from _written_by_authors(spec)
    yield info(
        "volcano.untried",
        _ENGINE,
        "tests of gpuyard compare its objects for Volcano with Volcano's own definitions on a real API server; no"
        " scheduler or controller of Volcano has run with them",
        given=VOLCANO,
    )


def _set(model: SpecModel, lacks: _Lacks, path: Path) -> Iterator[tuple[Path, str, str]]:
    """Fields whose value asks for something."""
    for field, why in lacks.items():
        value = getattr(model, field)
        if value and value is not MigQuota.PROFILES:
            yield (*path, field), why, _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(map(str, value))
    if isinstance(value, tuple):
        return f"{len(value)} entries" if isinstance(value[0], SpecModel) else ", ".join(value)
    return "set" if isinstance(value, SpecModel) else str(value)


def _unsupported_fields(spec: PlatformSpec) -> Iterator[tuple[Path, str, str]]:
    if spec.cloud is Cloud.SIMULATED:
        yield _ENGINE, "a simulated cluster runs Kueue", VOLCANO
    yield from _set(spec, PLATFORM, ())
    yield from _set(spec.queueing, QUEUEING, ("queueing",))
    for index, team in enumerate(spec.teams):
        yield from _set(team, TEAM, ("teams", index))
        if list(team.queues) != list(
            Team.model_fields["queues"].get_default(call_default_factory=True)
        ):
            why = "gpuyard writes one queue of Volcano for each team"
            yield ("teams", index, "queues"), why, _shown(team.queues)
    for index, pool in enumerate(spec.pools):
        yield from _set(pool, POOL, ("pools", index))
        if pool.sharing.dra:
            why = "Volcano does not count devices of resource claims as GPUs of a pool"
            yield ("pools", index, "sharing"), why, "dra"
    if spec.validation is not None:
        why = "the load tests of gpuyard run in a queue of Kueue"
        yield ("validation",), why, spec.validation.profile.value


def _differences(draft: Draft) -> Iterator[tuple[Path, str]]:
    spec = draft.spec
    for field in sorted(spec.queueing.model_fields_set & set(IGNORED)):
        yield ("queueing", field), f"it has no effect with Volcano: {IGNORED[field]}"
    weights: tuple[tuple[str, tuple[Team, ...] | tuple[object, ...]], ...] = (
        ("teams", spec.teams),
        ("cohorts", spec.queueing.cohorts),
    )
    for name, models in weights:
        path: Path = ("teams",) if name == "teams" else ("queueing", "cohorts")
        for index, model in enumerate(models):
            if getattr(model, "weight", 1.0) != 1.0:
                yield (
                    (*path, index, "weight"),
                    f"it has no effect with Volcano: {IGNORED['fair_sharing']}",
                )
    pools: dict[str, list[str]] = {}
    for pool in draft.valid_pools.values():
        for each in pool.counted_resources:
            pools.setdefault(each.resource, []).append(pool.name)
    for resource, names in pools.items():
        if names[1:]:
            why = f"Volcano's queues count {resource} of pools {format_list(names)} together"
            yield ("pools",), f"{why}: a team may use its guarantee in any of them"
    if draft.interruption is not None:
        yield (
            ("pools",),
            "with Volcano, gpuyard does not requeue a gang that loses a node: set the policy RestartJob in Volcano Jobs",
        )


def _written_by_authors(spec: PlatformSpec) -> Iterator[Diagnostic]:
    """On older API servers, no policy can write the scheduler and the queue into pods."""
    if spec.kubernetes not in KUBERNETES_MINORS or changes_jobs(spec.kubernetes):
        return
    yield warning(
        "volcano.by_author",
        ("kubernetes",),
        f"Kubernetes {spec.kubernetes} cannot set the scheduler and the queue of pods: authors must set schedulerName:"
        f" {VOLCANO}, annotation {VOLCANO_QUEUE} and the tolerations of GPU nodes, or pods with GPUs are rejected",
        given=spec.kubernetes,
        allowed=f"1.{MUTATES_SINCE} or newer",
        fix=Fix(message=f"upgrade to 1.{MUTATES_SINCE}, or set them in every pod template"),
    )
