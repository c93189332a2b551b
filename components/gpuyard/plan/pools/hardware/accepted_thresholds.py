"""Accepted thresholds: lower thresholds that apply until a date, and what makes one invalid."""

from collections.abc import Iterable, Iterator

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AcceptedThreshold, PoolCheck, PoolPlan, ValidationPlan
from gpuyard.plan.renames import nearest_fix
from gpuyard.spec.platform import AcceptedThresholdSpec, ValidationProfile, ValidationSpec
from gpuyard_core.catalogue.cluster.check_thresholds import (
    AdjustableCheck,
    adjustable_checks,
)
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info, warning

_NOT_LOWER = 0.9
"""The share of the default threshold that a fix suggests when an accepted value is not lower."""


def adjusted_thresholds(
    validation: ValidationSpec, pools: Iterable[PoolPlan]
) -> tuple[AcceptedThreshold, ...]:
    """The accepted thresholds of these pools. The check itself compares their end date with the day."""
    known, names = adjustable_checks(), {pool.name for pool in pools}
    return tuple(
        AcceptedThreshold(
            pool=each.pool,
            check=each.check,
            value=each.value,
            unit=known[each.check].unit,
            reason=each.reason,
            until=each.until.isoformat(),
            at_work=known[each.check].runs_under_load,
        )
        for each in validation.accepted_thresholds
        if each.pool in names and each.check in known
    )


def check_accepted_thresholds(draft: Draft) -> Iterator[Diagnostic]:
    """Each names a pool and a check, is lower than the default threshold, and has a reason."""
    validation, plan = draft.spec.validation, draft.validation
    if validation is None or plan is None:
        return
    checks = {each.pool: each for each in plan.pools}
    seen: set[tuple[str, str]] = set()
    for index, each in enumerate(validation.accepted_thresholds):
        at: Path = ("validation", "accepted_thresholds", index)
        wrong = [*_unknown(draft, at, each)]
        if (each.pool, each.check) in seen:
            wrong.append(
                error(
                    "validation.accepted",
                    at,
                    f"the threshold of {each.check} on {each.pool} is lowered twice",
                    given=f"{each.value:g}",
                    allowed="one entry for each pool and check",
                    fix=Fix.remove(at),
                )
            )
        seen.add((each.pool, each.check))
        if not wrong and (check := checks.get(each.pool)) is not None:
            wrong += _of_pool(draft, at, each, check)
        yield from wrong


def check_accepted_dates(draft: Draft) -> Iterator[Diagnostic]:
    """Report expired thresholds; without a date, none."""
    validation, today = draft.spec.validation, draft.today
    if validation is None or draft.validation is None or today is None:
        return
    for index, each in enumerate(validation.accepted_thresholds):
        if each.until < today:
            yield warning(
                "validation.accepted_over",
                ("validation", "accepted_thresholds", index),
                f"the lower threshold of {each.check} on {each.pool} was accepted until {each.until}:"
                " nodes are checked against the default again",
                given=str(each.until),
                allowed=f"{today} or later",
                fix=Fix(
                    message="remove it, or renew `reason` and `until`",
                    at=("validation", "accepted_thresholds", index),
                ),
            )


def _unknown(draft: Draft, at: Path, each: AcceptedThresholdSpec) -> Iterator[Diagnostic]:
    """Unknown names, and a missing reason."""
    pools, checks = [pool.name for pool in draft.spec.pools], list(adjustable_checks())
    for field, what, value, known in (
        ("pool", "no pool has this name", each.pool, pools),
        ("check", "no check with this name has a threshold", each.check, checks),
    ):
        if value not in known:
            yield error(
                "validation.accepted",
                (*at, field),
                what,
                given=value,
                allowed=", ".join(known),
                fix=nearest_fix(value, known, (*at, field), Fix.remove(at)),
            )
    if not each.reason.strip():
        yield error(
            "validation.accepted",
            (*at, "reason"),
            "the lower threshold has no reason",
            given="blanks",
            allowed="a sentence",
            fix=Fix(message="write a reason, or remove it", at=at),
        )


def _of_pool(
    draft: Draft, at: Path, each: AcceptedThresholdSpec, check: PoolCheck
) -> Iterator[Diagnostic]:
    pool, known = draft.valid_pools[each.pool], adjustable_checks()[each.check]
    gpu = pool.machine.gpu
    product, linked = (gpu.product, gpu.nvlink_gbps) if gpu else ("", 0)
    nodes = 1 if check.single_node_reason else check.nodes
    inside = "nvlink" if linked else "pcie"
    way = check.transport if nodes > 1 else inside
    minimum = known.threshold_of(product, pool.machine.gpus, nodes, way)
    if minimum is not None and each.value >= minimum.value:
        lower = round(_NOT_LOWER * minimum.value, 1)
        yield error(
            "validation.accepted",
            (*at, "value"),
            f"the threshold of {each.check} on {each.pool} is not higher than this value",
            given=f"{each.value:g} {known.unit}",
            allowed=f"less than {minimum.value:g} {known.unit} ({minimum.source_text})",
            fix=Fix(message=f"remove it, or write a lower value, such as {lower:g}", at=at),
        )
    elif draft.validation is not None and (why := _skip_reason(draft.validation, check, known)):
        message = f"the accepted threshold of {each.check} on {each.pool} has no effect: {why}"
        yield info("validation.deferred", at, message)


def _skip_reason(plan: ValidationPlan, check: PoolCheck, known: AdjustableCheck) -> str:
    """Why the check does not run on the pool; empty if it runs."""
    if not plan.image:
        return "no validation image is configured"
    if check.skip_reason:
        return check.skip_reason
    if not known.runs_under_load:
        return ""
    if check.idle:
        return check.idle
    soaks = plan.profile == ValidationProfile.SOAK.value
    return "only the profile soak runs this check" if known.runs_in_soak and not soaks else ""
