"""Validation component: Jobs that compare each node of a pool with its plan; the deployment waits for them."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NotRequired, TypedDict

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
from gpuyard.resources.part_args import Part, PartArgs, read_part, sections
from gpuyard.resources.state import spec_without_defaults
from gpuyard.resources.validation.job_results import (
    all_nodes_validated_hook,
    job_measurements,
    pool_inconsistencies,
    wait_for_job,
)
from gpuyard.resources.validation.measurements import DEFERRED, Measurement, recorded_values

_PART = Part("Validation", ("validation", "gpu_operator"), required=("pools", "validation"))


class ValidationArgs(PartArgs):
    """Arguments of a Validation: a platform, or its pools and their validation."""

    validation: NotRequired[sections.Validation]
    """Validation of the hardware. Default: none."""
    gpu_operator: NotRequired[sections.Operator]
    """NVIDIA GPU Operator of the cluster: its namespace also contains the validation."""


class AcceptedValue(TypedDict):
    """A lower threshold that was accepted until a date."""

    value: float
    """The accepted threshold."""
    unit: str
    """Unit of the value."""
    reason: str
    """Reason for the lower threshold."""
    until: str
    """The last day on which it applies."""


# Names are single words, as in the summaries of the platform.
class PoolVerdict(TypedDict):
    """Result of the validation of one pool."""

    verdict: str
    """passed, `not awaited` (not required), `deferred` (no node exists yet), or `not checked`."""
    nodes: int
    """Number of nodes that the verdict covers."""
    digest: str
    """Digest of everything that determines the verdict; empty if nothing is validated."""
    why: str
    """Why nothing is validated; otherwise empty."""
    figures: dict[str, Measurement]
    """Measured values by check; only for a pool that has passed."""
    mixed: dict[str, dict[str, list[str]]]
    """Driver and firmware versions that differ between nodes: by part and version, the nodes that
    have it.
    """
    work: str
    """Verdict of the GPUs under load: passed, `not awaited`, `deferred: ...`, or why they were not
    tested.
    """
    shares: str
    """Verdict of all GPU shares at once: passed, `not awaited`, `deferred: ...`, or why none was
    tested.
    """
    volumes: str
    """Verdict of reading the datasets on one node: passed, `not awaited`, or why none was read."""
    accepted: dict[str, AcceptedValue]
    """Accepted lower thresholds of its checks, by check."""


class Validation(Component):
    """Hardware validation: a Job for each pool, on the nodes that the pool starts with.

    If validation is required, the deployment fails when a node fails, is not ready in time, or was
    not validated. A Job runs again only when the pool, its driver, the image or the validator
    changes. Add the components that create the GPU Operator and the nodes to `depends_on`.
    """

    pools: pulumi.Output[dict[str, PoolVerdict]]
    """Result of the validation by pool; available once all required ones have passed."""

    def __init__(
        self,
        name: str,
        args: ValidationArgs,
        opts: pulumi.ResourceOptions | None = None,
        *,
        later: Collection[str] = (),
    ) -> None:
        """Pools in `later` (first names) are validated after the last call of `then` for them."""
        proof, _ = read_part(_PART, name, args, opts)
        plan = proof.plan
        validation_spec = plan.spec.validation
        state = {
            "platform": plan.name,
            "validation": spec_without_defaults(validation_spec) if validation_spec else {},
        }
        super().__init__("gpuyard:index:Validation", name, state, opts, plan)
        self._plan, self._called = plan, name
        now = [pool for pool in checked_pools(plan) if pool.stable_name not in later]
        self._register(validator_objects(plan))
        agent = "kubernetes:apps/v1:DaemonSet"
        gates = self._register(gate_objects(plan))
        self._gates = [each for each in gates if each.pulumi_resource_type == agent]
        self._check(now)
        self._figures: dict[str, pulumi.Output[dict[str, Measurement]]] = {}
        self._mixed: dict[str, pulumi.Output[dict[str, dict[str, list[str]]]]] = {}
        self._last = {pool.stable_name: self._verdict_resource(name, plan, pool) for pool in now}
        if not later:
            self._report()

    def verdict_resources(self, pools: Iterable[str]) -> list[pulumi.CustomResource]:
        """The verdict objects of these pools, as far as they are registered."""
        return [self._last[pool] for pool in pools if pool in self._last]

    def validate_second_wave(
        self, pools: Collection[str], nodes: Iterable[pulumi.Resource]
    ) -> None:
        """Validate the pools of the second wave, after their nodes exist."""
        self._waits_for = self._after(nodes)
        plan = self._plan
        late = [pool for pool in checked_pools(plan) if pool.stable_name in pools]
        self._check(late)
        for pool in late:
            self._last[pool.stable_name] = self._verdict_resource(self._called, plan, pool)
        self._report()

    def _check(self, pools: Iterable[PoolPlan]) -> None:
        """Register the validation. A failed one ends the engine, so the node validation is registered before.

        The controller that acts on verdicts is not awaited: it would cordon a bad node, the Job
        would find no place on it, and no result would be reported.
        """
        objects = [obj for pool in pools for obj in pool_check_objects(self._plan, pool)]
        self._register(objects, after=self._gates)

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
        """The object that exists when the pool has passed; the Job itself if the verdict is not awaited."""
        looks, check, space = self._kubectl, check_name(plan, pool), operator_namespace(plan)
        job, hooks = self._object("Job", check, space), None
        if plan.validation is None or not plan.validation.required:
            return job
        if looks is not None:
            called = f"gpuyard:{name}:{pool.stable_name}:checked"
            hooks = all_nodes_validated_hook(
                called, looks, pool, check, nodes=pool.start_nodes, space=space
            )
        # The first written values stay: the pods that reported them may be deleted.
        kept = [f"data.{FIGURES_KEY}", f"data.{MIXED_KEY}"]
        late = {
            FIGURES: job_measurements(job, looks, check, space),
            MIXED: wait_for_job(job, looks, lambda one: pool_inconsistencies(one, plan, pool)),
        }
        (made,) = self._register([verdict_object(plan, pool)], late, hooks, kept, [job])
        data: pulumi.Output[Mapping[str, str]] = vars(made)["data"]
        self._figures[pool.name] = data.apply(lambda said: recorded_values(said.get(FIGURES_KEY)))
        self._mixed[pool.name] = data.apply(lambda said: recorded_values(said.get(MIXED_KEY)))
        return made


def _with_figures(known: list[Any]) -> dict[str, PoolVerdict]:
    verdicts, figures, mixed = known
    return {
        name: each | {"figures": figures.get(name, {}), "mixed": mixed.get(name, {})}
        for name, each in verdicts.items()
    }


def with_job_measurements(
    pools: pulumi.Output[dict[str, PoolVerdict]],
    outputs: Mapping[str, list[pulumi.Output[Mapping[str, str]]]],
) -> pulumi.Output[dict[str, PoolVerdict]]:
    """The verdicts with the recorded values of GPUs under load and of shares, by pool."""

    def both(known: list[Any]) -> dict[str, PoolVerdict]:
        verdicts, more = known
        return {name: _joined(each, more.get(name, ())) for name, each in verdicts.items()}

    return pulumi.Output.all(pools, outputs).apply(both)


def _joined(verdict: PoolVerdict, more: Iterable[Mapping[str, str]]) -> PoolVerdict:
    results = dict(verdict["figures"])
    joined: PoolVerdict = {**verdict, "figures": results}
    for data in more:
        results |= recorded_values(data.get(FIGURES_KEY))
        if (verdict_text := data.get("verdict", "")).startswith(DEFERRED):
            joined["shares" if "shares" in data else "work"] = verdict_text
    return joined


def _verdicts(plan: PlatformPlan, validation: ValidationPlan | None) -> dict[str, PoolVerdict]:
    if validation is None:
        return {}
    awaited, none = "passed" if validation.required else "not awaited", "no node is validated"
    results: dict[str, PoolVerdict] = {}
    for each in validation.pools:
        runs = bool(validation.image) and each.checks_any_node
        why = each.skip_reason or "it starts without nodes"
        why += ": nodes are validated when they start" if each.gate else ""
        results[each.pool] = {
            "verdict": awaited if runs else "deferred" if each.gate else "not checked",
            "nodes": each.nodes if runs else 0,
            "digest": check_digest(plan, plan.pool(each.pool)) if runs else "",
            "why": "" if runs else why if validation.image else "no image is named",
            "figures": {},
            "mixed": {},
            "work": awaited if runs and each.runs_load_checks else each.idle or none,
            "shares": awaited
            if runs and each.runs_share_checks
            else each.shares_skip_reason or none,
            "accepted": _accepted(validation, each.pool),
            "volumes": awaited
            if runs and each.runs_read_checks
            else each.volumes_skip_reason or none,
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
