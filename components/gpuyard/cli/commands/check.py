"""`gpuyard check`: all findings about a stack, and a verdict."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpuyard.cli.exit_codes import FINE, FOUND, LACKS
from gpuyard.cli.live_account import ask_account, lacks, live_document, show_lacks, show_live
from gpuyard.cli.options import Format, FormatOption, StackArgument
from gpuyard.cli.stacks import judge_stack
from gpuyard.cli.terminal.console import Console, results, write
from gpuyard.cli.terminal.text import many, usd
from gpuyard.cli.views.changes import changes_document, show_changes
from gpuyard.cli.views.documents import as_json, tree
from gpuyard.cli.views.findings import count_words, document, show_findings, show_verdict
from gpuyard.cli.views.kept import kept_document, show_kept
from gpuyard.errors import UsageError
from gpuyard.findings import Severity

if TYPE_CHECKING:
    from gpuyard.changes.announced import Announced
    from gpuyard.judging import Judged
    from gpuyard.plan.records import Bill, PlatformPlan


def check(
    stack: StackArgument,
    fail_on: Annotated[
        Severity,
        typer.Option(
            help="Lowest severity that exits with code 3. Warnings about old facts of the "
            "catalogue (`version --facts`) never count."
        ),
    ] = Severity.REFUSE,
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
    judged, said, state = _judged(stack, against)
    judged, heard = ask_account(judged) if live else (judged, None)
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
                    **({} if heard is None else {"live": live_document(heard)}),
                    **({} if said is None else {"against": changes_document(said, state)}),
                )
            )
        )
    else:
        if heard is not None:
            show_live(heard, results())
        if said is not None:
            show_changes(said, state, results())
            results().say()
        show_judged(judged, results(), fail_on)
        if heard is not None and lacks(heard):
            show_lacks(heard, results())
    return LACKS if lacks(heard) else FOUND if failed else FINE


def _judged(stack: str, against: str | None) -> "tuple[Judged, Announced | None, str]":
    """The stack as it is judged, beside what is deployed where that is asked for."""
    if against is None:
        return judge_stack(stack), None, ""
    # only now: a stack by itself is compared with nothing
    from gpuyard.changes.judging import judged_against
    from gpuyard.cli.state_files import read_stand

    state, stand = read_stand(against)
    return (*judged_against(judge_stack(stack), stand), state)


def _destroyed(against: str | None, format_: Format) -> int:
    """Of what is deployed alone: the stack file may say something else by now."""
    from gpuyard.changes.kept import Keeping, kept
    from gpuyard.cli.state_files import read_stand

    if against is None:
        raise UsageError("--destroy looks at what is deployed: give --against STATE with it.")
    state, stand = read_stand(against)
    found = kept(stand)
    if format_ is Format.JSON:
        write(as_json({"command": "check", "against": state, "kept": kept_document(found)}))
    else:
        show_kept(found, state, results())
    return FOUND if any(each.keeping is Keeping.PROTECTED for each in found) else FINE


def _platform(judged: "Judged") -> dict[str, object] | None:
    plan = judged.plan
    if plan is None:
        return None
    return {
        "name": plan.name,
        "worst_usd_per_hour": tree(plan.bill.worst_usd),
        "known_worst_usd_per_hour": tree(plan.bill.worst.known_usd),
        "region": plan.region,
        "priced_in": list(plan.bill.priced_in),
        "unknown_prices": list(plan.bill.unknown),
    }


def show_judged(judged: "Judged", console: Console, fail_on: Severity = Severity.REFUSE) -> None:
    """Every finding, and the verdict."""
    show_findings(judged, console)
    if judged.findings:
        console.say()
    counts = f": {count_words(judged.findings)}" if judged.findings else ""
    if judged.plan is None:
        show_verdict("refused", f"{judged.file}{counts}", console)
    elif judged.fails(fail_on):
        show_verdict("failed", f"{judged.file}{counts}, and --fail-on is {fail_on.value}", console)
    else:
        show_verdict(
            "fine",
            f"{judged.file}{counts}; {_summary(judged.plan)}"
            if counts
            else f"{judged.file}: {_summary(judged.plan)}",
            console,
        )


def _summary(plan: "PlatformPlan") -> str:
    parts = [
        many(len(plan.pools), "pool"),
        many(len(plan.teams), "team"),
        many(len(plan.shapes), "shape"),
    ]
    return f"{', '.join(parts)} proved; {_worst(plan.bill)}"


def _worst(bill: "Bill") -> str:
    """The worst hour: never a figure that a part of it is missing from, nor one of nowhere."""
    where = f", priced in {' and '.join(bill.priced_in)}" if bill.priced_in else ""
    if not bill.worst.unknown:
        return f"at worst {usd(bill.worst.known_usd)} $/hour{where}"
    parts = many(len(bill.worst.unknown), "part")
    if not bill.worst.known_usd:
        return f"what the worst hour costs is unknown: {parts} of unknown price"
    return f"at worst {usd(bill.worst.known_usd)} $/hour and {parts} of unknown price{where}"
