"""A quota of an account against what a plan takes of it."""

from gpuyard.findings import Fix, refuse, warn
from gpuyard.preflight.asking import Heard
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
