"""A page for every rule, docs/rules/ID.md, their index, policies/RULES.md: from the rules and their cases.

`make golden` writes them; tests/docs/test_rule_pages.py fails if a page is outdated.
"""

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from case_files import load
from gpuyard_core.findings import Severity
from gpuyard_core.terminal.console import Console
from gpuyard_core.terminal.documents import tree
from gpuyard_lint.cli.report import show_hits
from gpuyard_lint.items import LintInput
from gpuyard_lint.read import read
from gpuyard_lint.report import build_report
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.run import RuleConfiguration

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "rules"
TABLE = ROOT / "policies" / "RULES.md"
CASES = ROOT / "tests" / "rules" / "cases"
LONG = 60
"""Longer files are shortened."""

MEANS = {
    Severity.ERROR: "Severity error: it has no effect, is unsafe, or fails.",
    Severity.WARNING: "Severity warning: it is risky; change it.",
    Severity.INFO: "Severity info: for your information.",
}
CHOICE = (
    "Advisory: correct, but a deliberate decision can justify it. gpuyard"
    " [lists it separately](../guides/lint.md#choices) and does not count it."
)
AREAS = {
    "AWS": "Amazon EKS and EC2",
    "CAP": "Capacity and cost",
    "CFG": "Configuration of components",
    "GCP": "Google GKE",
    "MET": "Metrics and alerts",
    "NET": "Networks of nodes",
    "OLD": "Deprecated versions",
    "POD": "Pods and jobs",
    "QUE": "Queues and schedulers",
    "SHR": "Sharing a GPU",
    "STA": "State and secrets",
    "STK": "The GPU software stack",
    "TEN": "Teams, quotas and queues",
}
INDEX_HEAD = """\
# Rules

All rules of [`gpuyard lint`](../guides/lint.md) and of the policy pack (`policies/RULES.md`). An `error` fails a lint
run and stops a preview. A `warning` or an `info` does not. A `choice` is shown separately. The meaning of an id does
not change.
"""
TABLE_HEAD = """\
# Rules of the policy pack

`pulumi preview --policy-pack policies` checks every resource of any stack against these rules, without Pulumi
Cloud. They are the rules of [`gpuyard lint`](../docs/guides/lint.md) and take the same settings. A rule of severity
error stops the preview; all others advise. A value that is unknown at preview counts as not evaluated, not as
passed. A [choice](../docs/guides/lint.md#choices) is reported only where the configuration sets a level for its rule.

| policy | does |
|---|---|
| `gpuyard` | stops on a resource that breaks a rule; has the settings of the whole pack |
| `gpuyard-stack` | stops on resources that conflict |
| `gpuyard-advice`, `gpuyard-stack-advice` | report the rest: expired exceptions, and values that could not be checked |
| `gpuyard-remedies` | off, unless its `enforcementLevel` is `remediate`: fixes violations of the rules marked so |

| rule | severity | title | fix | required by |
|---|---|---|---|---|
"""


def area(rule: Rule) -> str:
    """The area of a rule, as a heading."""
    name = rule.id.split("-")[1]
    return AREAS.get(name, name)


def index() -> str:
    """All rules by area, one line each."""
    count = Counter(map(word, RULES))
    words = [*(severity.value for severity in Severity), "advisory"]
    parts = [INDEX_HEAD, ", ".join(f"{count[w]} {w}" for w in words if count[w]) + ".\n"]
    for heading in sorted({area(rule) for rule in RULES}):
        rows = [
            f"| [{rule.id}]({rule.id}.md) | {word(rule)} | {_cell(rule.title)} |"
            for rule in RULES
            if area(rule) == heading
        ]
        parts.append(
            "\n".join(
                [f"## {heading}", "", "| rule | severity | says |", "|---|---|---|", *rows, ""]
            )
        )
    return "\n".join(parts)


def table() -> str:
    """The rules of the pack."""
    rows = [
        f"| [{rule.id}](../docs/rules/{rule.id}.md) | {word(rule)} | {_cell(rule.title)} |"
        f" {'yes' if rule.remediate else ''} | {_cell('; '.join(map(str, rule.references)))} |"
        for rule in RULES
    ]
    return TABLE_HEAD + "\n".join(rows) + "\n"


def word(rule: Rule) -> str:
    """The severity; `choice` if all its violations can be justified."""
    return (
        "advisory"
        if all(each.get("choice") for each in _cases(rule)["bad"])
        else rule.severity.value
    )


