"""Entries that give more access than they seem to: groups, PriorityClasses and CSI drivers."""

from collections.abc import Iterator, Sequence

from gpuyard.plan.draft import Draft
from gpuyard.spec.sections import Admission
from gpuyard_core.catalogue.kubernetes.api import (
    EPHEMERAL_DRIVERS,
    MUTATES_SINCE,
    SYSTEM_CLASSES,
    changes_jobs,
)
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard_core.findings import Diagnostic, Fix, Path, error, warning
from gpuyard_core.names import CLASS_LABEL, UNLABELLED_CLASS

_SYSTEM = "system:"
_ACCOUNTS_OF = "system:serviceaccounts:"


def check_groups(draft: Draft) -> Iterator[Diagnostic]:
    """Reject groups that contain all users, or service accounts of the whole cluster."""
    for index, team in enumerate(draft.spec.teams):
        for field, groups in (("groups", team.groups), ("viewers", team.viewers)):
            if results := [group for group in groups if _is_of_all(group)]:
                path = ("teams", index, field)
                yield _group_of_all(team.name, path, groups, results)


def _is_of_all(group: str) -> bool:
    of_one_namespace = group.startswith(_ACCOUNTS_OF) and group != _ACCOUNTS_OF
    return group.startswith(_SYSTEM) and not of_one_namespace


def _group_of_all(
    team: str, path: Path, groups: Sequence[str], results: Sequence[str]
) -> Diagnostic:
    return error(
        "team.group_of_all",
        path,
        f"Kubernetes assigns groups named {_SYSTEM}… to anonymous users, all authenticated users, all"
        f" service accounts or admins: they would be members of {team}",
        given=", ".join(results),
        allowed=f"groups of your identity provider, and {_ACCOUNTS_OF}NAMESPACE",
        fix=_without(path, groups, results),
    )


def check_admission(draft: Draft) -> Iterator[Diagnostic]:
    """PriorityClasses of system components, drivers that mount any address, and class labels that no policy can set."""
    admission = draft.spec.admission or Admission()
    classes = [each for each in admission.priority_classes if each in SYSTEM_CLASSES]
    drivers = [each for each in admission.csi_drivers if each in EPHEMERAL_DRIVERS]
    if classes:
        path: Path = ("admission", "priority_classes")
        yield error(
            "admission.system_class",
            path,
            "pods of this class preempt pods of every team and of the cluster, and bypass every queue",
            given=", ".join(classes),
            allowed="PriorityClasses of your own",
            fix=_without(path, admission.priority_classes, classes),
        )
    if drivers:
        path = ("admission", "csi_drivers")
        yield warning(
            "admission.any_address",
            path,
            "without a claim, this driver mounts any address that a pod names: the node connects to it, so"
            " the team's network policy does not apply",
            given=", ".join(drivers),
            allowed="drivers that mount volumes which an admin has defined; claims need no entry",
            fix=_without(path, admission.csi_drivers, drivers),
        )
    kubernetes = draft.spec.kubernetes
    if admission.set_classes and kubernetes in KUBERNETES_MINORS and not changes_jobs(kubernetes):
        yield warning(
            "admission.classes",
            ("admission", "set_classes"),
            f"Kubernetes {kubernetes} cannot label workloads: class {UNLABELLED_CLASS} gets the cost of"
            f" workloads without the label {CLASS_LABEL}",
            given="true",
            allowed=f"Kubernetes 1.{MUTATES_SINCE} or newer, or no field",
            fix=Fix(message=f"upgrade to 1.{MUTATES_SINCE}, or set the label on every workload"),
        )


def _without(path: Path, prefixes: Sequence[str], results: Sequence[str]) -> Fix:
    others = [each for each in prefixes if each not in results]
    return Fix(message=f"remove {', '.join(results)}", at=path, value=others)
