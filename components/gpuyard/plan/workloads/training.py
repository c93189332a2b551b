"""Training runtimes: for which pools and teams each framework gets one, and whether pods use the fabric."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import PoolPlan, RuntimePlan, TeamPlan
from gpuyard.plan.renames import nearest_fix
from gpuyard.plan.workloads.addons import add_addon_fix
from gpuyard.spec.platform import Cloud, PlatformSpec
from gpuyard.spec.sections import AddonName, Enforce, TrainingRuntime
from gpuyard.spec.teams import PodSecurity
from gpuyard_core.catalogue.cluster.nccl import RECORDS
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning

_LEVELS = (PodSecurity.RESTRICTED, PodSecurity.BASELINE, PodSecurity.PRIVILEGED)
_SECTION: Path = ("workloads", "training")


def decide_training(draft: Draft) -> tuple[Draft, list[Diagnostic]]:
    """A runtime of each framework for each of its pools; a pool that cannot have one is a finding."""
    runtimes: dict[str, RuntimePlan] = {}
    findings: list[Diagnostic] = []
    for index, each in enumerate(_training(draft.spec)):
        path = (*_SECTION, index)
        pools, unknown = _named_pools(draft, each, path)
        usable = {pool.name: _runtime(draft, each, pool) for pool in pools}
        runtimes |= {found.name: found for found in usable.values() if found is not None}
        lacking = [name for name, found in usable.items() if found is None]
        findings += unknown
        if lacking and (each.pools or len(lacking) == len(pools)) and draft.are_quotas_resolved:
            findings.append(_unusable(draft, each, lacking, path))
    return replace(draft, runtimes=tuple(runtimes.values())), findings


def check_training(draft: Draft) -> Iterator[Diagnostic]:
    """Runtimes without Kubeflow Trainer, and runtimes whose pods of several nodes use TCP."""
    if _training(draft.spec) and not draft.spec.has_addon(AddonName.KUBEFLOW_TRAINER):
        yield error(
            "training.no_trainer",
            _SECTION,
            "training runtimes are objects of Kubeflow Trainer, which `addons` does not name",
            given=format_list(each.framework.value for each in _training(draft.spec)),
            allowed="kubeflow-trainer in `addons`",
            fix=add_addon_fix(draft.spec, AddonName.KUBEFLOW_TRAINER),
        )
    for name in dict.fromkeys(each.pool for each in draft.runtimes):
        pool = draft.valid_pools[name]
        teams = [
            t
            for t in draft.teams
            if any(t.name in r.teams for r in draft.runtimes if r.pool == name)
        ]
        why = "no fabric between its nodes is known"
        if pool.nccl is not None:
            why = fabric_rejection(draft.spec, teams, pool.nccl.fabric)
        if why and pool.nodes.high > 1 and draft.spec.cloud is not Cloud.SIMULATED:
            yield warning(
                "training.no_fabric",
                _SECTION,
                f"training pods of several nodes of {name} use TCP: {why}",
                given=name,
                allowed="a pool with a fabric that its teams may use",
                fix=Fix(
                    message="name the pools with a fabric in `pools`, or give the pool a `fabric`"
                ),
            )


def fabric_rejection(spec: PlatformSpec, teams: Iterable[TeamPlan], fabric: str) -> str:
    """Why admission rejects what pods need for a fabric; empty if it does not."""
    privileges, level = RECORDS[fabric].privileges, strictest_level(teams)
    if privileges and level is not PodSecurity.PRIVILEGED:
        return f"{privileges}, which Pod Security level {level.value} rejects"
    if privileges and (spec.admission is None or spec.admission.enforce is Enforce.DENY):
        return f"{privileges}, which GPU-ADM-03 rejects"
    return ""


def strictest_level(teams: Iterable[TeamPlan]) -> PodSecurity:
    """The strictest Pod Security level of these teams."""
    levels = {team.pod_security for team in teams}
    return next((level for level in _LEVELS if level in levels), PodSecurity.BASELINE)


def _training(spec: PlatformSpec) -> tuple[TrainingRuntime, ...]:
    return spec.workloads.training if spec.workloads else ()


def _named_pools(
    draft: Draft, runtime: TrainingRuntime, path: Path
) -> tuple[list[PoolPlan], list[Diagnostic]]:
    """The valid pools that a runtime names, or all; a finding for each unknown name."""
    findings = [
        error(
            "training.unknown_pool",
            (*path, "pools", index),
            "no pool has this name",
            given=name,
            allowed=format_list(draft.pools),
            fix=nearest_fix(name, draft.pools, (*path, "pools", index)),
        )
        for index, name in enumerate(runtime.pools)
        if name not in draft.pools
    ]
    pools = draft.valid_pools.values()
    return [p for p in pools if not runtime.pools or p.name in runtime.pools], findings


def _runtime(draft: Draft, runtime: TrainingRuntime, pool: PoolPlan) -> RuntimePlan | None:
    """The runtime on one pool; None without whole GPUs, or without a team that may use them."""
    # with claims, the shape whose claims take a whole node
    shapes = (
        s.name for s in draft.shapes if s.pool == pool.name and s.per_node == pool.machine.gpus
    )
    shape = next(shapes, None) if pool.dra else None
    whole = pool.find_advertised_resource("")
    if whole is None or (pool.dra and shape is None):
        return None
    resource = pool.dra.quota_resource if pool.dra else whole.resource
    teams = tuple(
        team.name
        for team in draft.teams
        if (quota := team.quota(pool.name, resource)) and quota.nominal + quota.borrow
    )
    if draft.spec.teams and not teams:
        return None
    return RuntimePlan(
        name=f"{runtime.framework.value}-{pool.stable_name}",
        framework=runtime.framework,
        pool=pool.name,
        image=runtime.image,
        teams=teams,
        shape=shape,
    )


def _unusable(draft: Draft, runtime: TrainingRuntime, pools: list[str], path: Path) -> Diagnostic:
    whole = [name for name in pools if draft.valid_pools[name].find_advertised_resource("")]
    why = (
        f"no team has a quota of whole GPUs of {format_list(whole)}"
        if whole
        else f"{format_list(pools)} {'have' if pools[1:] else 'has'} no whole GPUs that a job can request"
    )
    return error(
        "training.unusable_pool",
        path,
        f"{why}: no training job of {runtime.framework.value} could start",
        given=format_list(pools),
        allowed="pools with whole GPUs of which a team has a quota",
        fix=Fix(message="guarantee GPUs of the pool to a team, or name other pools"),
    )
