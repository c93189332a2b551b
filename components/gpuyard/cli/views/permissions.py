"""Permissions as people read them, and as `aws` and `gcloud` take them."""

from typing import TYPE_CHECKING, Any

from gpuyard.cli.terminal.console import Console
from gpuyard.cli.terminal.text import pluralize

if TYPE_CHECKING:
    from gpuyard.render.permissions.of_plan import AwsPermissions
    from gpuyard.render.permissions.policies import Statement
    from gpuyard.render.permissions.roles import GcpPermissions

_FIRST = 6
_WHY = {
    "Look": "AWS knows no resource for these, so they are allowed on all",
    "Make": "what the stack makes, and only with its tag",
    "Tag": "tags of what is being made",
    "Keep": "what carries the stack's tag",
    "Named": "by name",
    "Beside": "what is somebody else's, or can carry no tag",
    "Attach": "these policies to these roles, and no other",
    "Pass": "a role that a service is given",
    "Link": "a role that a service makes for itself, once in an account",
    "Launch": "EKS tries a node group's launch template in your name",
}
AWS_NOTES = (
    "Without --account an ARN has * for it: a policy reaches no other account all the same.",
    "Who makes an EKS cluster without cluster.admins is its administrator. With them, be one of them.",
    "Where Pulumi keeps its state, and what signs you in, is not in here.",
)
GCP_NOTES = (
    "iam.serviceAccounts.actAs reaches every account of the project: give the platform one of its own.",
    "Where Pulumi keeps its state, and what signs you in, is not in here.",
)


# ── AWS ───────────────────────────────────────────────────────────────────────────────────────────
def aws_document(name: str, allowed: "AwsPermissions") -> dict[str, Any]:
    """Policies by name, each as `aws iam create-policy` takes it."""
    from gpuyard.render.permissions.policies import size_of

    policies = [
        {"name": _policy_name(name, number), "characters": size_of(each), "document": each}
        for number, each in enumerate(allowed.documents, start=1)
    ]
    return {"policies": policies, "notes": list(AWS_NOTES)}


def _policy_name(name: str, number: int) -> str:
    return f"gpuyard-{name}-{number}"


def show_aws(name: str, allowed: "AwsPermissions", console: Console) -> None:
    """Every statement with its reason; then how many policies they are, and what else to know."""
    for each in allowed.statements:
        _show_statement(each, console)
    console.print()
    policies = aws_document(name, allowed)["policies"]
    sizes = " and ".join(f"{each['characters']:,}" for each in policies)
    console.print_wrapped(
        f"{pluralize(len(allowed.actions), 'action')} in {pluralize(len(policies), 'policy', 'policies')}"
        f" ({sizes} of 6,144 characters); --format json has them"
    )
    _show_notes(AWS_NOTES, console)


def _show_statement(each: "Statement", console: Console) -> None:
    console.title(each.sid, _WHY[each.what])
    console.print_wrapped(", ".join(each.actions), indent=2)
    console.print_wrapped(", ".join(each.arns), first="on".ljust(_FIRST), style="dim", indent=2)
    for operator, key, values in each.condition:
        text = f"{key} {operator} {', '.join(values)}"
        console.print_wrapped(text, first="if".ljust(_FIRST), style="dim", indent=2)


# ── Google ────────────────────────────────────────────────────────────────────────────────────────
def gcp_document(allowed: "GcpPermissions") -> dict[str, Any]:
    """Roles as `gcloud iam roles create` takes them, what binds them, and the APIs that must be on."""
    return {
        "roles": [{"id": each.role_id, "definition": each.tree} for each in allowed.roles],
        "bindings": [
            {"role": each.role, "condition": each.condition or None, "why": each.why}
            for each in allowed.bindings
        ],
        "apis": list(allowed.apis),
        "notes": list(GCP_NOTES),
    }


def show_gcp(allowed: "GcpPermissions", console: Console) -> None:
    """Every custom role, every binding with its condition, the APIs, and what else to know."""
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
    console.title("APIs", "that must be on")
    console.print_wrapped(", ".join(allowed.apis), indent=2)
    _show_notes(GCP_NOTES, console)


def _show_notes(notes: tuple[str, ...], console: Console) -> None:
    console.print()
    for note in notes:
        console.print_wrapped(note, first="note".ljust(_FIRST), style="dim")
