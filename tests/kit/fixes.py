"""Applies the fix of a finding to its value, as an editor would."""

from typing import Any

from gpuyard.plan import plan
from gpuyard.spec.read import read_platform
from gpuyard_core.findings import Diagnostic, Severity
from proofs import applied


def refusals(raw: Any) -> list[Diagnostic]:
    """The findings that reject a well-formed raw value."""
    reading = read_platform(raw)
    assert reading.spec is not None, [str(f) for f in reading.findings]
    return [f for f in plan(reading.spec)[1] if f.severity is Severity.ERROR]


def check_fix(raw: Any, finding: Diagnostic) -> None:
    """Applying the fix removes the finding, and adds no other rejection.

    A rejected pool hides errors of its users and its own, and an unknown pool hides what the shape lacks there, or
    that it holds less than the team needs: these may appear. So may a budget that counts the nodes of either, and
    a missing quota for a shape that could not start at all.
    """
    if finding.fix is None or finding.fix.at is None:
        return
    before = {(f.id, f.path) for f in refusals(raw)}
    after = {(f.id, f.path): f for f in refusals(applied(raw, finding.fix))}
    assert (finding.id, finding.path) not in after, str(finding)
    new = [f for key, f in after.items() if key not in before]
    if finding.id == "shape.cannot_start":
        new = [f for f in new if (f.id, f.path) != ("shape.no_quota", finding.path)]
        # a shape that fits no pool spans no zones of one
        new = [f for f in new if f.id != "fabric.zones"]
    if finding.id == "pool.duplicate":  # two pools of one name are not checked further
        new = [f for f in new if f.path[0] != "pools"]
    if finding.path[0] == "pools":
        new = [f for f in new if f.path[0] == "pools" and f.path[1] != finding.path[1]]
        # without a machine, a pool's reservation cannot be compared with it
        new = [f for f in new if f.id != "capacity.reservation_twice"]
    if finding.id == "shape.unknown_pool":
        new = [f for f in new if f.path != finding.path[:2]]
    if finding.id in {"quota.unknown_pool", "quota.unit"}:
        new = [f for f in new if f.path[0] != "teams" and f.id != "shape.no_quota"]
    if finding.id == "team.duplicate":  # by its new name it owns no pools, here or there
        new = [f for f in new if f.path[:2] != finding.path[:2] and f.path[2:3] != ("owners",)]
    if finding.path[2:3] == (
        "sharing",
    ):  # the pool now has counted GPUs, and another pool's are claimed
        new = [f for f in new if f.id != "dra.mixed"]
    if finding.path[0] == "system":
        new = [f for f in new if f.id != "budget.worst"]
    assert new == [], (str(finding), [str(f) for f in new])
