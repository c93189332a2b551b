"""The proofs of findings: for each id one file with cases that give it, cases that do not, and its meaning.

tests/plan/proofs/ID.yaml contains all of it. tests/plan/test_proofs.py checks every case;
scripts/finding_pages.py generates docs/findings/ID.md from the same file. CONTRIBUTING.md describes how to add one.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

from case_files import COMPACT, DUMPER, load
from gpuyard.changes.deployed_state import DeployedState, deployed_state
from gpuyard.changes.findings import compare_with_deployed
from gpuyard.cli.stacks import validate_text
from gpuyard.plan.fact_ages import AGE_WARNINGS
from gpuyard.plan.software.support import check_pins
from gpuyard.preflight.probes import Probe, ProbeAnswer
from gpuyard.render.observability.contract import check_query
from gpuyard.render.observability.rules import query_scope
from gpuyard.spec.read import ParsedStackFile
from gpuyard.stack_validation import ValidatedStack
from gpuyard_core.catalogue.software.pins import PINS, Pin
from gpuyard_core.findings import Diagnostic, Fix, Severity, sort_findings
from gpuyard_core.local_files import file_reader
from gpuyard_core.stack_files import CONFIG_KEY

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "plan" / "proofs"
FILE = "stack.yaml"
TODAY = date(2026, 11, 21)
"""Default day of a file."""

NEEDED = {"title", "severity", "why", "do", "bad", "good", "near_miss"}
ALLOWED = NEEDED | {"today", "sources"}
CASE = {"name", "base", "with", "platform", "config", "text", "pin", "account", "against", "query"}
EXPECTED = {"at", "says", "also", "fix", "severity", "today", "reveals"}
LEAST = {"bad": 2, "good": 2, "near_miss": 1}


@dataclass(frozen=True)
class Case:
    """One stack and its expectation: the finding if it has a place, else not that finding."""

    id: str
    kind: str
    number: int
    name: str
    raw: Mapping[str, Any]
    today: date
    severity: Severity

    @cached_property
    def text(self) -> str:
        """The stack file; "" for a case about a pinned version or a query, which is in no file."""
        return _text(self.raw)

    @property
    def found(self) -> bool:
        """True if the finding must be reported."""
        return "at" in self.raw

    @property
    def label(self) -> str:
        """The id of the test."""
        return f"{self.id}-{self.kind}-{self.number}"

    @property
    def platform(self) -> Any:
        """The value under `gpuyard:platform`."""
        return load(self.text)["config"][CONFIG_KEY]

    def with_platform(self, platform: Any) -> str:
        """The same stack file with another platform."""
        return stack_text(platform, self.raw.get("config"))


@dataclass(frozen=True)
class Proofs:
    """All about one finding."""

    id: str
    raw: Mapping[str, Any]
    cases: tuple[Case, ...]

    def of(self, kind: str) -> list[Case]:
        """The bad, the good or the near cases."""
        return [case for case in self.cases if case.kind == kind]


def ids() -> list[str]:
    """Every finding that has a file."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def read(kind: str) -> Proofs:
    """The proofs of one finding; ValueError describes an error of the file."""
    path = FOLDER / f"{kind}.yaml"
    raw = load(path.read_text(encoding="utf-8"))
    if wrong := _wrong(raw):
        raise ValueError(f"{path}: {wrong}")
    return Proofs(kind, raw, tuple(_cases(kind, raw)))


def _wrong(raw: Any) -> str:
    if not isinstance(raw, dict):
        return "a mapping is needed"
    if missing := NEEDED - set(raw):
        return f"lacks {', '.join(sorted(missing))}"
    if more := set(raw) - ALLOWED:
        return f"unknown: {', '.join(sorted(more))}"
    messages = (_wrong_cases(kind, raw[kind]) for kind in LEAST)
    return next(filter(None, messages), "")


def _wrong_cases(kind: str, cases: list[Mapping[str, Any]]) -> str:
    if len(cases) < LEAST[kind]:
        return f"at least {LEAST[kind]} under `{kind}`"
    for number, case in enumerate(cases):
        if more := set(case) - CASE - EXPECTED:
            return f"{kind}[{number}] has unknown {', '.join(sorted(more))}"
        if (kind, "at" in case) in {("bad", False), ("good", True)}:
            return f"{kind}[{number}]: `at` is the place of the finding, in bad cases only"
    return ""


def _cases(kind: str, raw: Mapping[str, Any]) -> Iterator[Case]:
    for group in LEAST:
        for number, case in enumerate(raw[group]):
            yield Case(
                id=kind,
                kind=group,
                number=number,
                name=case.get("name", ""),
                raw=case,
                today=case.get("today", raw.get("today", TODAY)),
                severity=Severity(case.get("severity", raw["severity"])),
            )


def _text(case: Mapping[str, Any]) -> str:
    if {"pin", "query"} & case.keys():
        return ""
    if "text" in case:
        return str(case["text"])
    if "platform" in case:
        return stack_text(expanded(case["platform"]), case.get("config"))
    base = (FOLDER / "bases" / f"{case.get('base', 'own')}.yaml").read_text(encoding="utf-8")
    return stack_text(patched(load(base), expanded(case.get("with", {}))), case.get("config"))


def stack_text(platform: Any, config: Mapping[str, Any] | None = None) -> str:
    """A stack file with this platform, in a compact form."""
    content = {"config": {**(config or {}), CONFIG_KEY: platform}}
    return str(yaml.dump(content, Dumper=DUMPER, **COMPACT))


