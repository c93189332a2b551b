"""`gpuyard lint --rules`: the list of rules."""

from typing import Any

from gpuyard_core.errors import UsageError
from gpuyard_core.terminal.console import STYLES, Console, results, write
from gpuyard_core.terminal.documents import as_json, tree
from gpuyard_core.terminal.findings import command_document
from gpuyard_lint import page_command
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import Rule

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
        _list(results())
    return 0


def _list(console: Console) -> None:
    for rule in RULES:
        first = f"{rule.severity.value.ljust(_WORD)}{rule.id.ljust(_ID)}"
        console.print_wrapped(rule.title, first=first, style=STYLES[rule.severity])


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
