"""What opens a team's namespace wider than its stack file seems to: groups, PriorityClasses, CSI drivers."""

from collections.abc import Sequence

from gpuyard.catalogue.kubernetes.privileged_defaults import EPHEMERAL_DRIVERS, SYSTEM_CLASSES
from gpuyard.findings import Finding, Fix, Path, error, warning
from gpuyard.plan.draft import Draft
from gpuyard.spec.sections import Admission

_SYSTEM = "system:"
_ACCOUNTS_OF = "system:serviceaccounts:"


def check_groups(draft: Draft) -> list[Finding]:
    """Refuse groups that hold everybody, or the cluster's own programs."""
    findings: list[Finding] = []
    for index, team in enumerate(draft.spec.teams):
        for field, groups in (("groups", team.groups), ("viewers", team.viewers)):
            results = [group for group in groups if _is_of_all(group)]
            if results:
                path = ("teams", index, field)
                findings.append(_group_of_all(team.name, path, groups, results))
    return findings


def _is_of_all(group: str) -> bool:
    of_one_namespace = group.startswith(_ACCOUNTS_OF) and group != _ACCOUNTS_OF
    return group.startswith(_SYSTEM) and not of_one_namespace


def _group_of_all(team: str, path: Path, groups: Sequence[str], results: Sequence[str]) -> Finding:
    return error(
        "team.group_of_all",
        path,
        f"Kubernetes itself fills groups named {_SYSTEM}…, with anonymous callers, all who have signed in,"
        f" all service accounts, or admins: they would be members of {team}",
        value=", ".join(results),
        allowed=f"groups of your identity provider, and {_ACCOUNTS_OF}NAMESPACE",
        fix=_without(path, groups, results),
    )


def check_admission(draft: Draft) -> list[Finding]:
    """PriorityClasses of the cluster's own programs, and drivers that mount what a pod names."""
    admission = draft.spec.admission or Admission()
    classes = [each for each in admission.priority_classes if each in SYSTEM_CLASSES]
    drivers = [each for each in admission.csi_drivers if each in EPHEMERAL_DRIVERS]
    findings: list[Finding] = []
    if classes:
        path: Path = ("admission", "priority_classes")
        findings.append(
            error(
                "admission.system_class",
                path,
                "pods of this class evict pods of every team and of the cluster, past every queue",
                value=", ".join(classes),
                allowed="PriorityClasses of your own",
                fix=_without(path, admission.priority_classes, classes),
            )
        )
    if drivers:
        path = ("admission", "csi_drivers")
        findings.append(
            warning(
                "admission.any_address",
                path,
                "without a claim this driver mounts whatever address a pod names: the node does it, past the"
                " network policy of the team",
                value=", ".join(drivers),
                allowed="drivers that mount what an admin has described; claims need none to be listed",
                fix=_without(path, admission.csi_drivers, drivers),
            )
        )
    return findings


def _without(path: Path, prefixes: Sequence[str], results: Sequence[str]) -> Fix:
    others = [each for each in prefixes if each not in results]
    return Fix(message=f"remove {', '.join(results)}", at=path, value=others)
