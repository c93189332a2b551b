"""`gpuyard lint`: check files against the GPU rules."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

import typer

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Severity
from gpuyard_core.local_files import read_regular, shown_path, write_file
from gpuyard_core.stack_files import complete_stacks, find_stack
from gpuyard_core.suggestions import nearest_name
from gpuyard_core.terminal.console import STYLES, diagnostics, results, write
from gpuyard_core.terminal.documents import as_json, json_parts, tree
from gpuyard_core.terminal.exit_codes import FINDINGS, OK, USAGE
from gpuyard_core.terminal.findings import command_document
from gpuyard_core.terminal.pages import show_page
from gpuyard_core.today import today
from gpuyard_core.yaml_tree import MAX_BYTES
from gpuyard_lint import lint_command, page_command, rules_folder
from gpuyard_lint.cli.files import FileSelection, TimeLimit, read_all, shown_names
from gpuyard_lint.cli.report import report_parts, show_report, verdict_word
from gpuyard_lint.items import LintInput, SkippedFile
from gpuyard_lint.read import TIMES
from gpuyard_lint.report import Report, build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.run import RuleConfiguration

_WORD = 8
_ID = 12


def show_rules(paths: list[str], format: str) -> int:  # noqa: A002  the option's name
    """List every rule; as a document with all fields."""
    if paths:
        raise UsageError(f"--rules takes no files. Remove {paths[0]} or --rules.")
    if format not in {"text", "json"}:
        raise UsageError(f"--rules supports --format text and json, not {format}.")
    if format == "json":
        write(as_json(command_document("lint", rules=[rule_document(rule) for rule in RULES])))
    else:
        console = results()
        for rule in RULES:
            first = f"{rule.severity.value.ljust(_WORD)}{rule.id.ljust(_ID)}"
            console.print_wrapped(rule.title, first=first, style=STYLES[rule.severity])
    return 0


def rule_document(rule: Rule) -> dict[str, Any]:
    """One rule as a document."""
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity.value,
        "docs": page_command(rule.id),
        "why": rule.why,
        "fix": rule.fix,
        "kinds": list(rule.kinds),
        "parameters": tree(rule.parameters),
        "references": [
            {"framework": each.framework, "section": each.section} for each in rule.references
        ],
        "sources": list(rule.sources),
        "remedy": rule.remediate is not None,
    }


_WORDS = {OK: "ok", USAGE: "unreadable", FINDINGS: "failed"}
"""The first word of the last line, by exit code."""


def complete_rules(incomplete: str) -> list[str]:
    """Complete rule ids for the shell."""
    return [rule.id for rule in RULES if rule.id.lower().startswith(incomplete.lower())]


class LintFormat(StrEnum):
    """Output format of lint findings."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"


def lint(  # noqa: PLR0913, PLR0917  an option is a parameter
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH…",
            help="Files, folders, patterns, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        Severity, typer.Option(help="Lowest severity that exits with code 3.")
    ] = Severity.ERROR,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="YAML file with levels, parameters and exceptions of rules."
        ),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="STACK",
            help="Also apply the levels and exceptions of a stack's `policies`.",
            autocompletion=complete_stacks,
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with known findings, which do not count."),
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the open findings to a file for --baseline."),
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List every rule and exit.")] = False,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="Show the documentation of a rule and exit.",
            autocompletion=complete_rules,
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="Check this rule only; repeatable."),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="Skip a rule; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Exclude files of a folder: a name, a folder, or a pattern of paths.",
        ),
    ] = None,
    samples: Annotated[
        bool,
        typer.Option(
            help="Also check example files, test data and vendored copies; they never fail."
        ),
    ] = True,
    choices: Annotated[
        bool,
        typer.Option(
            help="Also count advisory findings, such as the use of a provider-managed key."
        ),
    ] = False,
    render: Annotated[
        bool,
        typer.Option(
            help="Run `helm` and `kustomize` on copies of charts and kustomizations that concern "
            "GPUs."
        ),
    ] = False,
    time_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=1,
            help="Time limit for reading and rendering, and again for checking.",
        ),
    ] = 120,
    format: Annotated[LintFormat, typer.Option(help="Output format.")] = LintFormat.TEXT,  # noqa: A002  the option's name
) -> int:
    """Check files against the GPU rules.

    Reads Kubernetes YAML, Pulumi previews and states, Terraform files and plans.
    """
    if rules:
        return show_rules(paths or [], format.value)
    if explain is not None:
        return _explain(explain, paths or [])
    if not paths:
        raise UsageError("no input. Give files, folders, patterns, or - for standard input.")
    settings, known = (
        replace(rule_settings(config, stack), counts_advisory=choices),
        _known(baseline),
    )
    chosen = _rules(only or [], skip or [])
    selection = FileSelection(exclude or [], samples, time_limit)
    reading, ignores = read_all(paths, selection, render=render)
    clock = TimeLimit(time_limit)
    report = build_report(reading, chosen, settings, ignores, known, clock.is_over)
    if report.time_limit_reached:
        why = f"the rules did not finish within the time limit of {time_limit:g} s, so findings are missing"
        late = SkippedFile(shown_names(paths)[0], f"{why}: raise --time-limit")
        report = replace(report, skipped=(*report.skipped, late))
    if write_baseline is not None:
        from gpuyard_lint.formats import baseline_text

        write_file(write_baseline, baseline_text(report.hits))
    code = _code(report, reading, paths, fail_on)
    _write(report, format, fail_on, _WORDS[code])
    _say_expired(settings)
    return code