def _cases(rule: Rule) -> dict[str, Any]:
    results: dict[str, Any] = load((CASES / f"{rule.id}.yaml").read_text(encoding="utf-8"))
    return results


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(rule: Rule) -> str:
    """The page of one rule."""
    cases = _cases(rule)
    parts = [
        f"# {rule.id}",
        f"**{rule.title.rstrip('.')}.** {CHOICE if word(rule) == 'choice' else MEANS[rule.severity]}",
        rule.why,
        "## What to do",
        rule.fix + (" The policy pack can fix it: `gpuyard-remedies`." if rule.remediate else ""),
        "## For example",
        *_example(rule, cases["bad"][0]),
        f"No violation ({cases['good'][0]['name']}):",
        _block(*_file(cases["good"][0])[1:]),
    ]
    if rule.parameters:
        parts += ["## Parameters", _parameters(rule)]
    if rule.references:
        parts += ["## Asked for by", _list(map(str, rule.references))]
    parts += ["## Sources", _list(rule.sources)]
    parts += ["## Looks at", ", ".join(f"`{kind}`" for kind in rule.kinds) + "."]
    parts.append(
        f"[All rules](index.md). This page is generated from `tests/rules/cases/{rule.id}.yaml`."
    )
    return "\n\n".join(parts) + "\n"


def _list(texts: Any) -> str:
    return "\n".join(f"- {text}" for text in texts)


def shown_default(value: Any) -> str:
    """A parameter's default in YAML."""
    plain = tree(value)
    if isinstance(plain, list):
        return f"[{', '.join(map(str, plain))}]"
    return {None: "not set", True: "true", False: "false"}.get(plain, str(plain))


def _parameters(rule: Rule) -> str:
    rows = [f"| `{name}` | `{shown_default(value)}` |" for name, value in rule.parameters.items()]
    return "\n".join(["| name | default |", "|---|---|", *rows])


def _example(rule: Rule, case: dict[str, Any]) -> list[str]:
    """A file that violates the rule, and the output for it."""
    name, language, text = _file(case)
    shown = [f"{case['name'][0].upper()}{case['name'][1:]}:", _block(language, text)]
    if value := case.get("parameters"):
        settings = {"parameters": {rule.id: value}}
        shown += ["With these settings:", _block("yaml", yaml.safe_dump(settings, sort_keys=False))]
    option = " --config rules.yaml" if value else ""
    message = (
        f"$ gpuyard lint {name}{option}\n{_said(rule, read(text.encode(), name), value or {})}"
    )
    return [*shown, _block("text", message)]


def _said(rule: Rule, reading: LintInput, parameters: dict[str, Any]) -> str:
    screen = io.StringIO()
    console = Console(screen)
    settings = RuleConfiguration(parameters={rule.id: parameters})
    for number, hit in enumerate(build_report(reading, [rule], settings).hits):
        if number:
            console.print()
        show_hits([hit], console)
    return screen.getvalue()


def _file(case: dict[str, Any]) -> tuple[str, str, str]:
    """A file with the resources of a case: its name, its language, its text."""
    raws = case["resources"]
    if any("properties" in raw for raw in raws):
        states = [_state(raw) for raw in raws]
        text = json.dumps({"version": 3, "deployment": {"resources": states}}, indent=2)
        return "state.json", "json", text + "\n"
    if all("chart" in raw for raw in raws):
        return "values.yaml", "yaml", _yaml([raw["values"] for raw in raws])
    return "objects.yaml", "yaml", _yaml([raw.get("values", raw) for raw in raws])


def _yaml(documents: list[Any]) -> str:
    return "---\n".join(yaml.safe_dump(each, sort_keys=False, width=100) for each in documents)


def _state(raw: dict[str, Any]) -> dict[str, Any]:
    """A resource as in `pulumi stack export`, with the fields that the rules read."""
    if "apiVersion" in raw:
        group = raw["apiVersion"] if "/" in raw["apiVersion"] else f"core/{raw['apiVersion']}"
        token, name, inputs = f"kubernetes:{group}:{raw['kind']}", raw["metadata"]["name"], raw
    elif "chart" in raw:
        token, name = "kubernetes:helm.sh/v3:Release", raw["chart"]
        inputs = {"chart": raw["chart"], "values": raw["values"]}
    else:
        token, name, inputs = raw["type"], raw["name"], raw["properties"]
    created: dict[str, Any] = {"urn": f"urn:pulumi:dev::x::{token}::{name}", "type": token}
    return {**created, **({"protect": True} if raw.get("protect") else {}), "inputs": inputs}


def _block(language: str, text: str) -> str:
    lines = text.strip("\n").splitlines()
    if len(lines) > LONG:
        half = LONG // 2
        lines = [*lines[:half], f"# … {len(lines) - LONG} lines more …", *lines[-half:]]
    return "\n".join([f"```{language}", *lines, "```"])
