"""`gpuyard lint --rules` and `--explain ID`: what the rules are, without any file."""

from typing import Any

from gpuyard.cli.terminal.console import STYLES, Console, results, write
from gpuyard.cli.views.documents import as_json, tree
from gpuyard.cli.views.findings import document
from gpuyard.errors import UsageError
from gpuyard.rules import RULES
from gpuyard.rules.rule import Rule
from gpuyard.spec.nearest import nearest

_WORD = 8
_ID = 12


def show_rules(explain: str | None, paths: list[str], format: str) -> int:  # noqa: A002  the option's name
    """Every rule, or all about one."""
    option = "--rules" if explain is None else "--explain"
    if paths:
        raise UsageError(f"{option} looks at no files. Leave {paths[0]} out, or {option}.")
    if format not in {"text", "json"}:
        raise UsageError(f"{option} is written as text or json, not as {format}.")
    shown = RULES if explain is None else (_rule(explain),)
    if format == "json":
        write(as_json(document("lint", rules=[rule_document(rule) for rule in shown])))
    elif explain is None:
        _list(results())
    else:
        _explain(shown[0], results())
    return 0


def _rule(rule_id: str) -> Rule:
    by_id = {rule.id: rule for rule in RULES}
    if rule := by_id.get(rule_id.upper()):
        return rule
    near = nearest(rule_id, by_id)
    hint = f"Did you mean {near}?" if near else "`gpuyard lint --rules` lists every rule."
    raise UsageError(f"no rule {rule_id!r}. {hint}")


def _list(console: Console) -> None:
    for rule in RULES:
        first = f"{rule.severity.value.ljust(_WORD)}{rule.id.ljust(_ID)}"
        console.tell(rule.title, first=first, style=STYLES[rule.severity])


def _explain(rule: Rule, console: Console) -> None:
    first = f"{rule.severity.value.ljust(_WORD)}{rule.id}  "
    console.tell(rule.title, first=first, style=STYLES[rule.severity])
    console.say()
    console.tell(rule.why)
    console.say()
    for name, text in _facts(rule):
        console.tell(text, first=name.ljust(_ID), style="dim")


def _facts(rule: Rule) -> list[tuple[str, str]]:
    facts = [("fix", rule.fix), ("looks at", ", ".join(rule.kinds))]
    facts += [("parameter", f"{name}: {shown_default(v)}") for name, v in rule.parameters.items()]
    facts += [("asked by", str(reference)) for reference in rule.references]
    facts += [("source", source) for source in rule.sources]
    return [*facts, ("page", rule.page)]


def shown_default(value: Any) -> str:
    """A parameter's default as YAML would have it."""
    plain = tree(value)
    if isinstance(plain, list):
        return f"[{', '.join(map(str, plain))}]"
    return {None: "not set", True: "true", False: "false"}.get(plain, str(plain))


def rule_document(rule: Rule) -> dict[str, Any]:
    """One rule for a program."""
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity.value,
        "docs": rule.page,
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
