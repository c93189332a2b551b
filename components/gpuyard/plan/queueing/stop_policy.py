"""Stop policies for emergencies: each active one is a warning, because it is easily forgotten.

Nothing else of a plan depends on them: the same guarantees apply again once a stop policy is removed.
"""

from typing import Literal

from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import StopPolicy, Team
from gpuyard_core.findings import Diagnostic, Fix, Path, warning

_WORDS = {
    StopPolicy.HOLD: "no job of {whose} starts; running jobs continue",
    StopPolicy.DRAIN: "no job of {whose} starts; running jobs are evicted",
}


def stop_policy(spec: PlatformSpec, team: Team) -> StopPolicy | Literal[""]:
    """The stricter of the platform's stop policy and the team's; "" for none."""
    policies = {spec.queueing.stop_policy, team.stop_policy}
    for stop in (StopPolicy.DRAIN, StopPolicy.HOLD):
        if stop in policies:
            return stop
    return ""


def check_stop_policies(draft: Draft) -> list[Diagnostic]:
    """Warn of every active stop policy."""
    spec = draft.spec
    findings: list[Diagnostic] = []
    if spec.queueing.stop_policy:
        what = _WORDS[spec.queueing.stop_policy].format(whose="any team")
        findings.append(_active(("queueing", "stop_policy"), what, spec.queueing.stop_policy.value))
    for index, pool in enumerate(spec.pools):
        if pool.stop_policy:
            what = f"no job starts in pool {pool.name}; running jobs continue"
            findings.append(_active(("pools", index, "stop_policy"), what, pool.stop_policy.value))
    for index, team in enumerate(spec.teams):
        if team.stop_policy:
            what = _WORDS[team.stop_policy].format(whose=f"team {team.name}")
            findings.append(_active(("teams", index, "stop_policy"), what, team.stop_policy.value))
    return findings


def _active(path: Path, what: str, value: str) -> Diagnostic:
    return warning(
        "stop.active",
        path,
        f"stopped: {what}",
        given=value,
        allowed="no stop_policy, once the emergency is over",
        fix=Fix(message="remove it, and queues continue", at=path),
    )
