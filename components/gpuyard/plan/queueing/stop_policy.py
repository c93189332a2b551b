"""Brakes for a bad day: what is stopped, said loudly, because a brake is easily forgotten.

Nothing else of a plan depends on them: the same guarantees hold again as soon as a brake is released.
"""

from typing import Literal

from gpuyard.findings import Finding, Fix, Path, warning
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import Stop, Team

_WORDS = {
    Stop.HOLD: "no job of {whose} starts, what runs goes on",
    Stop.DRAIN: "no job of {whose} starts, and what runs is evicted",
}


def stop_policy(spec: PlatformSpec, team: Team) -> Stop | Literal[""]:
    """The stronger of the platform's brake and the team's; "" for none."""
    policies = {spec.queueing.stop_policy, team.stop_policy}
    for stop in (Stop.DRAIN, Stop.HOLD):
        if stop in policies:
            return stop
    return ""


def check_stop_policies(draft: Draft) -> list[Finding]:
    """Every brake that is on."""
    spec = draft.spec
    findings: list[Finding] = []
    if spec.queueing.stop_policy:
        what = _WORDS[spec.queueing.stop_policy].format(whose="any team")
        findings.append(_active(("queueing", "stop_policy"), what, spec.queueing.stop_policy.value))
    for index, pool in enumerate(spec.pools):
        if pool.stop_policy:
            what = f"no job starts in pool {pool.name}, what runs there goes on"
            findings.append(_active(("pools", index, "stop_policy"), what, pool.stop_policy.value))
    for index, team in enumerate(spec.teams):
        if team.stop_policy:
            what = _WORDS[team.stop_policy].format(whose=f"team {team.name}")
            findings.append(_active(("teams", index, "stop_policy"), what, team.stop_policy.value))
    return findings


def _active(path: Path, what: str, value: str) -> Finding:
    return warning(
        "stop.active",
        path,
        f"stopped: {what}",
        value=value,
        allowed="no stop, once the emergency is over",
        fix=Fix(message="remove it, and queues go on where they stood", at=path),
    )
