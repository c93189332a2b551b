"""`gpuyard lint --rules`: what the rules are, without any file."""

from typing import Any

from gpuyard.cli.terminal.console import STYLES, Console, results, write
from gpuyard.cli.views.documents import as_json, tree
from gpuyard.cli.views.findings import document
from gpuyard.errors import UsageError
from gpuyard.rules import RULES
from gpuyard.rules.rule import Rule

_WORD = 8
_ID = 12


def show_rules(paths: list[str], format: str) -> int:  # noqa: A002  the option's name
    """Every rule; as a document with all about each."""
    if paths:
        raise UsageError(f"--rules looks at no files. Leave {paths[0]} out, or --rules.")
    if format not in {"text", "json"}:
        raise UsageError(f"--rules is written as text or json, not as {format}.")
    if format == "json":
        write(as_json(document("lint", rules=[rule_document(rule) for rule in RULES])))
    else:
        _list(results())
    return 0


def _list(console: Console) -> None:
    for rule in RULES:
        first = f"{rule.severity.value.ljust(_WORD)}{rule.id.ljust(_ID)}"
        console.print_wrapped(rule.title, first=first, style=STYLES[rule.severity])


def rule_document(rule: Rule) -> dict[str, Any]:
    """One rule for a program."""
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity.value,
        "docs": rule.docs_url,
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
