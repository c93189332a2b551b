"""Lint settings, the levels and parameters of rules: one document for `gpuyard lint --config` and the pack.

    levels:      by rule id: off, advisory or mandatory
    parameters:  by rule id: the parameters of the rule
    exceptions:  {rule, resource, reason, expires}: places that are exempt from a rule until a date

It is the `policies:` of a stack file, and `parameters`. The configuration of the pack has it under
`gpuyard:`, and is accepted too, so that one file can serve both. The section of a stack file is the same
document; `merge_settings` combines them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from pydantic import Field, ValidationError

from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Diagnostic, Fix, Path, Severity, error, warning
from gpuyard_core.models.problems import format_input, validation_findings
from gpuyard_core.models.values import Level, Policies, Text
from gpuyard_core.stack_files import CONFIG_KEY, PLATFORM_PATH, platform_in
from gpuyard_core.suggestions import nearest_name
from gpuyard_core.yaml_tree import Document, parse_yaml
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.run import Exemption, RuleConfiguration

PACK = "gpuyard"
"""The key of these settings in the configuration of the pack."""
_LEVEL_OF_PACK = "enforcementLevel"
"""The engine's own key next to them; gpuyard ignores it."""
SECTION = "policies"
"""The name of the levels in a stack file."""


class RuleSettings(Policies):
    """The settings document."""

    parameters: dict[Text, dict[str, Any]] = Field(default_factory=dict)
    """Parameters by rule id: {GPU-CAP-02: {max_gpus_per_node: 512}}. Default: each rule's own."""


def read_settings(data: bytes, file: str, rules: Sequence[Rule], today: date) -> RuleConfiguration:
    """The settings in a file; UsageError with every error and its line."""
    document = parse_yaml(data, file)
    value, prefix = _inner(document.value)
    return _validated(document, file, prefix, settings_of(value, rules, today))


def read_section(data: bytes, file: str, rules: Sequence[Rule], today: date) -> RuleConfiguration:
    """The settings in a stack file; UsageError with every error in its section and its line.

    The rest of the file is not validated: `gpuyard check` does that.
    """
    document = parse_yaml(data, file)
    platform = platform_in(document.value)
    if not isinstance(platform, Mapping):
        raise UsageError(
            f"{file}: not a stack file: it has no `config: {CONFIG_KEY}:` with a platform"
        )
    prefix: Path = (*PLATFORM_PATH, SECTION)
    return _validated(document, file, prefix, settings_of(section_of(platform), rules, today))


def section_of(platform: Any) -> Any:
    """The `policies` section of a platform; None if there is none."""
    return platform.get(SECTION) if isinstance(platform, Mapping) else None


def _validated(
    document: Document,
    file: str,
    prefix: Path,
    read: tuple[RuleConfiguration, Sequence[Diagnostic]],
) -> RuleConfiguration:
    settings, slips = read
    duplicates = [
        _slip(path[len(prefix) :], "duplicate key", "keep one of them")
        for path, _ in document.duplicates
        if path[: len(prefix)] == prefix
    ]
    lines = [(document.line_of((*prefix, *e.path)) or 1, e) for e in (*duplicates, *slips)]
    if lines:
        lines.sort(key=lambda each: each[0])
        raise UsageError("\n".join(f"{file}:{line}: {slip_text(slip)}" for line, slip in lines))
    return settings


def _slip(path: Path, problem: str, fix: str) -> Diagnostic:
    return error("settings", path, problem, fix=Fix(message=fix))


def slip_text(slip: Diagnostic) -> str:
    """An invalid entry of the document in one line, with its fix."""
    value = f"given {slip.given}" if slip.given else ""
    allowed = f"allowed: {slip.allowed}" if slip.allowed else ""
    problem = ", ".join(filter(None, (slip.problem, value, allowed)))
    return (
        f"{slip.location or 'the settings'}: {'; '.join(filter(None, (problem, slip.fix_message)))}"
    )


def _inner(value: Any) -> tuple[Any, Path]:
    """The settings below the pack's name, if the file is a configuration of the pack."""
    if not (isinstance(value, Mapping) and isinstance(value.get(PACK), Mapping)):
        return value, ()
    return {k: v for k, v in value[PACK].items() if k != _LEVEL_OF_PACK}, (PACK,)


