"""Figures of claims.yaml that take seconds to calculate, from the catalogue, the packing and public traces."""

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.sections.observability import Observability
from gpuyard_advisor.advice.packing.slices import pack_slices, slice_for
from gpuyard_advisor.replay import Outcome, ReplayOptions, Timing, replay
from gpuyard_advisor.replay.mapping import map_jobs
from gpuyard_advisor.traces import TraceJob
from gpuyard_core.catalogue.cluster.times import GB_PULLED, startup_durations
from gpuyard_core.catalogue.commitments import commitments_of
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.machines import MACHINES, Machine
from gpuyard_core.catalogue.software.images import ComponentOwner

HOURS = 8760
IMAGE_GB = 10
CHECKPOINT_SECONDS = 15 * 60
HALF = 0.5
SMALL_NODES = 4
RATE, SEEDS = 0.2, 20


def _price(machine: Machine) -> float:
    if machine.on_demand is None:
        raise LookupError(f"the catalogue has no price of {machine.name}")
    return machine.on_demand.low


def idle() -> str:
    """50 H100 for a year, at the on-demand price of a GPU of p5.48xlarge."""
    hour = _price(MACHINES["p5.48xlarge"]) / 8
    idle_20, idle_75 = (50 * HOURS * hour * share for share in (0.8, 0.25))
    return (
        f"{idle_20:,.0f} → {idle_75:,.0f} $ a year at {hour:.2f} $ per GPU-hour (p5.48xlarge); the three figures of the"
        " field fit no common price"
    )


def mig() -> str:
    """The fractional pods of openb on whole A100, and in packed slices."""
    from kit.traces import openb_fractions

    product = MIG_PRODUCTS["A100-40"]
    demand: Counter[str] = Counter()
    for share, count in openb_fractions().items():
        if profile := slice_for(product, compute=share):
            demand[profile.name] += count
    whole, packed = sum(demand.values()), pack_slices(product, demand).minimum_gpus
    return f"{packed / whole - 1:.0%} GPUs: {whole:,} pods of openb that request a part of a GPU fit {packed:,} A100"


def services() -> str:
    """Fifty services in the smallest slice of an H100."""
    product = MIG_PRODUCTS["H100"]
    smallest = product.profiles[0].name
    packed = pack_slices(product, {smallest: 50})
    return f"{packed.minimum_gpus} H100 if {smallest} is enough for each of 50 services (7 a GPU), a proved minimum"


def cron() -> str:
    """One machine that does not run at night."""
    saved = _price(MACHINES["p5.48xlarge"]) * 12 * 365
    return f"{saved:,.0f} $ a year for one p5.48xlarge that stops for 12 hours each night; the field states no size"


def _spot() -> Iterator[float]:
    for machine in MACHINES.values():
        if machine.is_gpu_machine and machine.spot and machine.on_demand:
            yield machine.spot.low / _price(machine) - 1


