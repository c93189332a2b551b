"""`check --live`: findings about the cloud account."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import sort_findings
from gpuyard_core.terminal.findings import show_verdict
from gpuyard_core.terminal.text import pluralize

if TYPE_CHECKING:
    from gpuyard.preflight.probes import ProbeResult
    from gpuyard.stack_validation import ValidatedStack
    from gpuyard_core.terminal.console import Console

_FIRST = 11


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
