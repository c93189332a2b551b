"""Targets of the stack file (F7) as facts: shares from 0 to 1, waits in seconds."""

from dataclasses import dataclass

from gpuyard.plan.records import PlatformPlan


@dataclass(frozen=True, slots=True)
class Target:
    """A target: what is measured, its limit, and on which side of the limit it is missed."""

    name: str
    value: float
    is_minimum: bool
    priority: str = ""


def targets(plan: PlatformPlan) -> tuple[Target, ...]:
    """The targets of the stack file."""
    spec = plan.spec.targets
    if spec is None:
        return ()
    found: list[Target] = []
    if spec.utilisation_percent is not None:
        found += [
            Target("utilisation_min", spec.utilisation_percent.low / 100, is_minimum=True),
            Target("utilisation_max", spec.utilisation_percent.high / 100, is_minimum=False),
        ]
    if spec.memory_percent is not None:
        found.append(Target("memory", spec.memory_percent / 100, is_minimum=True))
    if spec.idle_percent is not None:
        found.append(Target("idle", spec.idle_percent / 100, is_minimum=False))
    found += [
        Target("wait_p95", 60.0 * minutes, is_minimum=False, priority=priority)
        for priority, minutes in spec.wait_p95_minutes.items()
    ]
    return tuple(found)