def patched(value: Any, patch: Any) -> Any:
    """A JSON merge patch; a mapping with numbers as keys changes items of a list, or adds the next."""
    if not isinstance(patch, dict):
        return patch
    if isinstance(value, list) and patch and all(isinstance(key, int) for key in patch):
        items = copy.deepcopy(value)
        for index, change in patch.items():
            if index == len(items):
                items.append(patched({}, change))
            else:
                items[index] = patched(items[index], change)
        return items
    result = copy.deepcopy(value) if isinstance(value, dict) else {}
    for key, change in patch.items():
        if change is None:
            result.pop(key, None)
        else:
            result[key] = patched(result.get(key), change)
    return result


def expanded(value: Any, number: int | None = None) -> Any:
    """`{$times: 3, $each: X}` is a list of three X, or one mapping when X is one and `$map` is true.

    `{n}` in a text is the number of the repetition.
    """
    if isinstance(value, dict) and "$times" in value:
        created = [expanded(value["$each"], n) for n in range(value["$times"])]
        return {k: v for each in created for k, v in each.items()} if value.get("$map") else created
    if isinstance(value, dict):
        return {expanded(k, number): expanded(v, number) for k, v in value.items()}
    if isinstance(value, list):
        return [expanded(each, number) for each in value]
    if isinstance(value, str) and number is not None:
        return value.replace("{n}", str(number))
    return value


def judged(case: Case) -> ValidatedStack:
    """The result of `gpuyard check` for a case."""
    if "pin" in case.raw:
        return _judged_pin(case.raw["pin"])
    if "query" in case.raw:
        return _judged_query(case)
    judged = judged_text(case, case.text)
    return _asked(judged, case.raw["account"]) if "account" in case.raw else judged


def judged_text(case: Case, text: str) -> ValidatedStack:
    """The same for another stack file, with the case's deployed platform.

    Nearly every stack gets warnings about old facts on the usual day: only cases of such a warning keep them.
    """
    result = validate_text(text.encode(), FILE, case.today, file_reader(FOLDER.parents[2]))
    if "against" in case.raw:
        result, _ = compare_with_deployed(result, _deployed(case.raw["against"]))
    if case.id in AGE_WARNINGS:
        return result
    return replace(
        result, findings=tuple(each for each in result.findings if each.id not in AGE_WARNINGS)
    )


def _deployed(messages: Mapping[str, Any]) -> DeployedState:
    """The deployed state: the steps of a preview, or the platform's report of pools and teams."""
    urn = "urn:pulumi:dev::lab::gpuyard:index:Platform::platform"
    platform = {"urn": urn, "type": "gpuyard:index:Platform"}
    if "steps" in messages:
        return deployed_state(
            {"steps": [{"op": "same", "urn": urn, "oldState": platform}, *messages["steps"]]}
        )
    return deployed_state(
        {"version": 3, "deployment": {"resources": [{**platform, "outputs": messages}]}}
    )


_CALLERS = {
    "aws": {
        "UserId": "AIDA",
        "Account": "123456789012",
        "Arn": "arn:aws:iam::123456789012:user/ann",
    },
    "gcp": {"core": {"account": "ann@example.com", "project": "lab"}},
}


def _asked(judged: ValidatedStack, account: Mapping[str, Any]) -> ValidatedStack:
    """The result of `gpuyard check --live` if the account gives only these answers."""
    if judged.plan is None:
        return judged
    caller = {"caller": _CALLERS[judged.plan.cloud.value]}

    def ask(questions: Sequence[Probe]) -> dict[str, ProbeAnswer]:
        return {each.name: _recorded({**caller, **account}, each.name) for each in questions}

    response = judged.plan.provider.probe_account(judged.plan, ask, judged.reading.account)
    more = response.findings if response else ()
    return replace(judged, findings=tuple(sort_findings([*judged.findings, *more])))


def _recorded(answers: Mapping[str, Any], name: str) -> ProbeAnswer:
    """An answer as written in a file: a value, `{error: ParameterNotFound}`, or `{why: not allowed to ask}`."""
    if name not in answers:
        return ProbeAnswer(failure_reason="not recorded")
    message = answers[name] if isinstance(answers[name], dict) else {}
    if message.keys() & {"error", "why"}:
        return ProbeAnswer(error=message.get("error", ""), failure_reason=message.get("why", ""))
    return ProbeAnswer(value=answers[name])


def _judged_pin(pin: Mapping[str, str]) -> ValidatedStack:
    source = next(iter(PINS.values())).source
    findings = check_pins([Pin(pin["name"], pin["version"], source, pin.get("component", ""))])
    return ValidatedStack(ParsedStackFile(None, ()), None, tuple(sort_findings(findings)))


def _judged_query(case: Case) -> ValidatedStack:
    """The problems of a query on the platform of the case."""
    stack = _text({key: value for key, value in case.raw.items() if key != "query"})
    plan = validate_text(stack.encode(), FILE, case.today).plan
    if plan is None:
        raise ValueError(f"{case.label}: its platform is rejected")
    findings = check_query(case.raw["query"], query_scope(plan), ("query",))
    return ValidatedStack(ParsedStackFile(None, ()), None, tuple(sort_findings(findings)))


def applied(platform: Any, fix: Fix) -> Any:
    """The same platform with the fix applied; None deletes the value."""
    if fix.at is None:
        raise ValueError("the fix has no path")
    if not fix.at:
        return copy.deepcopy(fix.value)
    root = copy.deepcopy(platform)
    parent = root
    for step in fix.at[:-1]:
        parent = parent[step]
    if fix.value is None:
        del parent[fix.at[-1]]
    else:
        parent[fix.at[-1]] = copy.deepcopy(fix.value)
    return root


def how_fixed(finding: Diagnostic) -> str:
    """`applied` by a program, in `words` for a person, or `none`."""
    if finding.fix is None:
        return "none"
    return "words" if finding.fix.at is None else "applied"
