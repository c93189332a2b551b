"""`gpuyard advise`: sharing mode, machines, capacity and cost of a platform from answers, and a stack file."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from gpuyard.cli.stacks import validate_text
from gpuyard.cli.views.findings import document, reject
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Diagnostic, sort_findings
from gpuyard_core.local_files import read_regular, shown_path, write_file
from gpuyard_core.stack_files import STDIN, read_stdin_one_byte_past
from gpuyard_core.terminal.console import diagnostics, results, write
from gpuyard_core.terminal.documents import as_json
from gpuyard_core.terminal.exit_codes import FINDINGS, OK
from gpuyard_core.terminal.findings import (
    count_words,
    finding_document,
    show_diagnostic,
    show_verdict,
)
from gpuyard_core.terminal.options import Format, FormatOption
from gpuyard_core.today import today

_WHAT = "an answers file"


def advise(
    answers: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Answers as YAML, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Ask for the answers in the terminal.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="STACK", help="Stack file to write. Default: none.", show_default=False
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002  the option's name
) -> int:
    """Advise on sharing mode, machines, capacity and cost. Writes a stack file that `gpuyard check` accepts."""
    if (answers is None) != interactive:
        raise UsageError("write either --answers FILE or --interactive")
    # imported here: usage errors need no catalogue
    from gpuyard_advisor.advice.strategy.answers import parse_answers, read_answers
    from gpuyard_advisor.advice.strategy.stack import advised_stack
    from gpuyard_advisor.advice.strategy.strategy import advise as evaluate
    from gpuyard_advisor.cli.views.advise import advice_document, show_advice
    from gpuyard_core.yaml_tree import MAX_BYTES

    if answers is None:
        shown = "the answers"
        given, findings = parse_answers(_ask_all())
    else:
        shown = "standard input" if answers == STDIN else shown_path(Path(answers))
        data = (
            read_stdin_one_byte_past(MAX_BYTES)
            if answers == STDIN
            else read_regular(Path(answers), MAX_BYTES, _WHAT)
        )
        given, findings = read_answers(data, shown)
    if given is None:
        return _reject_answers(findings, shown, format)
    advice = evaluate(given)
    stack = advised_stack(advice)
    name = str(output) if output else "the advised stack"
    judged = validate_text(stack.text.encode(), name, today())
    if judged.plan is None:
        return reject("advise", judged, format, advice=None)
    if output is not None:
        write_file(output, stack.text)
    if format is Format.JSON:
        write(as_json(document("advise", judged, **advice_document(advice, stack))))
    else:
        show_advice(advice, stack, str(output) if output else "", results())
    return OK


def _reject_answers(findings: list[Diagnostic], shown: str, format_: Format) -> int:
    if format_ is Format.JSON:
        documents = [finding_document(each, shown) for each in sort_findings(findings)]
        write(as_json({**document("advise"), "findings": documents, "advice": None}))
        return FINDINGS
    console = diagnostics()
    for each in sort_findings(findings):
        show_diagnostic(each, each.location or "(answers)", console)
        console.print()
    show_verdict("rejected", f"{shown}: {count_words(findings)}", console)
    return FINDINGS


def _ask_all() -> dict[str, Any]:
    """All answers from the terminal; an empty line takes the default."""
    from gpuyard_advisor.advice.strategy.answers import Answers, OwnedHardware, Workload

    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            "--interactive needs a terminal. Write the answers to a file, and give it with --answers."
        )
    answers = _ask_fields(Answers, "", skip=frozenset({"workloads", "owned"}))
    workloads: list[dict[str, Any]] = []
    while not workloads or _is_yes("another workload"):
        workloads.append(_ask_fields(Workload, f"workloads[{len(workloads)}]."))
    answers["workloads"] = workloads
    if answers["cloud"] == "none" or _is_yes("compare with servers of your own"):
        answers["owned"] = _ask_fields(OwnedHardware, "owned.")
    diagnostics().print()
    return answers


def _ask_fields(model: Any, prefix: str, skip: frozenset[str] = frozenset()) -> dict[str, Any]:
    from gpuyard.spec.schema import field_meanings

    meanings = field_meanings(model)
    answers: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name in skip:
            continue
        diagnostics().print_wrapped(" ".join(meanings[name].split()), style="dim")
        while True:
            text = _read_line(f"{prefix}{name}")
            if not text and not field.is_required():
                break
            value, problem = _parse_field(model, name, text)
            if problem is None:
                answers[name] = value
                break
            show_diagnostic(problem, f"{prefix}{name}", diagnostics())
    return answers


def _parse_field(model: Any, name: str, text: str) -> tuple[Any, Diagnostic | None]:
    """The value of a field: as YAML, else as plain text; or the finding."""
    from pydantic import ValidationError

    from gpuyard_core.models.problems import validation_findings

    problem = None
    for value in (_yaml(text), text):
        try:
            model.model_validate({name: value})
        except ValidationError as invalid:
            found = validation_findings(invalid, model, {name: value})
            problem = next(
                (f for f in found if f.path[:1] == (name,) and f.id != "spec.missing"), None
            )
        else:
            problem = None
        if problem is None:
            return value, None
    return None, problem


def _yaml(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _is_yes(question: str) -> bool:
    return _read_line(f"{question}? y or n [n]").lower() in {"y", "yes"}


def _read_line(prompt: str) -> str:
    console = diagnostics()
    console.file.write(f"{prompt}: ")
    console.file.flush()
    line = sys.stdin.readline()
    if not line:
        raise UsageError(f"the input ended at {prompt}. Write the answers to a file instead.")
    return line.strip()
