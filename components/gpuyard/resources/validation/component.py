"""Validation: pods that hold each node of a pool against its plan, and a deployment that waits for them."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypedDict

import pulumi

from gpuyard.plan.records import PlatformPlan, PoolPlan, ValidationPlan
from gpuyard.render.gpu_operator.objects import operator_namespace
from gpuyard.render.validation.gate import gate_objects
from gpuyard.render.validation.jobs import (
    FIGURES,
    FIGURES_KEY,
    MIXED,
    MIXED_KEY,
    check_digest,
    check_name,
    checked_pools,
    pool_check_objects,
    validator_objects,
    verdict_object,
)
from gpuyard.resources.component import Component, after_created
from gpuyard.resources.diagnosis.kubectl import Kubectl
from gpuyard.resources.plan_cache import PlatformLike, read_args, validate_platform
from gpuyard.resources.state import state_of
from gpuyard.resources.validation.job_results import (
    every_node_hook,
    job_measurements,
    pool_inconsistencies,
    wait_for_job,
)
from gpuyard.resources.validation.measurements import DEFERRED, Measurement, recorded_measurements
from gpuyard.resources.validation.node_consistency import recorded_inconsistencies


class ValidationArgs(TypedDict):
    """What a Validation is given."""

    platform: PlatformLike
    """The whole platform; what it says under `validation` counts."""


class AcceptedValue(TypedDict):
    """A lower floor that somebody has accepted for a while."""

    value: float
    """What is enough meanwhile."""
    unit: str
    """What it is counted in."""
    reason: str
    """Why."""
    until: str
    """The last day that it holds."""


# Names are single words, as of the platform's own summaries.
class PoolVerdict(TypedDict):
    """What became of the check on one pool."""

    verdict: str
    """passed, `not awaited` (not required), `deferred` (no node is there yet), else `not checked`."""
    nodes: int
    """How many nodes that is said of."""
    digest: str
    """Of all that the verdict rests on; empty where nothing is checked."""
    why: str
    """Why nothing is checked."""
    figures: dict[str, Measurement]
    """What was measured, by check: only of a pool that has passed."""
    mixed: dict[str, dict[str, list[str]]]
    """Driver and firmware that its nodes do not have alike: by part and version, which nodes have it."""
    work: str
    """The same of its GPUs at work: passed, `not awaited`, `deferred: ...`, or why they did none."""
    shares: str
    """The same of its shares, all at once: passed, `not awaited`, `deferred: ...`, or why none was tried."""
    volumes: str
    """The same of the datasets that one of its nodes reads: passed, `not awaited`, or why none is read."""
    accepted: dict[str, AcceptedValue]
    """Lower floors that its checks were told of, by check."""


class Validation(Component):
    """The check of hardware: a Job for each pool, over the nodes that it begins with.

    Where it is required, the deployment fails when a node does not pass, is not there in time, or was not
    looked at. A Job runs again only when the pool, its driver, the image or the program is another one. What
    makes the GPU Operator and the nodes must be in `depends_on`.
    """

    pools: pulumi.Output[dict[str, PoolVerdict]]
    """What became of the check, by pool; the deployment has ended well only where all of this is so."""

    def __init__(
        self,
        name: str,
        args: ValidationArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        later: Collection[str] = (),
    ) -> None:
        """Pools in `later`, by their first names, are checked when `then` is called for the last of them."""
        values = read_args("Validation", args, required=("platform",))
        plan = validate_platform(values["platform"]).plan
        validation_spec = plan.spec.validation
        state = {
            "platform": plan.name,
            "validation": state_of(validation_spec) if validation_spec else {},
        }
        super().__init__("gpuyard:index:Validation", name, state, opts)
        self._plan, self._called = plan, name
        now = [pool for pool in checked_pools(plan) if pool.stable_name not in later]
        self._register(validator_objects(plan))
        self._gates = [each for each in self._register(gate_objects(plan)) if _looks_later(each)]
        self._check(now)
        self._figures: dict[str, pulumi.Output[dict[str, Measurement]]] = {}
        self._mixed: dict[str, pulumi.Output[dict[str, dict[str, list[str]]]]] = {}
        self._last = {pool.stable_name: self._verdict_resource(name, plan, pool) for pool in now}
        if not later:
            self._report()

    def passed(self, pools: Iterable[str]) -> list[pulumi.CustomResource]:
        """What stands when these pools have passed, as far as they are looked at."""
        return [self._last[pool] for pool in pools if pool in self._last]

    def then(self, pools: Collection[str], nodes: Iterable[pulumi.Resource]) -> None:
        """Look at the pools that came later, once their nodes are there."""
        self._waits_for = self._after(nodes)
        plan = self._plan
        late = [pool for pool in checked_pools(plan) if pool.stable_name in pools]
        self._check(late)
        for pool in late:
            self._last[pool.stable_name] = self._verdict_resource(self._called, plan, pool)
        self._report()

    def _check(self, pools: Iterable[PoolPlan]) -> None:
        """A check that fails ends the engine: what looks at nodes later must be there before.

        The program that acts on it is not waited for until it runs: it would close a bad node, and the check
        would find no place on it, and say nothing.
        """
        before, self._waits_for = self._waits_for, self._after(self._gates)
        self._register([obj for pool in pools for obj in pool_check_objects(self._plan, pool)])
        self._waits_for = before

    def _report(self) -> None:
        verdicts = _verdicts(self._plan, self._plan.validation)
        verdicts_by_pool = after_created(verdicts, *self._last.values())
        self.pools = pulumi.Output.all(verdicts_by_pool, self._figures, self._mixed).apply(
            _with_figures
        )
        self.register_outputs({"pools": self.pools})

    def _verdict_resource(
        self, name: str, plan: PlatformPlan, pool: PoolPlan
    ) -> pulumi.CustomResource:
        """What stands when the pool has passed; where nobody waits for that, the Job itself."""
        job = self._object("Job", check_name(plan, pool), operator_namespace(plan))
        if plan.validation is None or not plan.validation.required:
            return job
        self._waits_for, before = self._after([job]), self._waits_for
        looks = self._ours.kubectl if self._ours is not None else None
        hooks = every_node_hook(name, looks, plan, pool) if looks is not None else None
        # Once written down they stay: the pods that said so may be gone.
        kept = [f"data.{FIGURES_KEY}", f"data.{MIXED_KEY}"]
        late = {
            FIGURES: _measured(job, looks, plan, pool),
            MIXED: _unlike(job, looks, plan, pool),
        }
        made = self._register([verdict_object(plan, pool)], late, hooks, kept)
        self._waits_for = before
        data: pulumi.Output[Mapping[str, str]] = vars(made[0])["data"]
        self._figures[pool.name] = data.apply(
            lambda said: recorded_measurements(said.get(FIGURES_KEY))
        )
        self._mixed[pool.name] = data.apply(
            lambda said: recorded_inconsistencies(said.get(MIXED_KEY))
        )
        return made[0]


def _looks_later(resource: pulumi.CustomResource) -> bool:
    return resource.pulumi_resource_type == "kubernetes:apps/v1:DaemonSet"


def _measured(
    job: pulumi.CustomResource, looks: Kubectl | None, plan: PlatformPlan, pool: PoolPlan
) -> pulumi.Output[str]:
    return job_measurements(job, looks, check_name(plan, pool), operator_namespace(plan))


def _unlike(
    job: pulumi.CustomResource, looks: Kubectl | None, plan: PlatformPlan, pool: PoolPlan
) -> pulumi.Output[str]:
    return wait_for_job(job, looks, lambda kubectl: pool_inconsistencies(kubectl, plan, pool))


def _with_figures(known: list[Any]) -> dict[str, PoolVerdict]:
    verdicts, figures, mixed = known
    return {
        name: each | {"figures": figures.get(name, {}), "mixed": mixed.get(name, {})}
        for name, each in verdicts.items()
    }


def with_more_figures(
    pools: pulumi.Output[dict[str, PoolVerdict]],
    outputs: Mapping[str, list[pulumi.Output[Mapping[str, str]]]],
) -> pulumi.Output[dict[str, PoolVerdict]]:
    """The same with what GPUs at work and shares have come to, by pool, as it is kept with their verdicts."""

    def both(known: list[Any]) -> dict[str, PoolVerdict]:
        verdicts, more = known
        return {name: _joined(each, more.get(name, ())) for name, each in verdicts.items()}

    return pulumi.Output.all(pools, outputs).apply(both)


def _joined(verdict: PoolVerdict, more: Iterable[Mapping[str, str]]) -> PoolVerdict:
    results = dict(verdict["figures"])
    joined: PoolVerdict = {**verdict, "figures": results}
    for data in more:
        results |= recorded_measurements(data.get(FIGURES_KEY))
        if (verdict_text := data.get("verdict", "")).startswith(DEFERRED):
            joined["shares" if "shares" in data else "work"] = verdict_text
    return joined


def _verdicts(plan: PlatformPlan, validation: ValidationPlan | None) -> dict[str, PoolVerdict]:
    if validation is None:
        return {}
    awaited = "passed" if validation.required else "not awaited"
    results: dict[str, PoolVerdict] = {}
    for each in validation.pools:
        runs = bool(validation.image) and each.runs
        why = each.skip_reason or "no node of it runs from the beginning"
        why += ": they are checked when they come" if each.gate else ""
        results[each.pool] = {
            "verdict": awaited if runs else "deferred" if each.gate else "not checked",
            "nodes": each.nodes if runs else 0,
            "digest": check_digest(plan, plan.pool(each.pool)) if runs else "",
            "why": "" if runs else why if validation.image else "no image is named",
            "figures": {},
            "mixed": {},
            "work": awaited if runs and each.works else each.idle or "no node is checked",
            "shares": awaited
            if runs and each.tried
            else each.shares_skip_reason or "no node is checked",
            "accepted": _accepted(validation, each.pool),
            "volumes": awaited
            if runs and each.reads
            else each.volumes_skip_reason or "no node is checked",
        }
    return results


def _accepted(validation: ValidationPlan, pool: str) -> dict[str, AcceptedValue]:
    return {
        each.check: {
            "value": each.value,
            "unit": each.unit,
            "reason": each.reason,
            "until": each.until,
        }
        for each in validation.accepted_thresholds
        if each.pool == pool
    }
