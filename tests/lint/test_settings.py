"""One document of settings, for the command line and for the pack: what it means, and every slip in it."""

import datetime as dt

import pytest

from gpuyard.spec.sections import Policies
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import Rule
from gpuyard_lint.rules.run import Exemption, RuleConfiguration
from gpuyard_lint.settings import (
    RuleSettings,
    expired_exemptions,
    merge_settings,
    read_section,
    read_settings,
    section_of,
    settings_of,
)

TODAY = dt.date(2026, 11, 21)


def rule(rule_id, severity=Severity.ERROR, **parameters):
    return Rule(
        id=rule_id,
        title="t",
        severity=severity,
        why="w",
        fix="f",
        sources=("s",),
        kinds=("Widget",),
        parameters=parameters,
    )


RULES = (
    rule("GPU-X-01", names=("a",), most=3, on=True, label="l", price=None, few=frozenset({"q"})),
    rule("GPU-X-02", Severity.WARNING),
    rule("GPU-X-03", Severity.INFO),
)


def read(text):
    return read_settings(text.encode(), "rules.yaml", RULES, TODAY)


def slips(text):
    with pytest.raises(UsageError) as raised:
        read(text)
    return str(raised.value).splitlines()


def test_an_empty_document_leaves_every_rule_as_it_is():
    settings = read("")
    assert (settings.off, settings.severities, settings.parameters) == (frozenset(), {}, {})
    assert (settings.exemptions, settings.today) == ((), TODAY)


@pytest.mark.parametrize(
    ("rule_id", "level", "severity"),
    [
        ("GPU-X-01", "mandatory", Severity.ERROR),
        ("GPU-X-02", "mandatory", Severity.ERROR),
        ("GPU-X-03", "mandatory", Severity.ERROR),
        ("GPU-X-01", "advisory", Severity.WARNING),
        ("GPU-X-02", "advisory", Severity.WARNING),
        ("GPU-X-03", "advisory", Severity.INFO),
    ],
)
def test_mandatory_stops_and_advice_never_does(rule_id, level, severity):
    assert read(f"levels: {{{rule_id}: {level}}}").severities == {rule_id: severity}


def test_a_rule_that_is_off_has_no_severity():
    settings = read("levels: {GPU-X-01: off, GPU-X-02: advisory}")
    assert settings.off == {"GPU-X-01"}
    assert settings.severities == {"GPU-X-02": Severity.WARNING}


def test_a_parameter_has_the_type_of_its_default():
    given = "{names: [b, c], most: 4, on: false, label: m, price: 2.5, few: [r]}"
    assert read(f"parameters: {{GPU-X-01: {given}}}").parameters == {
        "GPU-X-01": {
            "names": ("b", "c"),
            "most": 4,
            "on": False,
            "label": "m",
            "price": 2.5,
            "few": frozenset({"r"}),
        }
    }


EXCEPTION = "{rule: GPU-X-01, resource: a, reason: moves out, expires: 2027-03-31}"


def test_an_exception_has_its_reason_and_its_end():
    assert read(f"exceptions: [{EXCEPTION}]").exemptions == (
        Exemption("GPU-X-01", "a", "moves out", dt.date(2027, 3, 31)),
    )


def test_the_configuration_of_the_pack_is_read_as_well():
    text = f'{{"gpuyard": {{"enforcementLevel": "mandatory", "exceptions": [{EXCEPTION}]}}}}'
    assert read(text).exemptions == read(f"exceptions: [{EXCEPTION}]").exemptions
    assert slips('{"gpuyard": {\n"levels": {"GPU-X-1": "off"}}}') == [
        "rules.yaml:2: levels.GPU-X-1: no rule 'GPU-X-1'; did you mean GPU-X-01?"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "levels:\n  GPU-X-1: off",
            "rules.yaml:2: levels.GPU-X-1: no rule 'GPU-X-1'; did you mean GPU-X-01?",
        ),
        (
            "parameters: {Z: {}}",
            "rules.yaml:1: parameters.Z: no rule 'Z'; `gpuyard lint --rules` lists every rule",
        ),
        (
            "exceptions:\n- rule: GPU-X-09\n  resource: a\n  reason: b\n  expires: 2027-01-01",
            "rules.yaml:2: exceptions[0].rule: no rule 'GPU-X-09'; did you mean GPU-X-03?",
        ),
        (
            "exceptions: [{rule: GPU-X-01, resource: a, expires: 2027-01-01}]",
            "rules.yaml:1: exceptions[0].reason: `reason` is missing; add `reason:`",
        ),
        (
            "exceptions: [{rule: GPU-X-01, resource: a, reason: '', expires: 2027-01-01}]",
            "rules.yaml:1: exceptions[0].reason: too short, given '', allowed: at least 1 character",
        ),
        (
            "levels: {GPU-X-01: strict}",
            (
                "rules.yaml:1: levels.GPU-X-01: not a valid value, given 'strict',"
                " allowed: off, advisory, mandatory"
            ),
        ),
        (
            "parameters: {GPU-X-01: {mots: 4}}",
            "rules.yaml:1: parameters.GPU-X-01.mots: GPU-X-01 has no parameter mots; did you mean most?",
        ),
        (
            "parameters: {GPU-X-02: {mots: 4}}",
            "rules.yaml:1: parameters.GPU-X-02.mots: GPU-X-02 has no parameter mots; its parameters: none",
        ),
        (
            "levels: {}\nlevels: {}",
            "rules.yaml:1: levels: duplicate key; keep one of them",
        ),
        ("[]", "rules.yaml:1: the settings: wrong type, given [], allowed: a mapping (key: value)"),
    ],
)
def test_a_slip_is_said_with_its_line_and_what_was_meant(text, said):
    assert slips(text) == [said]


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("names", "b", "list of strings"),
        ("names", "[1]", "list of strings"),
        ("few", "{}", "list of strings"),
        ("most", "many", "number"),
        ("most", "true", "number"),
        ("on", "1", "boolean"),
        ("label", "3", "string"),
    ],
)
def test_a_parameter_of_another_type_is_refused(name, value, wanted):
    (said,) = slips(f"parameters: {{GPU-X-01: {{{name}: {value}}}}}")
    assert said.startswith(f"rules.yaml:1: parameters.GPU-X-01.{name}: ")
    assert said.endswith(f" is not a {wanted}; write a {wanted}")


