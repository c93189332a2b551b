"""`gpuyard check`: all findings about a stack, and a verdict."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.changes import changes_document, show_changes, show_destroy_blockers
from gpuyard.cli.views.findings import show_findings, write_document
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Severity, sort_findings
from gpuyard_core.local_files import read_regular, shown_path
from gpuyard_core.stack_files import STDIN, read_stdin_one_byte_past
from gpuyard_core.terminal.console import Console, results, write
from gpuyard_core.terminal.documents import as_json, tree
from gpuyard_core.terminal.exit_codes import ENVIRONMENT_MISSING, FINDINGS, OK
from gpuyard_core.terminal.findings import count_words, show_verdict
from gpuyard_core.terminal.options import Format, FormatOption
from gpuyard_core.terminal.text import pluralize, usd

if TYPE_CHECKING:
    from gpuyard.changes.deployed_state import DeployedState
    from gpuyard.changes.planned_changes import PlannedChanges
    from gpuyard.plan.records import Bill, PlatformPlan
    from gpuyard.preflight.probes import ProbeResult
    from gpuyard.stack_validation import ValidatedStack

_FIRST = 11
MAX_STATE_BYTES = 64 * 1024 * 1024
"""Maximum size of a state or preview: about twenty thousand resources."""
_SHELL_PIPES = ("/dev/fd/", "/proc/self/fd/")
"""Where shells put the pipe of `<(command)`."""
_WANTED = "the output of `pulumi stack export`, or of `pulumi preview --json --show-sames`"


def read_deployed_state(name: str) -> tuple[str, "DeployedState"]:
    """The display name of the file, and the deployed state in it."""
    from gpuyard.changes.deployed_state import deployed_state, is_deployed_state, omits_unchanged

    if name == STDIN:
        shown, data = "standard input", read_stdin_one_byte_past(MAX_STATE_BYTES)
    elif name and "\0" not in name:
        shown = shown_path(Path(name))
        if name.startswith(_SHELL_PIPES) and Path(name).is_fifo():
            with Path(name).open("rb") as pipe:
                data = pipe.read(MAX_STATE_BYTES + 1)
        else:
            data = read_regular(Path(name), MAX_STATE_BYTES, _WANTED)
    else:
        raise UsageError(f"the file name is empty or invalid. Give {_WANTED}, or -.")
    if len(data) > MAX_STATE_BYTES:
        raise UsageError(f"{shown} has more than {MAX_STATE_BYTES // 1024**2} MiB. Give {_WANTED}.")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{shown} is not JSON: {problem}. Give {_WANTED}.") from problem
    if not is_deployed_state(value):
        raise UsageError(f"{shown} is neither a state nor a preview. Give {_WANTED}.")
    if omits_unchanged(value):
        raise UsageError(f"{shown} omits unchanged resources. Give {_WANTED}.")
    return shown, deployed_state(value)


def query_account(judged: "ValidatedStack") -> "tuple[ValidatedStack, ProbeResult]":
    """Add the findings of the account, and return the query results; a rejected stack is not queried."""
    from gpuyard.preflight.probes import skipped
    from gpuyard.programs import run_commands

    if judged.plan is None:
        return judged, skipped("the account", "the stack is rejected", is_expected=True)
    plan = judged.plan
    probes = plan.provider.probe_account(plan, run_commands, judged.reading.account)
    if probes is None:
        raise UsageError(
            f"{judged.file}: --live queries an AWS or Google Cloud account, and this stack is on"
            f" {plan.cloud.value}."
        )
    findings = tuple(sort_findings([*judged.findings, *probes.findings]))
    return replace(judged, findings=findings), probes


def _show_live(probes: "ProbeResult", console: Console) -> None:
    """Show successful and skipped queries."""
    for message in probes.messages:
        console.print_wrapped(message, first="ok".ljust(_FIRST), style="dim")
    for why in dict.fromkeys(each.reason for each in probes.skipped):
        about = ", ".join(each.subject for each in probes.skipped if each.reason == why)
        console.print_wrapped(f"{about}: {why}", first="SKIPPED".ljust(_FIRST), style="yellow")
    console.print()


def check(
    stack: StackArgument,
    fail_on: Annotated[
        Severity,
        typer.Option(
            help="Lowest severity that exits with code 3. Warnings about old facts of the "
            "catalogue (`version --facts`) never count."
        ),
    ] = Severity.ERROR,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Also query the cloud account with your aws or gcloud: quotas, offers, "
            "permissions.",
        ),
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="STATE",
            help="Show what would be replaced or deleted of the deployed state: the output of "
            "`pulumi stack export` or of `pulumi preview --json --show-sames`, or - for "
            "standard input.",
            show_default=False,
        ),
    ] = None,
    destroy: Annotated[
        bool,
        typer.Option("--destroy", help="With --against: show what blocks a `pulumi destroy`."),
    ] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Validate a stack file. Each finding has its path, the given value, the allowed values and a fix."""
    if destroy:
        return _destroyed(against, format)
    judged, changes, source = _evaluated(stack, against)
    judged, probes = query_account(judged) if live else (judged, None)
    failed = judged.fails(fail_on)
    unanswered = sum(not each.is_expected for each in probes.skipped) if probes else 0
    if format is Format.JSON:
        more: dict[str, Any] = {}
        if probes is not None:
            not_asked = [{"about": each.subject, "why": each.reason} for each in probes.skipped]
            more["live"] = {"ok": list(probes.messages), "not_asked": not_asked}
        if changes is not None:
            more["against"] = changes_document(changes, source)
        platform = _platform(judged.plan) if judged.plan else None
        write_document(
            "check", judged, fail_on=fail_on.value, failed=failed, platform=platform, **more
        )
    else:
        console = results()
        if probes is not None:
            _show_live(probes, console)
        if changes is not None:
            show_changes(changes, source, console)
            console.print()
        show_judged(judged, console, fail_on)
        if unanswered:
            count = pluralize(unanswered, "query", "queries")
            show_verdict("partial", f"{count} could not be run", console)
    return ENVIRONMENT_MISSING if unanswered else FINDINGS if failed else OK


