"""The stack file that follows from the advice, with the reasons as comments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap
from typing import Any

import yaml

from gpuyard.job_classes.signals import JobClass
from gpuyard.plan.platform import plan
from gpuyard.provider import provider_of
from gpuyard.spec.platform import HOURS_PER_MONTH
from gpuyard.spec.read import read_platform
from gpuyard_advisor.advice.strategy.answers import AdvisedCloud
from gpuyard_advisor.advice.strategy.placements import Mode, Placement, region_for
from gpuyard_advisor.advice.strategy.strategy import PlatformAdvice, WorkloadAdvice, format_unit
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.catalogue.software.pins import is_before
from gpuyard_core.findings import format_list
from gpuyard_core.models.values import NAME_LENGTH
from gpuyard_core.names import SHARED_UNIT
from gpuyard_core.stack_files import CONFIG_KEY

_WIDTH = 108
_SYSTEM_NODES = {AdvisedCloud.AWS: 2, AdvisedCloud.GCP: 3}
_CLUSTER: Mapping[AdvisedCloud, Mapping[str, Any]] = {
    AdvisedCloud.AWS: {},
    AdvisedCloud.GCP: {"endpoint": {"dns": True}},
    AdvisedCloud.NONE: {"existing": "my-context"},
}
_REPLACE = {
    AdvisedCloud.AWS: "zones that offer the machine, and cluster.admins with the role that you deploy with",
    AdvisedCloud.GCP: "gcp:project, and zones that offer the machine",
    AdvisedCloud.NONE: "cluster.existing with the context of your kubeconfig",
}
_ZONES = {AdvisedCloud.AWS: ("a", "b"), AdvisedCloud.GCP: ("-b", "-c")}
_PRIORITIES = {"production": 1000, "research": 500, "batch": 100}
_WAITS = {"production": 10, "research": 120}
_EXPLAINED = frozenset({"sharing", "capacity", "redundancy", "scaling"})
"""Topics whose reasons are comments of the pool."""
_SERVICES = frozenset({JobClass.REAL_TIME, JobClass.INFERENCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedStack:
    """A stack file, and how its highest cost compares with the limit."""

    text: str
    usd_per_month: float | None
    """With every pool at its maximum of nodes, at list prices; None if a price is unknown."""
    notes: tuple[str, ...]
    """What the answers ask for and the stack does not meet."""


@dataclass(slots=True, kw_only=True)
class _Pool:
    """A pool of workloads with the same machine, sharing mode and capacity."""

    name: str
    advice: WorkloadAdvice
    teams: tuple[str, ...]
    owners: bool
    workloads: list[WorkloadAdvice]
    nodes: int = 0

    @property
    def placed(self) -> Placement:
        return self.advice.placement

    @property
    def key(self) -> str:
        """The pool as guarantees name it."""
        match self.placed.mode:
            case Mode.MIG:
                return f"{self.name}/{self.placed.slice}"
            case Mode.TIME_SLICING | Mode.MPS:
                return f"{self.name}/{SHARED_UNIT}"
            case _:
                return self.name

    @property
    def high(self) -> int:
        return self.nodes + int(self.advice.settings["spare"])

    @property
    def units(self) -> int:
        return self.high * self.placed.machine.gpus * self.placed.pods_per_gpu


def advised_stack(advice: PlatformAdvice) -> AdvisedStack:
    """Write the stack; the budget is part of it only if its highest cost is within the limit."""
    pools = _pools(advice)
    platform = _platform(advice, pools)
    config = _config(advice)
    reading = read_platform(platform, config)
    bill = None
    if reading.spec is not None:
        planned, _ = plan(reading.spec, None, reading.region)
        bill = planned.bill if planned else None
    usd = None if bill is None else bill.maximum_usd_per_hour
    monthly = None if usd is None else usd * HOURS_PER_MONTH
    limit = advice.answers.max_usd_per_month
    if limit is not None and monthly is not None and monthly <= limit:
        platform["budget"] = {"max_usd_per_hour": ceil(limit / HOURS_PER_MONTH * 100) / 100}
    notes = tuple(_notes(advice, pools, monthly))
    text = "\n".join(_lines(advice, platform, config, pools, notes)) + "\n"
    return AdvisedStack(text=text, usd_per_month=monthly, notes=notes)


def _pools(advice: PlatformAdvice) -> list[_Pool]:
    """Workloads by pool: with the same machine, sharing mode, capacity and owner they share one."""
    pools: dict[object, _Pool] = {}
    for each in advice.workloads:
        owner = each.workload.team
        users = (owner,) if owner else advice.answers.teams
        parts = [(team,) for team in users] if advice.owners else [users]
        for teams in parts:
            placed, settings = each.placement, each.settings
            key = (
                placed.machine.name,
                (placed.mode, placed.slice, placed.pods_per_gpu),
                tuple(sorted((k, str(v)) for k, v in settings.items() if k in _POOLED)),
                teams if advice.owners else None,
            )
            suffix = f"-{teams[0]}" if len(parts) > 1 else ""
            name = f"{each.workload.name[: NAME_LENGTH - len(suffix)].rstrip('-')}{suffix}"
            pool = pools.setdefault(
                key, _Pool(name=name, advice=each, teams=(), owners=advice.owners, workloads=[])
            )
            pool.teams = tuple(dict.fromkeys((*pool.teams, *teams)))
            pool.workloads.append(each)
            pool.nodes += max(placed.nodes_per_job, -(-placed.nodes // len(parts)))
    return list(pools.values())


_POOLED = frozenset({"order", "spot_percent", "spare", "zones", "minimum", "topology"})
"""Settings in which workloads of one pool agree."""


def _config(advice: PlatformAdvice) -> dict[str, str]:
    """The provider settings next to the platform."""
    cloud, region = advice.answers.cloud, region_for(advice.answers)
    match cloud:
        case AdvisedCloud.AWS:
            return {"aws:region": region}
        case AdvisedCloud.GCP:
            return {"gcp:project": "my-project", "gcp:region": region}
        case AdvisedCloud.NONE:
            return {}


def _platform(advice: PlatformAdvice, pools: Sequence[_Pool]) -> dict[str, Any]:
    answers = advice.answers
    low, high = advice.utilisation
    platform: dict[str, Any] = {
        "name": answers.name,
        "cloud": answers.cloud.value,
        "kubernetes": answers.kubernetes,
        **_cluster(answers.cloud),
        "pools": [_pool(advice, pool) for pool in pools],
        "shapes": [
            _shape(pool, each)
            for each in advice.workloads
            for pool in [next(p for p in pools if each in p.workloads)]
        ],
        "teams": [_team(team, pools) for team in answers.teams if _uses_a_pool(team, pools)],
        "priorities": dict(_PRIORITIES),
        "observability": {},
        "targets": {
            "utilisation_percent": f"{low}..{high}",
            "memory_percent": 80,
            "idle_percent": 20,
            "wait_p95_minutes": dict(_WAITS),
        },
    }
    saved = [
        minutes
        for each in advice.workloads
        if Capacity.SPOT in each.settings["order"]
        and (minutes := each.workload.checkpoint_minutes) is not None
    ]
    if saved:
        platform["queueing"] = {"interruption": {"checkpoint_interval_minutes": max(saved)}}
    keda = addon_facts()["keda"]
    if any(each.workload.kind in _SERVICES for each in advice.workloads) and not is_before(
        answers.kubernetes, keda.since
    ):
        platform["addons"] = ["keda"]
    return platform


def _cluster(cloud: AdvisedCloud) -> dict[str, Any]:
    """The cluster, and system nodes where gpuyard creates them."""
    machine = provider_of(cloud.value).system_machine
    system = {"system": {"machine": machine, "nodes": _SYSTEM_NODES[cloud]}} if machine else {}
    cluster = _CLUSTER[cloud]
    return {**system, **({"cluster": dict(cluster)} if cluster else {})}


def _pool(advice: PlatformAdvice, pool: _Pool) -> dict[str, Any]:
    placed, settings, answers = pool.placed, pool.advice.settings, advice.answers
    machine = placed.machine
    owned = answers.cloud is AdvisedCloud.NONE
    raw: dict[str, Any] = {
        "name": pool.name,
        "machine": {
            "gpu": machine.gpu.name if machine.gpu else "",
            "gpus": machine.gpus,
            "cpu": machine.vcpus,
            "memory_gib": machine.memory_gib,
        }
        if owned
        else machine.name,
        "nodes": pool.high if owned else _nodes(pool),
    }
    if not owned:
        zones = _ZONES[answers.cloud][: settings["zones"]]
        raw["zones"] = [f"{region_for(answers)}{zone}" for zone in zones]
        raw["capacity"] = _capacity(pool)
    match placed.mode:
        case Mode.MIG:
            raw["sharing"] = {"mig": {placed.slice: placed.pods_per_gpu}}
        case Mode.TIME_SLICING:
            raw["sharing"] = {"time_slicing": placed.pods_per_gpu}
        case Mode.MPS:
            raw["sharing"] = {"mps": placed.pods_per_gpu}
        case Mode.DRA:
            raw["sharing"] = "dra"
        case Mode.DEDICATED:
            pass
    if pool.owners:
        raw["owners"] = list(pool.teams)
    return raw


def _lowest(pool: _Pool) -> int:
    spare = int(pool.advice.settings["spare"])
    one = min(1 + spare, pool.high)
    return {"zero": 0, "one": one, "all": pool.high}[pool.advice.settings["minimum"]]


def _nodes(pool: _Pool) -> int | str:
    low = _lowest(pool)
    return low if low == pool.high else f"{low}..{pool.high}"


def _capacity(pool: _Pool) -> list[Any]:
    """The capacity options; those of a pool of fixed size have a number of nodes, because it has no fallback."""
    order, high = pool.advice.settings["order"], pool.high
    spot = ceil(high * pool.advice.settings.get("spot_percent", 100) / 100)
    fixed = _lowest(pool) == high
    if order[0] is not Capacity.SPOT or (high == 1 and fixed):
        return [order[-1].value]
    if fixed:
        spot = min(spot, high - 1)
        return [{"spot": True, "nodes": spot}, {"on-demand": True, "nodes": high - spot}]
    return ["spot" if spot == high else {"spot": True, "nodes": spot}, "on-demand"]


def _shape(pool: _Pool, each: WorkloadAdvice) -> dict[str, Any]:
    placed, workload = each.placement, each.workload
    raw: dict[str, Any] = {"name": workload.name, "pool": pool.name}
    if placed.mode.is_whole:
        if placed.nodes_per_job > 1:
            raw["nodes"] = placed.nodes_per_job
        raw["gpus_per_node"] = workload.gpus_per_job // placed.nodes_per_job
    elif placed.mode is Mode.MIG:
        raw["per_pod"] = {"slice": placed.slice}
    else:
        raw["per_pod"] = {"shares": 1}
    return raw


def _uses_a_pool(team: str, pools: Sequence[_Pool]) -> bool:
    return any(team in pool.teams for pool in pools)


def _team(team: str, pools: Sequence[_Pool]) -> dict[str, Any]:
    """Equal guarantees in each pool that the team uses; the rest of the pool can be borrowed."""
    mine = [pool for pool in pools if team in pool.teams]
    guarantee, borrow = {}, {}
    for pool in mine:
        share, rest = divmod(pool.units, len(pool.teams))
        own = share + (pool.teams.index(team) < rest)
        guarantee[pool.key] = own
        if pool.units > own:
            borrow[pool.key] = pool.units - own
    raw: dict[str, Any] = {"name": team, "guarantee": guarantee}
    raw |= {"borrow": borrow} if borrow else {}
    distrust = any(not each.workload.trusted for pool in mine for each in pool.workloads)
    shared = any(pool.placed.mode in {Mode.TIME_SLICING, Mode.MPS} for pool in mine)
    return raw | ({"isolation": "slice"} if distrust and not shared else {})


def _notes(advice: PlatformAdvice, pools: Sequence[_Pool], monthly: float | None) -> Iterator[str]:
    answers = advice.answers
    limit = answers.max_usd_per_month
    if limit is not None and monthly is not None and monthly > limit:
        yield (
            f"the stack can cost {monthly:,.0f} $/month with all nodes, over the limit of {limit:,.0f} $:"
            " it has no budget. Lower the demand, take the cost profile, or raise the limit."
        )
    elif limit is not None and monthly is None:
        yield (
            "no budget: the price of a machine is unknown. Write it under prices.machines, and then"
            f" budget: {{max_usd_per_hour: {limit / HOURS_PER_MONTH:.2f}}}."
        )
    if idle := [team for team in answers.teams if not _uses_a_pool(team, pools)]:
        yield f"no workload is of {format_list(idle)}, so the stack does not have {_them(idle)}."
    needed = sum(pool.high for pool in pools)
    if answers.cloud is AdvisedCloud.NONE and answers.owned and needed > answers.owned.nodes:
        yield (
            f"the workloads need {needed} servers in pools of their own, and `owned` has"
            f" {answers.owned.nodes}: buy more, lower the demand, or run the rest in a cloud."
        )


def _them(teams: Sequence[str]) -> str:
    return "this team" if len(teams) == 1 else "these teams"


def _lines(
    advice: PlatformAdvice,
    platform: Mapping[str, Any],
    config: Mapping[str, str],
    pools: Sequence[_Pool],
    notes: Sequence[str],
) -> Iterator[str]:
    cloud = advice.answers.cloud
    yield from _comment("Written by gpuyard advise. Replace " + _REPLACE[cloud] + ".", 0)
    for note in notes:
        yield from _comment(note[0].upper() + note[1:], 0)
    yield "config:"
    for key, value in config.items():
        yield f"  {key}: {value}"
    yield f"  {CONFIG_KEY}:"
    for key, value in platform.items():
        if not isinstance(value, list) or key == "addons":
            yield f"    {key}: {_flow(value)}"
            continue
        yield f"    {key}:"
        for index, item in enumerate(value):
            if key == "pools":
                yield from _pool_comments(pools[index])
            yield f"      - {_flow(item)}"


def _pool_comments(pool: _Pool) -> Iterator[str]:
    names = ", ".join(each.workload.name for each in pool.workloads)
    yield from _comment(f"{names}: {format_unit(pool.placed)}", 6)
    for each in pool.advice.reasons:
        if each.topic in _EXPLAINED:
            answer = "" if each.topic == "sharing" else f"{each.answer}: "
            yield from _comment(f"{answer}{each.why}", 6, "- ")


def _comment(text: str, indent: int, mark: str = "") -> Iterator[str]:
    hanging = " " * len(mark)
    for line in wrap(
        f"{mark}{text}",
        _WIDTH - indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield f"{' ' * indent}# {line}"


def _flow(value: Any) -> str:
    """A value on one line."""
    return (
        yaml.safe_dump(
            value, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True
        )
        .removesuffix("\n")
        .removesuffix("\n...")
    )