def test_every_slip_is_said_at_once_in_the_order_of_the_file():
    found = slips(
        "exceptions: [{rule: A, resource: a, reason: b, expires: 2027-01-01}]\nlevels: {B: off}"
    )
    assert [line.split(": ")[0] for line in found] == ["rules.yaml:1", "rules.yaml:2"]


def test_with_a_slip_every_rule_is_held_as_it_is():
    settings, found = settings_of({"levels": {"GPU-X-01": "off", "Z": "off"}}, RULES, TODAY)
    assert (settings.off, len(found)) == (frozenset(), 1)
    settings, found = settings_of({"levels": 5}, RULES, TODAY)
    assert (settings.off, len(found)) == (frozenset(), 1)


def test_an_exception_that_is_over_is_said():
    over = EXCEPTION.replace("2027-03-31", "2026-11-21").replace("resource: a", "resource: b")
    settings = read(f"exceptions: [{EXCEPTION}, {over}]")
    assert expired_exemptions(settings) == ["the exception to GPU-X-01 for b expired on 2026-11-21"]
    from dataclasses import replace

    assert expired_exemptions(replace(settings, today=None)) == []


def test_the_document_is_the_section_of_a_stack_file_with_parameters_beside():
    assert set(RuleSettings.model_fields) - set(Policies.model_fields) == {"parameters"}


# ── the section of a stack file ──


def section(policies, before=""):
    text = f"config:\n  gpuyard:platform:\n    name: lab\n{before}{policies}"
    return read_section(text.encode(), "lab.yaml", RULES, TODAY)


def test_the_section_of_a_stack_file_is_the_same_document():
    inner = f"levels: {{GPU-X-02: mandatory}}, exceptions: [{EXCEPTION}]"
    assert section(f"    policies: {{{inner}}}") == read(f"{{{inner}}}")


@pytest.mark.parametrize("policies", ["", "    policies:\n", "    policies: {}\n"])
def test_a_stack_file_that_says_nothing_of_rules_leaves_them_as_they_are(policies):
    assert section(policies) == read("")


def test_a_slip_in_it_is_said_with_its_line_in_the_stack_file():
    with pytest.raises(UsageError) as raised:
        section("    policies:\n      levels:\n        GPU-X-1: off")
    assert str(raised.value) == (
        "lab.yaml:6: levels.GPU-X-1: no rule 'GPU-X-1'; did you mean GPU-X-01?"
    )
    with pytest.raises(UsageError) as raised:
        section("    policies: {levels: {}}\n    policies: {}")
    assert str(raised.value) == "lab.yaml:4: the settings: duplicate key; keep one of them"


def test_what_is_wrong_elsewhere_in_a_stack_file_is_left_to_check():
    settings = section("    policies: {levels: {GPU-X-02: off}}", "    cloud: moon\n    cloud: x\n")
    assert settings.off == {"GPU-X-02"}


@pytest.mark.parametrize(
    "text", ["", "[]", "levels: {}", "config: 1", "config: {gpuyard:platform: lab}"]
)
def test_what_is_no_stack_file_is_refused(text):
    with pytest.raises(UsageError) as raised:
        read_section(text.encode(), "x.yaml", RULES, TODAY)
    assert str(raised.value) == (
        "x.yaml: not a stack file: it has no `config: gpuyard:platform:` with a platform"
    )


@pytest.mark.parametrize("platform", [None, "lab", ["policies"], {"name": "lab"}])
def test_without_a_section_there_is_no_document(platform):
    assert section_of(platform) is None


# ── two documents ──


@pytest.mark.parametrize(
    ("first", "others", "off", "severities"),
    [
        ("off", "mandatory", {"GPU-X-02"}, {}),
        ("mandatory", "off", set(), {"GPU-X-02": Severity.ERROR}),
        ("advisory", "mandatory", set(), {"GPU-X-02": Severity.WARNING}),
        (None, "off", {"GPU-X-02"}, {}),
        ("off", None, {"GPU-X-02"}, {}),
        (None, "mandatory", set(), {"GPU-X-02": Severity.ERROR}),
        (None, None, set(), {}),
    ],
)
def test_of_two_documents_the_first_that_has_a_level_for_a_rule_decides(
    first, others, off, severities
):
    one, other = (read(f"levels: {{GPU-X-02: {each}}}" if each else "") for each in (first, others))
    found = merge_settings(one, other)
    assert (found.off, found.severities, found.today) == (off, severities, TODAY)


def test_exceptions_hold_from_both_and_parameters_from_the_first():
    one = RuleConfiguration(parameters={"GPU-X-01": {"most": 1}}, exemptions=(A,), today=TODAY)
    other = RuleConfiguration(
        parameters={"GPU-X-01": {"most": 2}, "GPU-X-02": {"b": 3}}, exemptions=(B, A), today=TODAY
    )
    found = merge_settings(one, other)
    assert found.parameters == {"GPU-X-01": {"most": 1}, "GPU-X-02": {"b": 3}}
    assert found.exemptions == (A, B)


A, B = (Exemption("GPU-X-01", name, "moves out", dt.date(2027, 3, 31)) for name in "ab")
