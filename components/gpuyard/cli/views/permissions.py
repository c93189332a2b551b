"""Permissions, as text and as documents for `aws` and `gcloud`."""

from typing import Any

from gpuyard.render.permissions.policies import AwsPermissions, Statement, size_of
from gpuyard.render.permissions.roles import GcpPermissions
from gpuyard_core.terminal.console import Console
from gpuyard_core.terminal.text import pluralize

_FIRST = 6
_WHY = {
    "Look": "actions that IAM allows only on all resources",
    "Make": "resources that the stack creates, only with its tag",
    "Tag": "tags of resources at creation",
    "Keep": "resources with the stack's tag",
    "Named": "resources by name",
    "Beside": "resources that exist outside the stack, or do not support tags",
    "Attach": "only these policies, only to these roles",
    "Pass": "roles passed to a service",
    "Link": "service-linked roles, created once in an account",
    "Launch": "EKS validates a node group's launch template with your permissions",
}
AWS_NOTES = (
    "Without --account the account in an ARN is *: a policy still applies only to its own account.",
    "The identity that creates an EKS cluster is its administrator, unless cluster.admins is set: then include it there.",
    "Permissions for the Pulumi state backend and for sign-in are not included.",
)
GCP_NOTES = (
    "iam.serviceAccounts.actAs applies to every service account of the project: use a separate project for the platform.",
    "Permissions for the Pulumi state backend and for sign-in are not included.",
)


def permissions_document(name: str, allowed: AwsPermissions | GcpPermissions) -> dict[str, Any]:
    """The permissions in the format of the cloud's CLI."""
    if isinstance(allowed, AwsPermissions):
        return _aws_document(name, allowed)
    return _gcp_document(allowed)


def show_permissions(name: str, allowed: AwsPermissions | GcpPermissions, console: Console) -> None:
    """Show every permission with its reason, and notes."""
    if isinstance(allowed, AwsPermissions):
        _show_aws(name, allowed, console)
    else:
        _show_gcp(allowed, console)


# ── AWS ───────────────────────────────────────────────────────────────────────────────────────────
def _aws_document(name: str, allowed: AwsPermissions) -> dict[str, Any]:
    """Policies by name, in the format of `aws iam create-policy`."""
    policies = [
        {"name": _policy_name(name, number), "characters": size_of(each), "document": each}
        for number, each in enumerate(allowed.documents, start=1)
    ]
    return {"policies": policies, "notes": list(AWS_NOTES)}


def _policy_name(name: str, number: int) -> str:
    return f"gpuyard-{name}-{number}"


def _show_aws(name: str, allowed: AwsPermissions, console: Console) -> None:
    """Show every statement with its reason, the number of policies, and notes."""
    for each in allowed.statements:
        _show_statement(each, console)
    console.print()
    policies = _aws_document(name, allowed)["policies"]
    sizes = " and ".join(f"{each['characters']:,}" for each in policies)
    console.print_wrapped(
        f"{pluralize(len(allowed.actions), 'action')} in {pluralize(len(policies), 'policy', 'policies')}"
        f" ({sizes} of 6,144 characters); --format json prints them"
    )
    _show_notes(AWS_NOTES, console)


def _show_statement(each: Statement, console: Console) -> None:
    console.title(each.sid, _WHY[each.what])
    console.print_wrapped(", ".join(each.actions), indent=2)
    console.print_wrapped(", ".join(each.arns), first="on".ljust(_FIRST), style="dim", indent=2)
    for operator, key, values in each.condition:
        text = f"{key} {operator} {', '.join(values)}"
        console.print_wrapped(text, first="if".ljust(_FIRST), style="dim", indent=2)


# ── Google Cloud ────────────────────────────────────────────────────────────────────────────────────────
def _gcp_document(allowed: GcpPermissions) -> dict[str, Any]:
    """Roles in the format of `gcloud iam roles create`, their bindings, and the required APIs."""
    return {
        "roles": [{"id": each.role_id, "definition": each.tree} for each in allowed.roles],
        "bindings": [
            {"role": each.role, "condition": each.condition or None, "why": each.why}
            for each in allowed.bindings
        ],
        "apis": list(allowed.apis),
        "notes": list(GCP_NOTES),
    }


def _show_gcp(allowed: GcpPermissions, console: Console) -> None:
    """Show every custom role, every binding with its condition, the APIs, and notes."""
    for role in allowed.roles:
        console.title(
            role.role_id, f"custom role, {pluralize(len(role.permissions), 'permission')}"
        )
        console.print_wrapped(", ".join(role.permissions), indent=2)
    console.title("bindings", "of the deployer, in the project")
    for each in allowed.bindings:
        console.print_wrapped(f"{each.role}: {each.why}", indent=2)
        if each.condition:
            console.print_wrapped(each.condition, first="if".ljust(_FIRST), style="dim", indent=4)
    console.title("APIs", "that must be enabled")
    console.print_wrapped(", ".join(allowed.apis), indent=2)
    _show_notes(GCP_NOTES, console)


def _show_notes(notes: tuple[str, ...], console: Console) -> None:
    console.print()
    for note in notes:
        console.print_wrapped(note, first="note".ljust(_FIRST), style="dim")
