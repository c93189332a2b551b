"""Brakes for a bad day: what is stopped, said loudly, because a brake is easily forgotten.

Nothing else of a plan depends on them: the same guarantees hold again as soon as a brake is released.
"""

from typing import Literal

from gpuyard.findings import Finding, Fix, Path, warn
from gpuyard.plan.draft import Draft
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import Stop, Team

_WORDS = {
    Stop.HOLD: "no job of {whose} starts, what runs goes on",
    Stop.DRAIN: "no job of {whose} starts, and what runs is evicted",
}


def stop_of(spec: PlatformSpec, team: Team) -> Stop | Literal[""]:
    """The stronger of the platform's brake and the team's; "" for none."""
    asked = {spec.queueing.stop, team.stop}
    for stop in (Stop.DRAIN, Stop.HOLD):
        if stop in asked:
            return stop
    return ""


def check_stops(draft: Draft) -> list[Finding]:
    """Every brake that is on."""
    spec = draft.spec
    findings: list[Finding] = []
    if spec.queueing.stop:
        what = _WORDS[spec.queueing.stop].format(whose="any team")
        findings.append(_active(("queueing", "stop"), what, spec.queueing.stop.value))
    for index, pool in enumerate(spec.pools):
        if pool.stop:
            what = f"no job starts in pool {pool.name}, what runs there goes on"
            findings.append(_active(("pools", index, "stop"), what, pool.stop.value))
    for index, team in enumerate(spec.teams):
        if team.stop:
            what = _WORDS[team.stop].format(whose=f"team {team.name}")
            findings.append(_active(("teams", index, "stop"), what, team.stop.value))
    return findings


def _active(path: Path, what: str, given: str) -> Finding:
    return warn(
        "stop.active",
        path,
        f"stopped: {what}",
        given=given,
        allowed="no stop, once the emergency is over",
        fix=Fix(says="remove it, and queues go on where they stood", at=path),
    )
