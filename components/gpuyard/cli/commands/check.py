"""`gpuyard check`: all findings about a stack, and a verdict."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpuyard.cli.exit_codes import FINE, FOUND
from gpuyard.cli.options import Format, FormatOption, StackArgument
from gpuyard.cli.stacks import judge_stack
from gpuyard.cli.terminal.console import Console, results, write
from gpuyard.cli.terminal.text import many, usd
from gpuyard.cli.views.documents import as_json, tree
from gpuyard.cli.views.findings import count_words, document, show_findings, show_verdict
from gpuyard.findings import Severity

if TYPE_CHECKING:
    from gpuyard.judging import Judged
    from gpuyard.plan.records import Bill, PlatformPlan


def check(
    stack: StackArgument,
    fail_on: Annotated[
        Severity, typer.Option(help="The least finding that ends with exit code 3.")
    ] = Severity.REFUSE,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Prove a stack. Every finding comes with its place, the numbers, what is allowed and the nearest fix."""
    judged = judge_stack(stack)
    failed = _fails(judged, fail_on)
    if format is Format.JSON:
        write(
            as_json(
                document(
                    "check",
                    judged,
                    fail_on=fail_on.value,
                    failed=failed,
                    platform=_platform(judged),
                )
            )
        )
    else:
        show_judged(judged, results(), fail_on)
    return FOUND if failed else FINE


def _fails(judged: "Judged", fail_on: Severity) -> bool:
    return judged.worst is not None and judged.worst.rank >= fail_on.rank


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
    elif _fails(judged, fail_on):
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
