"""`gpuyard validate`: check the GPUs of this machine against what is expected."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.validator import (
    dump_inventory,
    explain_check,
    installed_gpus,
    record_machine,
    validate_machine,
)
from gpuyard.cli.views.findings import show_rejection, write_document
from gpuyard.render.validation.expectations import expectations_text, unplanned_expectations_text
from gpuyard_core.catalogue.gpus import find_gpu
from gpuyard_core.catalogue.known_issues import KnownIssue, find_known_issue, issues_for_check
from gpuyard_core.errors import EnvironmentMissing, PlanRejected, UsageError
from gpuyard_core.local_files import read_regular, write_file
from gpuyard_core.terminal.console import results, write
from gpuyard_core.terminal.exit_codes import BAD_HARDWARE, OK
from gpuyard_core.terminal.options import Format, FormatOption

SNAPSHOT_BYTES, NODES_BYTES = 4 << 20, 64 << 20
_LOAD = ("load.processes", "load.utilization")
_CUT = ("mig.mode", "mig.geometry")
_COUNT = "gpu.count"


def validate(  # noqa: PLR0913, PLR0917  an option is a parameter
    stack: Annotated[
        str | None,
        typer.Option(help="Validate against a pool of this stack.", show_default=False),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(help="With --stack: pool of this node.", show_default=False),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="SIGN",
            help="Describe a check, or a symptom (xid.79, cuda.802), and run nothing.",
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a snapshot of this machine to a file, and run no check."
        ),
    ] = None,
    snapshot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Validate a snapshot of --record instead of this machine."
        ),
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the machine inventory for the stack file, and run no check.",
        ),
    ] = None,
    nodes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --inventory: output of `kubectl get nodes -o json` for these nodes.",
        ),
    ] = None,
    in_use: Annotated[
        bool, typer.Option("--in-use", help="Skip checks that need an idle machine.")
    ] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Validate this machine's GPUs. Default: against the data sheet of the product.

    Exits with code 8 when a check fails or a required check did not run.
    """
    if explain is not None:
        if issue := find_known_issue(explain):
            write(_known_issue_text(issue))
        else:
            related = issues_for_check(explain)
            rows = [f"    {each.id:<22} {each.meaning} ({each.remedy})" for each in related]
            lines = ["  related symptoms:", *rows] if rows else []
            write(explain_check(explain) + "".join(f"{line}\n" for line in lines))
        return OK
    if (stack is None) is not (pool is None):
        raise UsageError(
            "--stack and --pool must be used together: a machine is a node of one pool."
        )
    if nodes is not None and inventory is None:
        raise UsageError("--nodes needs a machine inventory: add --inventory FILE.")
    machine = _machine(snapshot)
    if inventory is not None:
        listed = None
        if nodes is not None:
            listed = read_regular(nodes, NODES_BYTES, "a node list").decode(errors="replace")
        write_file(inventory, dump_inventory(machine, listed))
        return OK
    if record is not None:
        write_file(record, machine)
        return OK
    expected, left_out = _of_product(machine) if stack is None else (_of_pool(stack, pool), ())
    busy = _LOAD if in_use else ()
    ended = validate_machine(machine, expected, {*left_out, *busy})
    return _report(ended.stdout, ended.stderr, as_document=format is Format.JSON)


def _known_issue_text(issue: KnownIssue) -> str:
    """One known issue: its meaning, remediation, checks and source."""
    source = issue.source
    lines = [
        f"{issue.id} ({issue.remedy})",
        f"  means: {issue.meaning}",
        f"  fix: {issue.remediation}",
    ]
    if issue.checks:
        lines.append(f"  detected by: {', '.join(issue.checks)}")
    lines.append(f"  source: {source.title}, read on {source.checked_on}{source.unverified_suffix}")
    return "\n".join(lines) + "\n"


def _machine(snapshot: Path | None) -> str:
    if snapshot is None:
        return record_machine()
    return read_regular(snapshot, SNAPSHOT_BYTES, "a machine snapshot").decode(errors="replace")


def _of_product(machine: str) -> tuple[str, tuple[str, ...]]:
    """Expected values of the GPU product; the number of GPUs and their layout are known only to a plan."""
    gpus = installed_gpus(machine)
    name = gpus[0].get("name")
    gpu = find_gpu(name) if isinstance(name, str) else None
    if gpu is None:
        raise EnvironmentMissing(
            f"the catalogue does not know {name}, so there are no expected values. `gpuyard offers` lists"
            " the machines and GPUs that it knows"
        )
    cut = any(each.get("mig_current") is True for each in gpus)
    unmeasured = ("load.utilization",) if cut else ()
    return unplanned_expectations_text(gpu, len(gpus)), (_COUNT, *_CUT, *unmeasured)


def _of_pool(stack: str, pool: str | None) -> str:
    result = validate_stack(stack)
    if result.plan is None:
        show_rejection(result)
        raise PlanRejected(f"the stack {stack} is rejected, so it cannot be validated against")
    names = [each.name for each in result.plan.pools]
    if pool not in names:
        raise UsageError(f"no pool {pool!r} in {stack}; there are {', '.join(names)}")
    text = expectations_text(result.plan, result.plan.pool(pool))
    if text is None:
        raise UsageError(
            f"a node of {pool} has a fraction of a GPU, for which there are no expected values"
        )
    return text


def _report(out: str, err: str, *, as_document: bool) -> int:
    if not out:
        raise UsageError(err.strip().removeprefix("cannot run: "))
    report: dict[str, Any] = json.loads(out)
    if as_document:
        write_document("validate", **{k: v for k, v in report.items() if k != "schema"})
    else:
        console = results()
        for line in err.strip().splitlines():
            console.print_wrapped(line)
        against = ("fail", "error")  # and a required check that did not run
        failed = (
            each["id"]
            for each in report["checks"]
            if each["status"] in against or (each["required"] and each["status"] == "skip")
        )
        for check in dict.fromkeys(failed):
            console.print_wrapped(f"gpuyard validate --explain {check}", indent=2)
    return OK if report["exit_code"] == 0 else BAD_HARDWARE
