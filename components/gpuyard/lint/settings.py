"""Lint settings, how strictly rules are held: one document for `gpuyard lint --config` and the policy pack.

    levels:      by rule id: off, advisory or mandatory
    parameters:  by rule id: what it lets be set
    exceptions:  {rule, resource, reason, expires}: places where a rule need not hold for a while

It is the `policies:` of a stack file with `parameters` beside. The configuration of the pack has it under
`gpuyard:`, and is read as well, so that one file can serve both. A stack file's own section is the same
document; what stands in both is decided by `together`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from pydantic import Field, ValidationError

from gpuyard.errors import UsageError
from gpuyard.findings import Finding, Fix, Path, Severity, show_path, warning
from gpuyard.rules.rule import Rule
from gpuyard.rules.run import Exemption, RuleConfiguration
from gpuyard.spec.problems import format_input, validation_findings
from gpuyard.spec.read import CONFIG_KEY, PLATFORM_PATH, platform_in
from gpuyard.spec.sections import Level, Policies
from gpuyard.spec.suggestions import nearest_name
from gpuyard.spec.values import Text
from gpuyard.spec.yaml_tree import Document, parse_yaml

PACK = "gpuyard"
"""The name under which the configuration of the pack has these settings."""
_LEVEL_OF_PACK = "enforcementLevel"
"""The engine's own key beside them; it is none of ours."""
SECTION = "policies"
"""The word of a stack file for them."""


class RuleSettings(Policies):
    """The document."""

    parameters: dict[Text, dict[str, Any]] = Field(default_factory=dict)
    """By rule id, what it lets be set: {GPU-CAP-02: {max_gpus_per_node: 512}}. Default: each rule's own."""


@dataclass(frozen=True, slots=True)
class SettingsError:
    """Something that the document cannot say, and what to write instead."""

    path: Path
    problem: str
    fix: str

    def __str__(self) -> str:
        fix = f"; {self.fix}" if self.fix else ""
        return f"{show_path(self.path) if self.path else 'the settings'}: {self.problem}{fix}"


def read_settings(data: bytes, file: str, rules: Sequence[Rule], today: date) -> RuleConfiguration:
    """The settings in a file; UsageError with every slip and its line."""
    document = parse_yaml(data, file)
    value, prefix = _inner(document.value)
    return _validated(document, file, prefix, settings_of(value, rules, today))


def read_section(data: bytes, file: str, rules: Sequence[Rule], today: date) -> RuleConfiguration:
    """The settings in a stack file; UsageError with every slip in its section, and its line.

    Nothing else of the file is judged: `gpuyard check` does that.
    """
    document = parse_yaml(data, file)
    platform = platform_in(document.value)
    if not isinstance(platform, Mapping):
        raise UsageError(
            f"{file}: no stack file: it has no `config: {CONFIG_KEY}:` with a platform"
        )
    prefix: Path = (*PLATFORM_PATH, SECTION)
    return _validated(document, file, prefix, settings_of(section_of(platform), rules, today))


def section_of(platform: Any) -> Any:
    """What a platform says of rules, as the document; None when it says nothing."""
    return platform.get(SECTION) if isinstance(platform, Mapping) else None


def _validated(
    document: Document,
    file: str,
    prefix: Path,
    read: tuple[RuleConfiguration, tuple[SettingsError, ...]],
) -> RuleConfiguration:
    settings, slips = read
    every = [*_duplicates(document, prefix), *slips]
    lines = [(document.line_of((*prefix, *slip.path)) or 1, slip) for slip in every]
    if lines:
        lines.sort(key=lambda each: each[0])
        raise UsageError("\n".join(f"{file}:{line}: {slip}" for line, slip in lines))
    return settings


def _inner(value: Any) -> tuple[Any, Path]:
    """What stands under the pack's name, when the file is a configuration of the pack."""
    if not (isinstance(value, Mapping) and isinstance(value.get(PACK), Mapping)):
        return value, ()
    return {k: v for k, v in value[PACK].items() if k != _LEVEL_OF_PACK}, (PACK,)


def _duplicates(document: Document, prefix: Path) -> Iterator[SettingsError]:
    for path, _ in document.duplicates:
        if path[: len(prefix)] == prefix:
            yield SettingsError(path[len(prefix) :], "stands twice", "keep one of them")


def settings_of(
    value: Any, rules: Sequence[Rule], today: date
) -> tuple[RuleConfiguration, tuple[SettingsError, ...]]:
    """The settings, and what is wrong with them; with anything wrong, every rule as it is."""
    try:
        read = RuleSettings.model_validate({} if value is None else value)
    except ValidationError as e:
        result = validation_findings(e, RuleSettings, value)
        return RuleConfiguration(today=today), tuple(
            SettingsError(
                f.path, _worded(f.problem, f.value, f.allowed), f.fix.message if f.fix else ""
            )
            for f in result
        )
    by_id = {rule.id: rule for rule in rules}
    slips = (*_unknown_rules(read, by_id), *_wrong_parameters(read, by_id))
    return (RuleConfiguration(today=today) if slips else _settings(read, by_id, today)), slips


def _worded(problem: str, value: str, allowed: str) -> str:
    parts = [problem, f"given {value}" if value else "", f"allowed: {allowed}" if allowed else ""]
    return ", ".join(part for part in parts if part)


