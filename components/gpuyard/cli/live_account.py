"""`check --live`: what the account says, beside what the proofs say."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpuyard.cli.terminal.text import many
from gpuyard.cli.views.findings import show_verdict
from gpuyard.errors import UsageError
from gpuyard.findings import in_order

if TYPE_CHECKING:
    from gpuyard.cli.terminal.console import Console
    from gpuyard.judging import Judged
    from gpuyard.preflight.asking import Heard

_FIRST = 11


def ask_account(judged: "Judged") -> "tuple[Judged, Heard]":
    """The findings with those of the account, and what came of asking; a refused stack asks nobody."""
    from gpuyard.preflight.asking import Heard, Unasked
    from gpuyard.preflight.rounds import hear
    from gpuyard.programs import ask

    if judged.plan is None:
        return judged, Heard(unasked=(Unasked("the account", "the stack is refused", ours=True),))
    if judged.plan.cloud.value not in {"aws", "gcp"}:
        raise UsageError(
            f"{judged.file}: --live asks an account of AWS or Google, and this stack is on"
            f" {judged.plan.cloud.value}."
        )
    heard = hear(judged.plan, ask, judged.reading.signed)
    return replace(judged, findings=tuple(in_order([*judged.findings, *heard.findings]))), heard


def lacks(heard: "Heard | None") -> bool:
    """Whether the environment kept something from being asked."""
    return heard is not None and any(not each.ours for each in heard.unasked)


def live_document(heard: "Heard") -> dict[str, Any]:
    """What was asked and is well, and what could not be asked; findings stand with the others."""
    return {
        "fine": list(heard.said),
        "not_asked": [{"about": each.about, "why": each.why} for each in heard.unasked],
    }


def show_live(heard: "Heard", console: "Console") -> None:
    """The same, for people."""
    for said in heard.said:
        console.tell(said, first="fine".ljust(_FIRST), style="dim")
    for why in dict.fromkeys(each.why for each in heard.unasked):
        about = ", ".join(each.about for each in heard.unasked if each.why == why)
        console.tell(f"{about}: {why}", first="NOT ASKED".ljust(_FIRST), style="yellow")
    console.say()


def show_lacks(heard: "Heard", console: "Console") -> None:
    """The last word: a proof is no answer of an account."""
    count = sum(not each.ours for each in heard.unasked)
    show_verdict("unasked", f"{many(count, 'thing')} could not be asked of the account", console)
