"""Sections that have no effect yet: the names in them must exist all the same."""

from collections.abc import Iterable

from gpuyard.findings import Diagnostic, Fix, Path, error, format_list
from gpuyard.plan.draft import Draft
from gpuyard.spec.suggestions import nearest_name


def check_services(draft: Draft) -> list[Diagnostic]:
    """A service runs in a namespace of an existing team, each replica as an existing shape."""
    spec = draft.spec
    teams, shapes = [t.name for t in spec.teams], [s.name for s in spec.shapes]
    findings: list[Diagnostic] = []
    for index, service in enumerate(spec.workloads.services if spec.workloads else ()):
        path: Path = ("workloads", "services", index)
        if service.team not in teams:
            findings.append(_unknown("team", service.team, teams, (*path, "team")))
        if service.shape not in shapes:
            findings.append(_unknown("shape", service.shape, shapes, (*path, "shape")))
    return findings


def _unknown(what: str, name: str, known: Iterable[str], path: Path) -> Diagnostic:
    suggestion = nearest_name(name, known)
    return error(
        "workloads.unknown",
        path,
        f"no {what} has this name",
        given=name,
        allowed=format_list(known) or f"a {what} under `{what}s`",
        fix=Fix(message=f"write {suggestion}", at=path, value=suggestion)
        if suggestion
        else Fix(message=f"add the {what}"),
    )


def check_targets(draft: Draft) -> list[Diagnostic]:
    """Waits are measured by priority, so each target must name an existing one."""
    known = draft.spec.priorities
    targets = draft.spec.targets
    return [
        error(
            "targets.priority",
            ("targets", "wait_p95_minutes", name),
            "no priority has this name",
            given=name,
            allowed=format_list(known) or "a name under `priorities`",
            fix=Fix(
                message="remove it, or add it under `priorities`",
                at=("targets", "wait_p95_minutes", name),
            ),
        )
        for name in (targets.wait_p95_minutes if targets else ())
        if name not in known
    ]
