"""The answer for each workload and for the platform, with reasons and rejected options.

The rules are rows of `rules.yaml`; the catalogue decides where a workload fits and what it costs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpuyard.job_classes.signals import JobClass
from gpuyard_advisor.advice.offers.offers import price_of
from gpuyard_advisor.advice.strategy.answers import (
    AdvisedCloud,
    Answers,
    ServiceTier,
    Supply,
    Workload,
)
from gpuyard_advisor.advice.strategy.placements import Mode, Placement, placements, region_for
from gpuyard_advisor.advice.strategy.tco import OwnedCost, owned_cost
from gpuyard_core.catalogue.commitments import commitments_of
from gpuyard_core.catalogue.kubernetes.claims import SERVED_SINCE
from gpuyard_core.catalogue.machines import Capacity
from gpuyard_core.catalogue.tables import load_yaml
from gpuyard_core.errors import UsageError

Row = Mapping[str, Any]
Facts = Mapping[str, object]


@cache
def tables() -> Mapping[str, Any]:
    """The tables by name."""
    result: Mapping[str, Any] = load_yaml(Path(__file__).with_name("rules.yaml"))
    return result


def matching(table: str, facts: Facts) -> Sequence[Row]:
    """The rows of a table whose conditions all hold."""
    return [row for row in tables()[table] if applies(row.get("when", {}), facts)]


def first(table: str, facts: Facts) -> Row:
    """The first row that applies; the last row of a table with an answer for everything has no conditions."""
    return matching(table, facts)[0]


def applies(when: Mapping[str, Any], facts: Facts) -> bool:
    """Whether all conditions hold: equality, one of a list, or bounds; an unknown fact is within no bounds."""
    return all(_holds(condition, facts[name]) for name, condition in when.items())


def _holds(condition: Any, fact: Any) -> bool:
    if isinstance(condition, Mapping):
        return fact is not None and (
            condition.get("min", fact) <= fact <= condition.get("max", fact)
        )
    return fact in condition if isinstance(condition, list) else fact == condition


_TIERS = {JobClass.REAL_TIME: ServiceTier.REAL_TIME, JobClass.NOTEBOOK: ServiceTier.DEVELOPMENT}
_TOPICS = ("redundancy", "queueing", "scaling", "network")
_PLATFORM_TOPICS = ("configuration", "utilisation", "architecture", "operations", "region")
_SHOWN = 3
"""Machine candidates of a workload."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One answer and its reason."""

    topic: str
    answer: str
    why: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A machine type for the demand of a workload."""

    machine: str
    gpu: str
    gpus: int
    nodes: int
    usd_per_hour: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceOption:
    """A way to buy one node of the chosen machine."""

    name: str
    usd_per_hour: float | None
    """None is unknown."""
    break_even_percent: float | None
    """Share of the time a node must run to be cheaper than on-demand."""
    chosen: bool
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadAdvice:
    """The answer for one workload."""

    workload: Workload
    placement: Placement
    settings: Mapping[str, Any]
    """Values of the chosen rows that the stack uses."""
    reasons: tuple[Reason, ...]
    rejected: tuple[Reason, ...]
    """Sharing modes that were not chosen."""
    candidates: tuple[Candidate, ...]
    options: tuple[PriceOption, ...]
    risks: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformAdvice:
    """The answer for the platform."""

    answers: Answers
    workloads: tuple[WorkloadAdvice, ...]
    reasons: tuple[Reason, ...]
    utilisation: tuple[int, int]
    """Expected share of GPU time in use, in percent."""
    owners: bool
    """Whether pools belong to teams."""
    owned: OwnedCost | None
    rollout: tuple[Row, ...]
    targets: tuple[Row, ...]
    readings: tuple[Row, ...]
    source: str
    """Source of utilisation and risks."""


def advise(answers: Answers) -> PlatformAdvice:
    """Evaluate the rules for all workloads; UsageError for one that fits no machine."""
    facts = _platform_facts(answers)
    topics = {name: first(name, facts) for name in _PLATFORM_TOPICS}
    low, high = (topics["utilisation"]["set"][end] for end in ("low", "high"))
    return PlatformAdvice(
        answers=answers,
        workloads=tuple(
            _workload_advice(answers, index, workload)
            for index, workload in enumerate(answers.workloads)
        ),
        reasons=tuple(Reason(name, row["answer"], row["why"]) for name, row in topics.items()),
        utilisation=(low, high),
        owners="set" in topics["architecture"],
        source=tables()["source"],
        owned=owned_cost(answers.owned, answers.cloud, region_for(answers))
        if answers.owned
        else None,
        rollout=tuple(tables()["rollout"]),
        targets=tuple(tables()["targets"]),
        readings=tuple(tables()["readings"]),
    )


def _platform_facts(answers: Answers) -> dict[str, object]:
    region = region_for(answers)
    supply = Supply.BROAD if region.startswith(tuple(tables()["broad_supply"])) else Supply.SCARCE
    minor = tuple(map(int, answers.kubernetes.split(".")))
    return {
        "cloud": answers.cloud,
        "budget": answers.budget,
        "organisation": answers.organisation,
        "single_team": len(answers.teams) == 1,
        "people": answers.people,
        "supply": answers.supply or supply,
        "owned": answers.owned is not None,
        "owned_nodes": answers.cloud is AdvisedCloud.NONE,
        "resource_claims": answers.resource_claims,
        "serves_claims": minor >= tuple(map(int, SERVED_SINCE.split("."))),
    }


def workload_facts(answers: Answers, workload: Workload) -> dict[str, object]:
    """What the rules may ask about a workload and its platform."""
    return {
        **_platform_facts(answers),
        **workload.model_dump(exclude={"name", "team", "gpus", "jobs_per_day"}),
        "tier": workload.tier or _TIERS.get(workload.kind, ServiceTier.BATCH),
        "multi_gpu": workload.gpus_per_job > 1,
        "multi_node": workload.spans_nodes,
        "checkpoints": workload.checkpoint_minutes is not None,
    }


def _workload_advice(answers: Answers, index: int, workload: Workload) -> WorkloadAdvice:
    facts = workload_facts(answers, workload)
    rule, rank = first("mode", facts), first("rank", facts)
    excluded = {
        mode: row["why"] for row in reversed(matching("exclude", facts)) for mode in row["modes"]
    }
    slices = rule.get("set", {}).get("min_slices", 1)
    fits = {
        mode: sorted(
            placements(answers, workload, mode, slices),
            key=lambda each: (-each.score if rank["set"]["by"] == "score" else 0, each.cost),
        )
        for mode in Mode
        if mode not in excluded
    }
    best = {mode: found[0] for mode in map(Mode, rule["prefer"]) if (found := fits.get(mode))}
    if not best:
        raise UsageError(_unplaced(answers, index, workload))
    chosen = _choose(rule, best)
    capacity = first("capacity", facts)
    order, unusable = _capacity_order(chosen, capacity, matching("exclude_capacity", facts))
    facts |= {"mode": chosen.mode, "spot": Capacity.SPOT in order}
    topics = {"sharing": rule, "machine": rank, "capacity": capacity}
    topics |= {name: first(name, facts) for name in _TOPICS}
    return WorkloadAdvice(
        workload=workload,
        placement=chosen,
        settings={
            **{k: v for row in topics.values() for k, v in row.get("set", {}).items()},
            "order": order,
        },
        reasons=(
            Reason("sharing", format_unit(chosen), rule["why"]),
            *(Reason(name, row["answer"], row["why"]) for name, row in list(topics.items())[1:]),
            *(
                Reason("compare GPUs by", r["answer"], r["why"])
                for r in matching("criteria", facts)
            ),
        ),
        rejected=tuple(_rejected(answers, workload, chosen, rule, excluded, best)),
        candidates=tuple(_candidate(each) for each in fits[chosen.mode][:_SHOWN]),
        options=tuple(_options(answers, chosen, order, unusable)),
        risks=tuple({row["risk"]: row for row in reversed(matching("risks", facts))}.values())[
            ::-1
        ],
    )


def _choose(rule: Row, best: Mapping[Mode, Placement]) -> Placement:
    """The first mode of the rule, or the cheapest."""
    if _is_by_price(rule):
        return min(best.values(), key=lambda each: each.cost)
    return next(iter(best.values()))


def _is_by_price(rule: Row) -> bool:
    return "choose" in rule.get("set", {})


def format_unit(placed: Placement) -> str:
    """`MIG 2g.10gb, 3 on a GPU`, `time-slicing, 4 pods on a GPU`, `dedicated GPUs`."""
    match placed.mode:
        case Mode.MIG:
            return f"MIG {placed.slice}, {placed.pods_per_gpu} on a GPU"
        case Mode.DEDICATED:
            return "dedicated GPUs"
        case Mode.DRA:
            return "claimed GPUs (DRA)"
        case Mode.MPS:
            return f"MPS, {placed.pods_per_gpu} pods on a GPU"
        case Mode.TIME_SLICING:
            return f"time-slicing, {placed.pods_per_gpu} pods on a GPU"


def _rejected(
    answers: Answers,
    workload: Workload,
    chosen: Placement,
    rule: Row,
    excluded: Mapping[str, str],
    best: Mapping[Mode, Placement],
) -> Iterator[Reason]:
    """Why each other sharing mode was not chosen."""
    for mode in Mode:
        if mode is chosen.mode:
            continue
        if mode in excluded:
            why = excluded[mode]
        elif mode in best:
            why = _less_preferred(rule, chosen, best[mode])
        elif mode in rule["prefer"]:
            why = _why_unplaced(answers, workload, mode)
        else:
            why = f"{chosen.mode} comes first for this workload: {rule['why']}"
        yield Reason("sharing", mode, why)


def _less_preferred(rule: Row, chosen: Placement, other: Placement) -> str:
    why = (
        "it fits, but costs more"
        if _is_by_price(rule) and chosen.cost < other.cost
        else f"it fits, but {chosen.mode} comes first"
    )
    if other.usd_per_hour is None or chosen.usd_per_hour is None:
        return f"{why}: {_servers(other)} instead of {_servers(chosen)}"
    return (
        f"{why}: {other.usd_per_hour:.2f} $/h on {other.machine.name} instead of"
        f" {chosen.usd_per_hour:.2f} $/h on {chosen.machine.name}"
    )


def _servers(placed: Placement) -> str:
    return f"{placed.nodes} server{'' if placed.nodes == 1 else 's'}"


def _why_unplaced(answers: Answers, workload: Workload, mode: Mode) -> str:
    where = (
        "your servers" if answers.cloud is AdvisedCloud.NONE else f"a machine of {answers.cloud}"
    )
    need = f"{workload.gpu_memory_gib} GiB"
    if workload.compute_percent and mode in {Mode.MIG, Mode.MPS}:
        need += f" and {workload.compute_percent:g} % of a GPU"
    unit = {Mode.MIG: "a MIG slice", Mode.MPS: "half a GPU", Mode.TIME_SLICING: "half a GPU"}
    return f"{unit.get(mode, 'a GPU')} of {where} does not have {need}"


def _unplaced(answers: Answers, index: int, workload: Workload) -> str:
    """The error for a workload that fits nowhere: path, given, allowed, fix."""
    probe = workload.model_copy(update={"gpu_memory_gib": 1, "gpus_per_job": 1})
    machines = [each.machine for each in placements(answers, probe, Mode.DEDICATED, 1)]
    sizes = sorted({(m.gpus, m.gpu.memory_gib) for m in machines if m.gpu})
    most = ", ".join(f"{gpus} × {gib} GiB" for gpus, gib in sizes[-3:])
    return (
        f"workloads[{index}] {workload.name}: no machine has {workload.gpus_per_job} GPUs with"
        f" {workload.gpu_memory_gib} GiB each in one node. Largest nodes: {most or 'none'}."
        " Lower gpu_memory_gib or gpus_per_job, or set `multi_node: true` with a multiple of the"
        " GPUs of a node."
    )


def _candidate(placed: Placement) -> Candidate:
    machine = placed.machine
    name = machine.gpu.name if machine.gpu else ""
    return Candidate(machine.name, name, machine.gpus, placed.nodes, placed.usd_per_hour)


def _capacity_order(
    chosen: Placement, capacity: Row, exclusions: Sequence[Row]
) -> tuple[tuple[Capacity, ...], Mapping[Capacity, str]]:
    """Capacity types to use in order, and those that the rules exclude, with the reason."""
    unusable = {Capacity(m): row["why"] for row in reversed(exclusions) for m in row["modes"]}
    wanted = (Capacity(name) for name in capacity["set"]["order"])
    return tuple(c for c in wanted if c in chosen.machine.sold and c not in unusable), unusable


def _options(
    answers: Answers,
    chosen: Placement,
    order: tuple[Capacity, ...],
    unusable: Mapping[Capacity, str],
) -> Iterator[PriceOption]:
    """Every way to buy a node of the machine, and why it is used or not."""
    machine = chosen.machine
    if answers.cloud is AdvisedCloud.NONE:
        return
    on_demand = price_of(machine, Capacity.ON_DEMAND)
    for capacity in Capacity:
        if capacity in order:
            why = "first choice" if capacity is order[0] else "fallback"
        elif capacity not in machine.sold:
            why = f"not sold for {machine.name}"
        else:
            why = unusable.get(capacity) or _OTHERWISE[capacity]
        price = price_of(machine, capacity)
        yield PriceOption(
            name=capacity.value,
            usd_per_hour=price.high if price else None,
            break_even_percent=None,
            chosen=capacity in order,
            why=why,
        )
    for each in commitments_of(machine.name):
        if each.years and on_demand and each.region == machine.region:
            percent = 100 * each.usd_per_hour.high / on_demand.high
            yield PriceOption(
                name=each.named,
                usd_per_hour=each.usd_per_hour.high,
                break_even_percent=percent,
                chosen=False,
                why=f"buy it after the pilot, for nodes that run more than {percent:.0f} % of the time",
            )


_OTHERWISE = {
    Capacity.SPOT: "the budget profile does not use it here",
    Capacity.ON_DEMAND: "the budget profile does not use it here",
    Capacity.RESERVED: "add it with the id of your reservation",
    Capacity.BLOCK: "add it with the id of a purchased block, for runs of days",
    Capacity.FLEX_START: "possible for jobs of up to seven days that can wait for their start",
}
