"""Floors that somebody lives below for a while: what the check is told, and what is wrong with one."""

from collections.abc import Iterable, Iterator

from gpuyard.catalogue.cluster.check_thresholds import (
    AdjustableCheck,
    CheckThreshold,
    adjustable_checks,
)
from gpuyard.findings import Finding, Fix, Path, error, info, warning
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import AcceptedThreshold, PoolCheck, PoolPlan, ValidationPlan
from gpuyard.spec.platform import AcceptedThresholdSpec, Profile, ValidationSpec
from gpuyard.spec.suggestions import nearest_name

_NOT_LOWER = 0.9
"""Of the real floor: what a fix writes where more was accepted."""


def adjusted_thresholds(
    validation: ValidationSpec, pools: Iterable[PoolPlan]
) -> tuple[AcceptedThreshold, ...]:
    """What is to be told of these pools. The day on which one is over, the check itself looks at."""
    known, names = adjustable_checks(), {pool.name for pool in pools}
    return tuple(
        AcceptedThreshold(
            pool=each.pool,
            check=each.check,
            value=each.value,
            unit=known[each.check].unit,
            reason=each.reason,
            until=each.until.isoformat(),
            at_work=known[each.check].at_work,
        )
        for each in validation.accepted_thresholds
        if each.pool in names and each.check in known
    )


def check_accepted_thresholds(draft: Draft) -> list[Finding]:
    """Each names a pool and a check, is lower than the real floor, has a reason, and is not over."""
    validation, plan = draft.spec.validation, draft.validation
    if validation is None or plan is None:
        return []
    checks = {each.pool: each for each in plan.pools}
    seen: set[tuple[str, str]] = set()
    results: list[Finding] = []
    for index, each in enumerate(validation.accepted_thresholds):
        at: Path = ("validation", "accepted_thresholds", index)
        wrong = [*_unknown(draft, at, each), *_unreasoned(at, each)]
        if (each.pool, each.check) in seen:
            wrong.append(_duplicates(at, each))
        seen.add((each.pool, each.check))
        if not wrong and (check := checks.get(each.pool)) is not None:
            wrong += _of_pool(draft, at, each, check)
        results += [*wrong, *_over(draft, at, each)]
    return results


def _unknown(draft: Draft, at: Path, each: AcceptedThresholdSpec) -> Iterator[Finding]:
    pools, checks = [pool.name for pool in draft.spec.pools], list(adjustable_checks())
    for field, what, value, known in (
        ("pool", "there is no such pool", each.pool, pools),
        ("check", "no check of that name has a floor to be lowered", each.check, checks),
    ):
        if value not in known:
            suggestion = nearest_name(value, known)
            yield error(
                "validation.accepted",
                (*at, field),
                what,
                value=value,
                allowed=", ".join(known),
                fix=Fix(message=f"write {suggestion}", at=(*at, field), value=suggestion)
                if suggestion
                else Fix(message="take it away", at=at),
            )


def _unreasoned(at: Path, each: AcceptedThresholdSpec) -> Iterator[Finding]:
    if not each.reason.strip():
        yield error(
            "validation.accepted",
            (*at, "reason"),
            "somebody will want to know why less is enough",
            value="blanks",
            allowed="a sentence",
            fix=Fix(message="say why, or take it away", at=at),
        )


def _duplicates(at: Path, each: AcceptedThresholdSpec) -> Finding:
    return error(
        "validation.accepted",
        at,
        f"the floor of {each.check} on {each.pool} is lowered a second time",
        value=f"{each.value:g}",
        allowed="one for each pool and check",
        fix=Fix(message="take it away", at=at),
    )


def _of_pool(
    draft: Draft, at: Path, each: AcceptedThresholdSpec, check: PoolCheck
) -> Iterator[Finding]:
    pool, known = draft.valid_pools[each.pool], adjustable_checks()[each.check]
    floor = _minimum(pool, check, known)
    if floor is not None and each.value >= floor.value:
        lower = round(_NOT_LOWER * floor.value, 1)
        yield error(
            "validation.accepted",
            (*at, "value"),
            f"the floor of {each.check} on {each.pool} is no higher than that",
            value=f"{each.value:g} {known.unit}",
            allowed=f"less than {floor.value:g} {known.unit} ({floor.source_text})",
            fix=Fix(message=f"take it away; or write what is enough, such as {lower:g}", at=at),
        )
    elif draft.validation is not None and (why := _skip_reason(draft.validation, check, known)):
        message = f"the floor that is accepted for {each.check} on {each.pool} is not read: {why}"
        yield info("validation.deferred", at, message)


def _minimum(pool: PoolPlan, check: PoolCheck, known: AdjustableCheck) -> CheckThreshold | None:
    gpu = pool.machine.gpu
    product, linked = (gpu.product, gpu.nvlink_gbps) if gpu else ("", 0)
    nodes = 1 if check.single_node_reason else check.nodes
    inside = "nvlink" if linked else "pcie"
    way = check.transport if nodes > 1 else inside
    return known.threshold_of(product, pool.machine.gpus, nodes, way)


def _skip_reason(plan: ValidationPlan, check: PoolCheck, known: AdjustableCheck) -> str:
    """Why the check is not made there; empty where it is."""
    if not plan.image:
        return "no image is named to check anything in"
    if check.skip_reason:
        return check.skip_reason
    if not known.at_work:
        return ""
    if check.idle:
        return check.idle
    soaks = plan.profile == Profile.SOAK.value
    return "only the profile soak makes that check" if known.runs_in_soak and not soaks else ""


def _over(draft: Draft, at: Path, each: AcceptedThresholdSpec) -> Iterator[Finding]:
    """Without a day none is known to be over."""
    today = draft.today
    if today is None or each.until >= today:
        return
    yield warning(
        "validation.accepted_over",
        at,
        f"the lower floor of {each.check} on {each.pool} was accepted until {each.until}:"
        " nodes are held against the real one again",
        value=str(each.until),
        allowed=f"{today} or later",
        fix=Fix(message="take it away, or say again why and until when", at=at),
    )
