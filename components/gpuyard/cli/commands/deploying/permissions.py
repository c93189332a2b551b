"""`gpuyard permissions`: the least privileges for deploying a stack."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpuyard.cli.exit_codes import OK
from gpuyard.cli.options import Format, FormatOption, StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.terminal.console import results, write
from gpuyard.cli.views.documents import as_json
from gpuyard.cli.views.findings import document, reject
from gpuyard.errors import UsageError

if TYPE_CHECKING:
    from gpuyard.plan.records import PlatformPlan
    from gpuyard.stack_validation import ValidatedStack

_DIGITS = 12


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
    if judged.plan.cloud.value not in {"aws", "gcp"}:
        raise UsageError(
            f"{judged.file}: cloud {judged.plan.cloud.value} creates no AWS or Google Cloud"
            " resources, so it needs no permissions there."
        )
    _write(judged, judged.plan, account or "*", format)
    return OK


def _write(judged: "ValidatedStack", plan: "PlatformPlan", account: str, format_: Format) -> None:
    from gpuyard.cli.views import permissions as views
    from gpuyard.render.permissions.of_plan import aws_permissions, gcp_permissions

    if plan.cloud.value == "aws":
        policies = aws_permissions(plan, account)
        if format_ is Format.TEXT:
            views.show_aws(plan.name, policies, results())
            return
        shown = views.aws_document(plan.name, policies)
    else:
        roles = gcp_permissions(plan)
        if format_ is Format.TEXT:
            views.show_gcp(roles, results())
            return
        shown = views.gcp_document(roles)
    write(as_json(document("permissions", judged, cloud=plan.cloud.value, **shown)))