def _explain(rule: str, paths: Sequence[str]) -> int:
    if paths:
        raise UsageError(f"--explain takes no files. Remove {paths[0]} or --explain.")
    show_page(rules_folder() / f"{_rule_id(rule)}.md", results())
    return OK


def _rules(only: Sequence[str], skip: Sequence[str]) -> list[Rule]:
    included, excluded = ({_rule_id(name) for name in names} for names in (only, skip))
    return [r for r in RULES if r.id not in excluded and (r.id in included or not included)]


def _rule_id(name: str) -> str:
    ids = [rule.id for rule in RULES]
    if name.upper() in ids:
        return name.upper()
    meant = nearest_name(name.upper(), ids)
    hint = f"; did you mean {meant}?" if meant else f"; `{lint_command()} --rules` lists all."
    raise UsageError(f"no rule {name!r}{hint}")


def _code(report: Report, reading: LintInput, paths: Sequence[str], fail_on: Severity) -> int:
    """Exit code; a file given as an argument must be readable, at least in part."""
    named, judged = set(shown_names(paths)), {item.place.file for item in reading.items}
    if any(
        each.file in named and not (each.template and each.file in judged)
        for each in report.skipped
    ):
        return USAGE
    return FINDINGS if report.is_failed(fail_on) else OK


def rule_settings(path: Path | None, stack: str | None) -> RuleConfiguration:
    """Merge the settings of --config and --stack; for a rule in both, --config wins."""
    if path is None and stack is None:
        return RuleConfiguration(today=today())
    from gpuyard_lint.settings import merge_settings, read_section, read_settings

    results: list[RuleConfiguration] = []
    if path is not None:
        data = read_regular(path, MAX_BYTES, "a rule configuration")
        results.append(read_settings(data, str(path), RULES, today()))
    if stack is not None:
        file = find_stack(stack)
        results.append(
            read_section(read_regular(file, MAX_BYTES), shown_path(file), RULES, today())
        )
    return reduce(merge_settings, results)


def _say_expired(settings: RuleConfiguration) -> None:
    if settings.exemptions:
        from gpuyard_lint.settings import expired_exemptions

        for line in expired_exemptions(settings):
            diagnostics().print_wrapped(f"{line}: the rule applies there again", first="! ")


def _known(path: Path | None) -> frozenset[str]:
    if path is None:
        return frozenset()
    from gpuyard_lint.formats import read_baseline

    return read_baseline(read_regular(path, MAX_BYTES * TIMES, "a baseline"), str(path))


def _write(report: Report, form: LintFormat, fail_on: Severity, word: str) -> None:
    if form is LintFormat.TEXT:
        show_report(report, verdict_word(report, word, _WORDS[OK]), results())
        return
    from importlib.metadata import version

    from gpuyard_lint.formats import github_annotations, junit, sarif, sarif_results

    if form is LintFormat.JSON:
        parts = report_parts(report, fail_on)
    elif form is LintFormat.SARIF:
        without = sarif(replace(report, hits=()), version("gpuyard-lint"))
        parts = json_parts(without, "results", sarif_results(report))
    else:
        parts = iter((junit(report),)) if form is LintFormat.JUNIT else github_annotations(report)
    for text in parts:
        write(text)