def _evaluated(
    stack: str, against: str | None
) -> "tuple[ValidatedStack, PlannedChanges | None, str]":
    """Validate a stack, and compare it with the deployed state if one is given."""
    if against is None:
        return validate_stack(stack), None, ""
    # imported here: only --against needs it
    from gpuyard.changes.findings import compare_with_deployed

    source, deployed = read_deployed_state(against)
    return (*compare_with_deployed(validate_stack(stack), deployed), source)


def _destroyed(against: str | None, format_: Format) -> int:
    """Show the destroy blockers of the deployed state; the stack file does not matter."""
    from gpuyard.changes.destroy_blockers import BlockReason, destroy_blockers

    if against is None:
        raise UsageError("--destroy needs the deployed state: add --against STATE.")
    source, deployed = read_deployed_state(against)
    result = destroy_blockers(deployed)
    if format_ is Format.JSON:
        write(as_json({"command": "check", "against": source, "blocked": tree(result)}))
    else:
        show_destroy_blockers(result, source, results())
    return FINDINGS if any(each.reason is BlockReason.PROTECTED for each in result) else OK


def _platform(plan: "PlatformPlan") -> dict[str, object]:
    return {
        "name": plan.name,
        "maximum_usd_per_hour": tree(plan.bill.maximum_usd_per_hour),
        "known_maximum_usd_per_hour": tree(plan.bill.maximum.known_usd),
        "region": plan.region,
        "priced_in": list(plan.bill.priced_in),
        "unknown_prices": list(plan.bill.unknown),
    }


def show_judged(
    judged: "ValidatedStack", console: Console, fail_on: Severity = Severity.ERROR
) -> None:
    """Show every finding and the verdict."""
    show_findings(judged, console)
    if judged.findings:
        console.print()
    text = judged.file + (f": {count_words(judged.findings)}" if judged.findings else "")
    if judged.plan is None:
        show_verdict("rejected", text, console)
    elif judged.fails(fail_on):
        show_verdict("failed", f"{text}, and --fail-on is {fail_on.value}", console)
    else:
        sign = ";" if judged.findings else ":"
        show_verdict("ok", f"{text}{sign} {_summary(judged.plan)}", console)


def _summary(plan: "PlatformPlan") -> str:
    counted = (("pool", plan.pools), ("team", plan.teams), ("shape", plan.shapes))
    parts = (pluralize(len(items), name) for name, items in counted)
    return f"{', '.join(parts)} proved; {_worst(plan.bill)}"


def _worst(bill: "Bill") -> str:
    """The maximum cost: with its unknown parts, and with the region of its prices."""
    where = f", priced in {' and '.join(bill.priced_in)}" if bill.priced_in else ""
    if not bill.maximum.unknown:
        return f"at most {usd(bill.maximum.known_usd)} $/hour{where}"
    parts = pluralize(len(bill.maximum.unknown), "part")
    if not bill.maximum.known_usd:
        return f"maximum cost unknown: {parts} without a price"
    return f"at most {usd(bill.maximum.known_usd)} $/hour and {parts} of unknown price{where}"
