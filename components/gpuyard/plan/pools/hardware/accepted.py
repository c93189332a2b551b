"""Floors that somebody lives below for a while: what the check is told, and what is wrong with one."""

from collections.abc import Iterable, Iterator

from gpuyard.catalogue.cluster.check_floors import CheckFloor, LoweredCheck, lowered_checks
from gpuyard.findings import Finding, Fix, Path, note, refuse, warn
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import LoweredFloor, PoolCheck, PoolPlan, ValidationPlan
from gpuyard.spec.nearest import nearest
from gpuyard.spec.platform import AcceptedFloor, Profile, ValidationSpec

_NOT_LOWER = 0.9
"""Of the real floor: what a fix writes where more was accepted."""


def lowered_of(asked: ValidationSpec, pools: Iterable[PoolPlan]) -> tuple[LoweredFloor, ...]:
    """What is to be told of these pools. The day on which one is over, the check itself looks at."""
    known, names = lowered_checks(), {pool.name for pool in pools}
    return tuple(
        LoweredFloor(
            pool=each.pool,
            check=each.check,
            value=each.value,
            unit=known[each.check].unit,
            reason=each.reason,
            until=each.until.isoformat(),
            at_work=known[each.check].at_work,
        )
        for each in asked.accepted
        if each.pool in names and each.check in known
    )


def check_accepted(draft: Draft) -> list[Finding]:
    """Each names a pool and a check, is lower than the real floor, has a reason, and is not over."""
    asked, plan = draft.spec.validation, draft.validation
    if asked is None or plan is None:
        return []
    checks = {each.pool: each for each in plan.pools}
    seen: set[tuple[str, str]] = set()
    found: list[Finding] = []
    for index, each in enumerate(asked.accepted):
        at: Path = ("validation", "accepted", index)
        wrong = [*_unknown(draft, at, each), *_unreasoned(at, each)]
        if (each.pool, each.check) in seen:
            wrong.append(_twice(at, each))
        seen.add((each.pool, each.check))
        if not wrong and (check := checks.get(each.pool)) is not None:
            wrong += _of_pool(draft, at, each, check)
        found += [*wrong, *_over(draft, at, each)]
    return found


def _unknown(draft: Draft, at: Path, each: AcceptedFloor) -> Iterator[Finding]:
    pools, checks = [pool.name for pool in draft.spec.pools], list(lowered_checks())
    for field, what, given, known in (
        ("pool", "there is no such pool", each.pool, pools),
        ("check", "no check of that name has a floor to be lowered", each.check, checks),
    ):
        if given not in known:
            near = nearest(given, known)
            yield refuse(
                "validation.accepted",
                (*at, field),
                what,
                given=given,
                allowed=", ".join(known),
                fix=Fix(says=f"write {near}", at=(*at, field), value=near)
                if near
                else Fix(says="take it away", at=at),
            )


def _unreasoned(at: Path, each: AcceptedFloor) -> Iterator[Finding]:
    if not each.reason.strip():
        yield refuse(
            "validation.accepted",
            (*at, "reason"),
            "somebody will want to know why less is enough",
            given="blanks",
            allowed="a sentence",
            fix=Fix(says="say why, or take it away", at=at),
        )


def _twice(at: Path, each: AcceptedFloor) -> Finding:
    return refuse(
        "validation.accepted",
        at,
        f"the floor of {each.check} on {each.pool} is lowered a second time",
        given=f"{each.value:g}",
        allowed="one for each pool and check",
        fix=Fix(says="take it away", at=at),
    )


def _of_pool(draft: Draft, at: Path, each: AcceptedFloor, check: PoolCheck) -> Iterator[Finding]:
    pool, known = draft.sound[each.pool], lowered_checks()[each.check]
    floor = _floor(pool, check, known)
    if floor is not None and each.value >= floor.value:
        lower = round(_NOT_LOWER * floor.value, 1)
        yield refuse(
            "validation.accepted",
            (*at, "value"),
            f"the floor of {each.check} on {each.pool} is no higher than that",
            given=f"{each.value:g} {known.unit}",
            allowed=f"less than {floor.value:g} {known.unit} ({floor.said})",
            fix=Fix(says=f"take it away; or write what is enough, such as {lower:g}", at=at),
        )
    elif draft.validation is not None and (why := _unread(draft.validation, check, known)):
        said = f"the floor that is accepted for {each.check} on {each.pool} is not read: {why}"
        yield note("validation.deferred", at, said)


def _floor(pool: PoolPlan, check: PoolCheck, known: LoweredCheck) -> CheckFloor | None:
    gpu = pool.machine.gpu
    product, linked = (gpu.product, gpu.nvlink_gbps) if gpu else ("", 0)
    nodes = 1 if check.apart else check.nodes
    inside = "nvlink" if linked else "pcie"
    way = check.between if nodes > 1 else inside
    return known.floor_of(product, pool.machine.gpus, nodes, way)


def _unread(plan: ValidationPlan, check: PoolCheck, known: LoweredCheck) -> str:
    """Why the check is not made there; empty where it is."""
    if not plan.image:
        return "no image is named to check anything in"
    if check.lacks:
        return check.lacks
    if not known.at_work:
        return ""
    if check.idle:
        return check.idle
    soaks = plan.profile == Profile.SOAK.value
    return "only the profile soak makes that check" if known.soak and not soaks else ""


def _over(draft: Draft, at: Path, each: AcceptedFloor) -> Iterator[Finding]:
    """Without a day none is known to be over."""
    today = draft.today
    if today is None or each.until >= today:
        return
    yield warn(
        "validation.accepted_over",
        at,
        f"the lower floor of {each.check} on {each.pool} was accepted until {each.until}:"
        " nodes are held against the real one again",
        given=str(each.until),
        allowed=f"{today} or later",
        fix=Fix(says="take it away, or say again why and until when", at=at),
    )
