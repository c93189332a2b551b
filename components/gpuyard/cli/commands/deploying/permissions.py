"""`gpuyard permissions`: the least privileges for deploying a stack."""

from typing import Annotated

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.findings import document, reject
from gpuyard_core.errors import UsageError
from gpuyard_core.terminal.console import results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import OK
from gpuyard_core.terminal.options import Format, FormatOption

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
    from gpuyard.cli.views.permissions import permissions_document, show_permissions

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
    if format is Format.TEXT:
        show_permissions(judged.plan.name, allowed, results())
    else:
        shown = permissions_document(judged.plan.name, allowed)
        write(as_json(document("permissions", judged, cloud=judged.plan.cloud.value, **shown)))
    return OK
