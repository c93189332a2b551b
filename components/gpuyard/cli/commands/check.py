"""`gpuyard check`: all findings about a stack, and a verdict."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpuyard.cli.options import StackArgument
from gpuyard.cli.stacks import validate_stack
from gpuyard.cli.views.changes import changes_document, show_changes
from gpuyard.cli.views.destroy_blockers import destroy_blockers_document, show_destroy_blockers
from gpuyard.cli.views.findings import document, show_findings
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
    from gpuyard.changes.planned_changes import PlannedChanges
    from gpuyard.plan.records import Bill, PlatformPlan
    from gpuyard.stack_validation import ValidatedStack


if TYPE_CHECKING:
    from gpuyard.preflight.probes import ProbeResult
    from gpuyard.stack_validation import ValidatedStack
    from gpuyard_core.terminal.console import Console

_FIRST = 11


if TYPE_CHECKING:
    from gpuyard.changes.deployed_state import DeployedState

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
        pipe = name.startswith(_SHELL_PIPES) and Path(name).is_fifo()
        data = _read_pipe(name) if pipe else read_regular(Path(name), MAX_STATE_BYTES, _WANTED)
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


def _read_pipe(name: str) -> bytes:
    with Path(name).open("rb") as pipe:
        return pipe.read(MAX_STATE_BYTES + 1)


def query_account(judged: "ValidatedStack") -> "tuple[ValidatedStack, ProbeResult]":
    """Add the findings of the account, and return the query results; a rejected stack is not queried."""
    from gpuyard.preflight.probes import ProbeResult, SkippedProbe
    from gpuyard.programs import run_commands

    if judged.plan is None:
        return judged, ProbeResult(
            skipped=(SkippedProbe("the account", "the stack is rejected", is_expected=True),)
        )
    plan = judged.plan
    probes = plan.provider.probe_account(plan, run_commands, judged.reading.account)
    if probes is None:
        raise UsageError(
            f"{judged.file}: --live queries an AWS or Google Cloud account, and this stack is on"
            f" {plan.cloud.value}."
        )
    return replace(
        judged, findings=tuple(sort_findings([*judged.findings, *probes.findings]))
    ), probes


def has_missing_probes(probes: "ProbeResult | None") -> bool:
    """Whether the environment prevented a query."""
    return probes is not None and any(not each.is_expected for each in probes.skipped)


def live_document(probes: "ProbeResult") -> dict[str, Any]:
    """Successful and skipped queries as a document; findings are in `findings`."""
    return {
        "ok": list(probes.messages),
        "not_asked": [{"about": each.subject, "why": each.reason} for each in probes.skipped],
    }


def show_live(probes: "ProbeResult", console: "Console") -> None:
    """Show successful and skipped queries."""
    for message in probes.messages:
        console.print_wrapped(message, first="ok".ljust(_FIRST), style="dim")
    for why in dict.fromkeys(each.reason for each in probes.skipped):
        about = ", ".join(each.subject for each in probes.skipped if each.reason == why)
        console.print_wrapped(f"{about}: {why}", first="SKIPPED".ljust(_FIRST), style="yellow")
    console.print()


def show_missing_probes(probes: "ProbeResult", console: "Console") -> None:
    """The last line: how many queries were skipped."""
    count = sum(not each.is_expected for each in probes.skipped)
    show_verdict("partial", f"{pluralize(count, 'query', 'queries')} could not be run", console)


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
    if format is Format.JSON:
        write(
            as_json(
                document(
                    "check",
                    judged,
                    fail_on=fail_on.value,
                    failed=failed,
                    platform=_platform(judged),
                    **({} if probes is None else {"live": live_document(probes)}),
                    **({} if changes is None else {"against": changes_document(changes, source)}),
                )
            )
        )
    else:
        if probes is not None:
            show_live(probes, results())
        if changes is not None:
            show_changes(changes, source, results())
            results().print()
        show_judged(judged, results(), fail_on)
        if probes is not None and has_missing_probes(probes):
            show_missing_probes(probes, results())
    return ENVIRONMENT_MISSING if has_missing_probes(probes) else FINDINGS if failed else OK


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
        write(
            as_json(
                {
                    "command": "check",
                    "against": source,
                    "blocked": destroy_blockers_document(result),
                }
            )
        )
    else:
        show_destroy_blockers(result, source, results())
    return FINDINGS if any(each.block_reason is BlockReason.PROTECTED for each in result) else OK


def _platform(judged: "ValidatedStack") -> dict[str, object] | None:
    plan = judged.plan
    if plan is None:
        return None
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
    counts = f": {count_words(judged.findings)}" if judged.findings else ""
    if judged.plan is None:
        show_verdict("rejected", f"{judged.file}{counts}", console)
    elif judged.fails(fail_on):
        show_verdict("failed", f"{judged.file}{counts}, and --fail-on is {fail_on.value}", console)
    else:
        show_verdict(
            "ok",
            f"{judged.file}{counts}; {_summary(judged.plan)}"
            if counts
            else f"{judged.file}: {_summary(judged.plan)}",
            console,
        )


def _summary(plan: "PlatformPlan") -> str:
    parts = [
        pluralize(len(plan.pools), "pool"),
        pluralize(len(plan.teams), "team"),
        pluralize(len(plan.shapes), "shape"),
    ]
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