def settings_of(
    value: Any, rules: Sequence[Rule], today: date
) -> tuple[RuleConfiguration, Sequence[Diagnostic]]:
    """The settings and their errors; with any error, all rules keep their defaults."""
    try:
        read = RuleSettings.model_validate({} if value is None else value)
    except ValidationError as e:
        return RuleConfiguration(today=today), validation_findings(e, RuleSettings, value)
    by_id = {rule.id: rule for rule in rules}
    slips = (*_unknown_rules(read, by_id), *_wrong_parameters(read, by_id))
    return (RuleConfiguration(today=today) if slips else _settings(read, by_id, today)), slips


def _unknown_rules(read: RuleSettings, by_id: Mapping[str, Rule]) -> Iterator[Diagnostic]:
    for path, rule, suggestion in _unknown_names(read, by_id):
        fix = (
            f"did you mean {suggestion}?"
            if suggestion
            else "`gpuyard lint --rules` lists every rule"
        )
        yield _slip(path, f"no rule {format_input(rule)}", fix)


def _unknown_names(
    read: RuleSettings, by_id: Mapping[str, Rule]
) -> Iterator[tuple[Path, str, str | None]]:
    """Unknown rule ids: the path, the id and the nearest known one."""
    named: list[tuple[Path, str]] = [(("levels", rule), rule) for rule in read.levels]
    named += [(("parameters", rule), rule) for rule in read.parameters]
    named += [(("exceptions", n, "rule"), each.rule) for n, each in enumerate(read.exceptions)]
    return ((path, rule, nearest_name(rule, by_id)) for path, rule in named if rule not in by_id)


def unknown_rules(policies: Policies, rules: Sequence[Rule]) -> Iterator[Diagnostic]:
    """The same for a stack file's section, before the linter or the pack rejects it."""
    by_id = {rule.id: rule for rule in rules}
    read = RuleSettings(levels=policies.levels, exceptions=policies.exceptions)
    for path, rule, suggestion in _unknown_names(read, by_id):
        yield warning(
            "policies.unknown_rule",
            (SECTION, *path),
            f"{format_input(rule)} is not a rule: `gpuyard lint --stack` and the policy pack reject `policies`",
            given=rule,
            allowed="the ids that `gpuyard lint --rules` lists",
            fix=_named_right(read, path, suggestion),
        )


def _named_right(read: RuleSettings, path: Path, suggestion: str | None) -> Fix:
    """The fix: the nearest id in its place, or remove the entry."""
    message = f"write {suggestion}" if suggestion else "remove it"
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


def _wrong_parameters(read: RuleSettings, by_id: Mapping[str, Rule]) -> Iterator[Diagnostic]:
    for rule, parameters in read.parameters.items():
        known = by_id[rule].parameters if rule in by_id else parameters
        for name, value in parameters.items():
            path = ("parameters", rule, name)
            if name not in known:
                suggestion = nearest_name(name, known)
                fix = (
                    f"did you mean {suggestion}?"
                    if suggestion
                    else f"its parameters: {', '.join(known) or 'none'}"
                )
                yield _slip(path, f"{rule} has no parameter {name}", fix)
            elif expected := _incompatibility(value, known[name]):
                yield _slip(
                    path, f"{format_input(value)} is not a {expected}", f"write a {expected}"
                )


def _incompatibility(value: Any, default: Any) -> str:
    """The expected type if a value does not match that of the default; "" if it does."""
    match default:
        case bool():
            return "" if isinstance(value, bool) else "boolean"
        case int() | float():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return "" if is_number else "number"
        case str():
            return "" if isinstance(value, str) else "string"
        case list() | tuple() | frozenset():
            texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
            return "" if texts else "list of strings"
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
                name: type(default)(value) if isinstance(default, tuple | frozenset) else value
                for name, value in parameters.items()
                for default in (by_id[rule].parameters[name],)
            }
            for rule, parameters in read.parameters.items()
        },
        exemptions=tuple(
            Exemption(each.rule, each.resource, each.reason, each.expires)
            for each in read.exceptions
        ),
        today=today,
    )


def _severity(level: Level, rule: Rule) -> Severity:
    """Mandatory is an error; advisory keeps the rule's severity, at most a warning."""
    if level is Level.MANDATORY:
        return Severity.ERROR
    return Severity.WARNING if rule.severity is Severity.ERROR else rule.severity


def expired_exemptions(settings: RuleConfiguration) -> list[str]:
    """A line for each expired exception: its rule applies again."""
    return [
        f"the exception to {each.rule} for {each.resource} expired on {each.expires}"
        for each in settings.exemptions
        if settings.is_expired(each)
    ]


def merge_settings(first: RuleConfiguration, others: RuleConfiguration) -> RuleConfiguration:
    """Both: levels and parameters of the first take precedence; exceptions are combined."""
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
