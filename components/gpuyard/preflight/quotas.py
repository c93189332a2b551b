"""A quota of an account against what a plan takes of it."""

from collections.abc import Iterable
from typing import Any

from gpuyard.findings import Fix, refuse, warn
from gpuyard.preflight.asking import Heard, Unasked
from gpuyard.preflight.places import heard_of
from gpuyard.preflight.wants import Want


def judge_quota(want: Want, name: str, free: float, ask: str) -> Heard:
    """A quota against what the plan takes of it."""
    if want.most <= free:
        return heard_of(said=f"{name}: {free:g}, and {want.what} take {want.most} at most")
    given = f"{want.what}: {want.floor} from the first day, {want.most} at most"
    instead = f", or {want.instead}" if want.instead else ""
    fix = Fix(says=f"ask for {want.most - free:g} more{instead}: {ask}")
    if want.floor > free:
        problem = f"the account's quota is too small for {want.always}: {name}"
        return heard_of(
            refuse("live.quota", want.path, problem, given=given, allowed=f"{free:g}", fix=fix)
        )
    problem = f"the account's quota is smaller than the plan at its largest: {name}"
    return heard_of(
        warn("live.quota", want.path, problem, given=given, allowed=f"{free:g}", fix=fix)
    )


def google_heard(
    wants: Iterable[Want], quotas: list[Any] | None, *, deployed: bool, whose: str, place: str = ""
) -> Heard | None:
    """A list of Google's: what is used takes from it, but for the platform's own once that is deployed."""
    if quotas is None:
        return None
    there = {str(each.get("metric")): each for each in quotas}
    heard = Heard()
    for want in wants:
        metric = next((name for name in want.quotas if name in there), None)
        limit, usage = (there[metric].get(key) if metric else None for key in ("limit", "usage"))
        if (
            metric is None
            or not isinstance(limit, int | float)
            or not isinstance(usage, int | float)
        ):
            why = f"the {whose}'s list has no {' or '.join(want.quotas) or 'quota that we know'}"
            heard += Heard(unasked=(Unasked(f"quota for {want.what}", why, ours=True),))
            continue
        others = 0 if deployed else usage
        ask = f"IAM & Admin, Quotas: {metric}{place}, {others + want.most:g}"
        said = f"{metric} ({usage:g} of {limit:g} are used)"
        heard += judge_quota(want, said, limit - others, ask)
    return heard