def spot() -> str:
    """Spot prices of the catalogue, as shares of on demand."""
    found = sorted(_spot())
    middle = found[len(found) // 2]
    return f"{found[0]:.0%} to {found[-1]:+.0%}, median {middle:.0%}, over {len(found)} machine types with GPUs"


def _terms(years: int) -> list[float]:
    return sorted(
        each.usd_per_hour.low / _price(machine) - 1
        for machine in MACHINES.values()
        if machine.is_gpu_machine and machine.on_demand
        for each in commitments_of(machine.name)
        if each.years == years
    )


def commitments() -> str:
    """Commitments of the catalogue, as shares of on demand."""
    one, three = _terms(1), _terms(3)
    return (
        f"one year {one[len(one) // 2]:.0%} (median of {len(one)} published prices), three years"
        f" {three[len(three) // 2]:.0%} (of {len(three)})"
    )


def provisioning() -> str:
    """From the request for a machine to running pods, by sourced times."""
    parts = []
    for cloud, driver in (("aws", ComponentOwner.IMAGE), ("gcp", ComponentOwner.GKE)):
        phases = startup_durations(cloud, 8, driver)
        pull = (IMAGE_GB * GB_PULLED.least, IMAGE_GB * GB_PULLED.most)
        least, most = (
            (sum(bound) + extra) / 60
            for bound, extra in (
                ([p.least for p in phases], pull[0]),
                ([p.most for p in phases], pull[1]),
            )
        )
        parts.append(f"{cloud} {least:.1f} to {most:.1f} min")
    return f"{', '.join(parts)} for 8 GPUs and an image of {IMAGE_GB} GB; under 5 min only at the lower end"


def scrape() -> str:
    """The default of the platform."""
    return f"{Observability().scrape_seconds} s by default"


# ── a month of openb on two platforms ─────────────────────────────────────────────────────────────
MACHINE, NODE_GPUS, TEAMS = "g6.48xlarge", 8, 4
FIRST = 1000
"""The first 1,000 pods of the trace started months before the others."""


@cache
def _jobs() -> tuple[TraceJob, ...]:
    """Pods of openb over four weeks, in four teams by shape; each uses as much of its GPUs as it requests."""
    from kit.traces import trace_file, trace_jobs, user_of

    jobs = trace_jobs(trace_file("openb", "openb_pod_list_default.csv"))[FIRST:]
    return tuple(
        replace(
            job,
            team=f"team-{zlib.crc32(user_of(job).encode()) % TEAMS}",
            submitted_seconds=job.submitted_seconds - jobs[0].submitted_seconds,
            utilisation=min(1.0, job.gpus),
        )
        for job in jobs
    )


def _peak(jobs: Iterable[TraceJob], share: float = 0.95) -> int:
    """Whole GPUs that are enough for these jobs in this share of the time."""
    changes = sorted(
        change
        for job in jobs
        for change in (
            (job.submitted_seconds, math.ceil(job.gpus)),
            (job.submitted_seconds + job.run_seconds, -math.ceil(job.gpus)),
        )
    )
    time_of: Counter[int] = Counter()
    used, since = 0, changes[0][0]
    for now, change in changes:
        time_of[used] += now - since
        used, since = used + change, now
    allowed = (1 - share) * time_of.total()
    for gpus in sorted(time_of, reverse=True):
        allowed -= time_of[gpus]
        if allowed < 0:
            return gpus
    return 0


@cache
def _silos() -> dict[str, int]:
    """Nodes that each team would buy for its own demand."""
    teams = sorted({job.team for job in _jobs()})
    return {
        team: -(-_peak(job for job in _jobs() if job.team == team) // NODE_GPUS) for team in teams
    }


def _platform(pools: list[dict[str, Any]], teams: list[dict[str, Any]]) -> PlatformPlan:
    from kit.stacks import plan_of, platform

    return plan_of(platform(pools, teams, name="lab", cloud="aws"))


def _pool(name: str, nodes: int | str, **rest: Any) -> dict[str, Any]:
    return {"name": name, "machine": MACHINE, "nodes": nodes} | rest


def _shared(nodes: int | str, **rest: Any) -> PlatformPlan:
    """One pool that all teams share: equal guarantees, and the rest to borrow."""
    gpus = sum(_silos().values()) * NODE_GPUS
    quota = {
        "guarantee": {"all": gpus // TEAMS},
        "borrow": {"all": gpus - gpus // TEAMS},
    }
    return _platform([_pool("all", nodes, **rest)], [{"name": team, **quota} for team in _silos()])


@cache
def _outcome(which: str) -> Outcome:
    """A month on each team's own nodes, on the same nodes shared, or on shared nodes that scale."""
    total = sum(_silos().values())
    if which == "own":
        plan = _platform(
            [_pool(team, nodes) for team, nodes in _silos().items()],
            [{"name": t, "guarantee": {t: n * NODE_GPUS}} for t, n in _silos().items()],
        )
    else:
        plan = _shared(total if which == "shared" else f"1..{total}")
    return _replayed(plan, _jobs())


def _replayed(plan: PlatformPlan, trace: Iterable[TraceJob], **options: Any) -> Outcome:
    mapped = map_jobs(plan, trace)
    if mapped.never:
        raise ValueError(f"jobs never start: {mapped.never}")
    jobs = [replace(job, checkpoint_seconds=CHECKPOINT_SECONDS) for job in mapped.jobs]
    model = ReplayOptions(nodes=True, image_gb=IMAGE_GB, **options)
    return replay(plan, jobs, Timing(start=5, stop=1), model).outcome


def _minutes(seconds: float | None) -> str:
    return "none" if seconds is None else f"{seconds / 60:.1f} min"


def utilisation() -> str:
    """Allocated GPU hours."""
    own, scaled = _outcome("own"), _outcome("scaled")
    return (
        f"{own.utilisation:.0%} → {scaled.utilisation:.0%} of GPU-hours allocated: four weeks of openb, four teams with"
        f" their own {sum(_silos().values())} nodes of 8 GPUs, and one shared pool that scales"
    )


def wait() -> str:
    """The same nodes, shared."""
    own, shared = _outcome("own").waits, _outcome("shared").waits
    return (
        f"mean {_minutes(own.mean)} → {_minutes(shared.mean)} on the same {sum(_silos().values())} nodes, once they are"
        " shared; openb waits less than the sources of the claim"
    )


def cost() -> str:
    """The whole bill."""
    own, scaled = _outcome("own").cost.known_usd, _outcome("scaled").cost.known_usd
    return f"{scaled / own - 1:.0%} ({own:,.0f} → {scaled:,.0f} $ for four weeks of openb at on-demand prices)"


def time_slicing() -> str:
    """Pods that request at most half a GPU, on whole and on halved GPUs."""
    small = [job for job in _jobs() if job.gpus <= HALF]
    team = [{"name": "dev", "guarantee": {"dev": SMALL_NODES * 4}}]
    usd = [
        _replayed(
            _platform([_pool("dev", f"0..{SMALL_NODES}", machine="g6.12xlarge", **rest)], team),
            [replace(job, team="dev") for job in small],
        ).cost.known_usd
        for rest in ({}, {"sharing": {"time_slicing": 2}})
    ]
    return (
        f"{usd[1] / usd[0] - 1:.0%} for the {len(small):,} pods of openb that request at most half a GPU, two on each, on"
        " nodes of four L4 that scale"
    )


def spot_loss() -> str:
    """Interruptions of a pool of spot nodes."""
    plan = _shared(sum(_silos().values()), capacity=["spot"])
    found = [
        _replayed(plan, _jobs(), seed=seed, interruptions=True, interruptions_per_month=RATE)
        for seed in range(SEEDS)
    ]
    lost = sum(each.lost_gpu_hours for each in found)
    held = sum(pool.allocated_gpu_hours for each in found for pool in each.pools)
    return (
        f"{lost / held:.3%} of allocated GPU-hours, {sum(each.interruptions for each in found)} jobs interrupted in {SEEDS}"
        f" replays of four weeks of openb, with a checkpoint every {CHECKPOINT_SECONDS // 60} minutes and {RATE:.0%} of the"
        " nodes interrupted each month"
    )


def target_utilisation() -> str:
    """As `utilisation`."""
    return f"{_outcome('scaled').utilisation:.0%} of GPU-hours allocated (four weeks of openb, shared pool that scales)"


def target_idle() -> str:
    """The rest."""
    return f"{1 - (_outcome('scaled').utilisation or 0):.0%} of GPU-hours not allocated, in the same replay"


def target_wait() -> str:
    """As `wait`."""
    waits = _outcome("scaled").waits
    return f"P95 {_minutes(waits.p95)}, mean {_minutes(waits.mean)} in the same replay, with boot and image pull"


CALCULATIONS: Mapping[str, Callable[[], str]] = {
    "utilisation": utilisation,
    "wait": wait,
    "cost-total": cost,
    "cost-mig": mig,
    "cost-time-slicing": time_slicing,
    "idle-h100": idle,
    "consolidate-services": services,
    "consolidate-cron": cron,
    "spot-price": spot,
    "spot-loss": spot_loss,
    "savings-plan": commitments,
    "provisioning": provisioning,
    "target-utilisation": target_utilisation,
    "target-wait": target_wait,
    "target-idle": target_idle,
    "target-scrape": scrape,
}