def _unknown_rules(read: RuleSettings, by_id: Mapping[str, Rule]) -> Iterator[SettingsError]:
    for path, rule, suggestion in _unknown_names(read, by_id):
        fix = (
            f"did you mean {suggestion}?"
            if suggestion
            else "`gpuyard lint --rules` lists every rule"
        )
        yield SettingsError(path, f"no rule {format_input(rule)}", fix)


def _unknown_names(
    read: RuleSettings, by_id: Mapping[str, Rule]
) -> Iterator[tuple[Path, str, str | None]]:
    """Where a rule is named that there is not, that name, and the one that may be meant."""
    named: list[tuple[Path, str]] = [(("levels", rule), rule) for rule in read.levels]
    named += [(("parameters", rule), rule) for rule in read.parameters]
    named += [(("exceptions", n, "rule"), each.rule) for n, each in enumerate(read.exceptions)]
    return ((path, rule, nearest_name(rule, by_id)) for path, rule in named if rule not in by_id)


def unknown_rules(policies: Policies, rules: Sequence[Rule]) -> Iterator[Finding]:
    """The same of a stack file's section, before the linter or the pack stops at it."""
    by_id = {rule.id: rule for rule in rules}
    read = RuleSettings(levels=policies.levels, exceptions=policies.exceptions)
    for path, rule, suggestion in _unknown_names(read, by_id):
        yield warning(
            "policies.unknown_rule",
            (SECTION, *path),
            f"no rule {format_input(rule)}: `gpuyard lint --stack` and the policy pack stop here",
            value=rule,
            allowed="what `gpuyard lint --rules` lists",
            fix=_named_right(read, path, suggestion),
        )


def _named_right(read: RuleSettings, path: Path, suggestion: str | None) -> Fix:
    """The name that may be meant in its place; where there is none, or it is there, nothing."""
    message = f"write {suggestion}" if suggestion else "take it away"
    if path[0] == "exceptions":
        return Fix(
            message=message,
            at=(SECTION, *path) if suggestion else (SECTION, *path[:-1]),
            value=suggestion,
        )
    at = (SECTION, "levels")
    other_levels = {k: v.value for k, v in read.levels.items() if k != path[1]}
    return Fix(
        message=message,
        at=at,
        value=({suggestion: read.levels[str(path[1])].value} if suggestion else {}) | other_levels,
    )


def _wrong_parameters(read: RuleSettings, by_id: Mapping[str, Rule]) -> Iterator[SettingsError]:
    for rule, parameters in read.parameters.items():
        known = by_id[rule].parameters if rule in by_id else parameters
        for name, value in parameters.items():
            path = ("parameters", rule, name)
            if name not in known:
                suggestion = nearest_name(name, known)
                fix = (
                    f"did you mean {suggestion}?"
                    if suggestion
                    else f"it has: {', '.join(known) or 'none'}"
                )
                yield SettingsError(path, f"{rule} has no such parameter", fix)
            elif expected := _incompatibility(value, known[name]):
                yield SettingsError(
                    path, f"{format_input(value)} is no {expected}", f"write a {expected}"
                )


def _incompatibility(value: Any, default: Any) -> str:
    """What stands there instead of a value like the default's; "" when it is like it."""
    match default:
        case bool():
            return "" if isinstance(value, bool) else "true or false"
        case int() | float():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return "" if is_number else "number"
        case str():
            return "" if isinstance(value, str) else "text"
        case list() | tuple() | frozenset():
            texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
            return "" if texts else "list of texts"
        case _:
            return ""


def _settings(read: RuleSettings, by_id: Mapping[str, Rule], today: date) -> RuleConfiguration:
    return RuleConfiguration(
        off=frozenset(rule for rule, level in read.levels.items() if level is Level.OFF),
        severities={
            rule: _severity(level, by_id[rule])
            for rule, level in read.levels.items()
            if level is not Level.OFF
        },
        parameters={
            rule: {
                name: _like(value, by_id[rule].parameters[name])
                for name, value in parameters.items()
            }
            for rule, parameters in read.parameters.items()
        },
        exemptions=tuple(
            Exemption(each.rule, each.resource, each.reason, each.expires)
            for each in read.exceptions
        ),
        today=today,
    )


def _like(value: Any, default: Any) -> Any:
    return type(default)(value) if isinstance(default, tuple | frozenset) else value


def _severity(level: Level, rule: Rule) -> Severity:
    """Mandatory stops; advice is as grave as the rule itself, but never stops."""
    if level is Level.MANDATORY:
        return Severity.ERROR
    return Severity.WARNING if rule.severity is Severity.ERROR else rule.severity


def expired_exemptions(settings: RuleConfiguration) -> list[str]:
    """A line for each exception that is over: its rule holds again."""
    return [
        f"the exception of {each.rule} for {each.resource} expired on {each.expires}"
        for each in settings.exemptions
        if settings.is_over(each)
    ]


def merge_settings(first: RuleConfiguration, others: RuleConfiguration) -> RuleConfiguration:
    """Both: what the first sets for a rule counts before what the others set, exceptions hold from each."""
    levels = first.off | first.severities.keys()
    return replace(
        first,
        off=first.off | (others.off - levels),
        severities={
            **{rule: s for rule, s in others.severities.items() if rule not in levels},
            **first.severities,
        },
        parameters={**others.parameters, **first.parameters},
        exemptions=tuple(dict.fromkeys((*first.exemptions, *others.exemptions))),
    )
