"""`gpuyard permissions`: the least privileges for deploying a stack, as text and in the formats of the clouds' CLIs."""

from typing import Annotated, Any

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import reject, write_document
from gpuyard.render.permissions.policies import AwsPermissions, size_of
from gpuyard.render.permissions.roles import GcpPermissions
from gpuyard_core.errors import UsageError
from gpuyard_core.terminal.console import Console, results
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption
from gpuyard_core.terminal.text import pluralize

_DIGITS = 12
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


def permissions(
    stack: StackArgument,
    account: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="AWS account, 12 digits, for the ARNs.",
            show_default=False,
        ),
    ] = "",
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Print the least privileges that deploy a stack. IAM policies on AWS, roles on GCP; queries no cloud."""
    if account and not (len(account) == _DIGITS and account.isascii() and account.isdigit()):
        raise UsageError(f"--account {account}: an AWS account ID has {_DIGITS} digits.")
    judged = validate_stack(stack)
    if judged.plan is None:
        return reject("permissions", judged, format)
    allowed = judged.plan.provider.permissions(judged.plan, account or "*")
    if allowed is None:
        raise UsageError(
            f"{judged.file}: cloud {judged.plan.cloud.value} creates no AWS or Google Cloud"
            " resources, so it needs no permissions there."
        )
    console, is_text = results(), format is Format.TEXT
    if isinstance(allowed, AwsPermissions):
        shown = _aws_document(judged.plan.name, allowed)
        if is_text:
            _show_aws(allowed, console)
    else:
        shown = _gcp_document(allowed)
        if is_text:
            _show_gcp(allowed, console)
    if not is_text:
        write_document("permissions", judged, cloud=judged.plan.cloud.value, **shown)
        return OK
    console.print()
    for note in shown["notes"]:
        console.print_wrapped(note, first="note".ljust(_FIRST), style="dim")
    return OK


def _aws_document(name: str, allowed: AwsPermissions) -> dict[str, Any]:
    """Policies by name, in the format of `aws iam create-policy`."""
    policies = [
        {"name": f"gpuyard-{name}-{number}", "characters": size_of(each), "document": each}
        for number, each in enumerate(allowed.documents, start=1)
    ]
    return {"policies": policies, "notes": list(AWS_NOTES)}


def _show_aws(allowed: AwsPermissions, console: Console) -> None:
    """Show every statement with its reason, and the number of policies."""
    for each in allowed.statements:
        console.title(each.sid, _WHY[each.what])
        console.print_wrapped(", ".join(each.actions), indent=2)
        console.note(", ".join(each.arns), "on".ljust(_FIRST))
        for operator, key, values in each.condition:
            console.note(f"{key} {operator} {', '.join(values)}", "if".ljust(_FIRST))
    console.print()
    sizes = [f"{size_of(each):,}" for each in allowed.documents]
    console.print_wrapped(
        f"{pluralize(len(allowed.actions), 'action')} in {pluralize(len(sizes), 'policy', 'policies')}"
        f" ({' and '.join(sizes)} of 6,144 characters); --format json prints them"
    )


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
    """Show every custom role, every binding with its condition, and the APIs."""
    for role in allowed.roles:
        count = pluralize(len(role.permissions), "permission")
        console.title(role.role_id, f"custom role, {count}")
        console.print_wrapped(", ".join(role.permissions), indent=2)
    console.title("bindings", "of the deployer, in the project")
    for each in allowed.bindings:
        console.print_wrapped(f"{each.role}: {each.why}", indent=2)
        if each.condition:
            console.print_wrapped(each.condition, first="if".ljust(_FIRST), style="dim", indent=4)
    console.title("APIs", "that must be enabled")
    console.print_wrapped(", ".join(allowed.apis), indent=2)
