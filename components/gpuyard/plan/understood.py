"""Sections that nothing is made of yet: what they name must be there all the same."""

from collections.abc import Iterable, Mapping

from gpuyard.findings import Finding, Fix, Path, listed, refuse, warn
from gpuyard.plan.draft import Draft
from gpuyard.spec.nearest import nearest
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import DatasetKind

_SOLD_BY: Mapping[DatasetKind, Cloud] = {
    DatasetKind.EFS: Cloud.AWS,
    DatasetKind.FSX_LUSTRE: Cloud.AWS,
    DatasetKind.FILESTORE: Cloud.GCP,
    DatasetKind.MANAGED_LUSTRE: Cloud.GCP,
}
"""Any other kind is there wherever somebody made it."""


def check_services(draft: Draft) -> list[Finding]:
    """A service runs in the namespace of a team, and each replica of it is a shape."""
    spec = draft.spec
    teams, shapes = [t.name for t in spec.teams], [s.name for s in spec.shapes]
    findings: list[Finding] = []
    for index, service in enumerate(spec.workloads.services if spec.workloads else ()):
        path: Path = ("workloads", "services", index)
        if service.team not in teams:
            findings.append(_unknown("team", service.team, teams, (*path, "team")))
        if service.shape not in shapes:
            findings.append(_unknown("shape", service.shape, shapes, (*path, "shape")))
    return findings


def _unknown(what: str, name: str, known: Iterable[str], path: Path) -> Finding:
    near = nearest(name, known)
    return refuse(
        "workloads.unknown",
        path,
        f"no {what} of that name",
        given=name,
        allowed=listed(known) or f"a {what} under `{what}s`",
        fix=Fix(says=f"write {near}", at=path, value=near) if near else Fix(says=f"add the {what}"),
    )


def check_targets(draft: Draft) -> list[Finding]:
    """Waiting is measured by priority; of one that nobody has there is nothing to measure."""
    known = draft.spec.priorities
    targets = draft.spec.targets
    return [
        refuse(
            "targets.priority",
            ("targets", "wait_p95_minutes", name),
            "no priority of that name",
            given=name,
            allowed=listed(known) or "a name under `priorities`",
            fix=Fix(
                says="remove it, or add it under `priorities`",
                at=("targets", "wait_p95_minutes", name),
            ),
        )
        for name in (targets.wait_p95_minutes if targets else ())
        if name not in known
    ]


def check_storage(draft: Draft) -> list[Finding]:
    """A file system of the cloud that the platform is on, or a class with its name."""
    cloud, storage = draft.spec.cloud, draft.spec.storage
    data = storage.datasets if storage else None
    if data is None:
        return []
    if data.kind is DatasetKind.CLASS and data.class_name is None:
        return [
            _kind(
                "a storage class needs its name",
                "kind: class with class_name: NAME",
                "add class_name",
            )
        ]
    seller = _SOLD_BY.get(data.kind)
    if seller in {None, cloud} or cloud is Cloud.SIMULATED:
        return []
    kinds = [kind.value for kind, sold_by in _SOLD_BY.items() if sold_by is cloud]
    allowed = ", ".join([*kinds, DatasetKind.CLASS.value])
    return [
        _kind(f"{data.kind.value} is not to be had on {cloud.value}", allowed, "write one of these")
    ]


def _kind(problem: str, allowed: str, fix: str) -> Finding:
    path = ("storage", "datasets", "kind")
    return refuse("storage.kind", path, problem, allowed=allowed, fix=Fix(says=fix))


def check_consent(draft: Draft) -> list[Finding]:
    """Consent is to one plan that drains nodes; no plan of today does, so none has printed a digest."""
    if draft.spec.consent is None:
        return []
    return [
        warn(
            "consent.unprinted",
            ("consent",),
            "no plan printed this digest: none drains nodes or cuts them anew, so it consents to nothing",
            given=draft.spec.consent,
            allowed="no consent, until a plan asks for it",
            fix=Fix(says="remove it", at=("consent",)),
        )
    ]
