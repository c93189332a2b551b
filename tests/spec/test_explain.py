"""Messages for pydantic's errors: stable ids, allowed values, and a value when only one is plausible."""

import pytest
from pydantic_core._pydantic_core import list_all_errors

from gpuyard_core.models.problems import ErrorMessage, explain
from gpuyard_core.suggestions import nearest_name
from kit.every import every


def said(kind, given, **context):
    return explain({"type": kind, "loc": (), "msg": "Input is odd", "input": given, "ctx": context})


@every(
    ("kind", "given", "value", "fix"),
    [
        ("string_type", 1.36, "1.36", 'write "1.36" in quotes'),
        ("string_type", 5, "5", 'write "5" in quotes'),
        ("string_type", True, None, ""),
        ("string_type", ["a"], None, ""),
        ("tuple_type", "a", ["a"], "write [a]"),
        ("tuple_type", {}, None, ""),
        ("bool_type", "Yes", True, "write true"),
        ("bool_type", "off", False, "write false"),
        ("bool_type", "maybe", None, ""),
        ("bool_type", 1, None, ""),
        ("int_type", "2", 2, "write 2"),
        ("int_type", " -2 ", -2, "write -2"),
        ("int_type", 2.0, 2, "write 2"),
        ("int_type", 2.5, None, ""),
        ("int_type", "2.5", None, ""),
        ("int_type", "two", None, ""),
        ("int_type", True, None, ""),
        ("float_type", "2.5", 2.5, "write 2.5"),
        ("float_type", "260", 260, "write 260"),
        ("float_type", "1e3", None, ""),
        ("float_type", True, None, ""),
        ("model_type", "a: 1", None, ""),
        ("date_type", "soon", None, ""),
    ],
)
def test_a_wrong_type_has_a_fix_where_the_value_can_only_mean_one_thing(kind, given, value, fix):
    found = said(kind, given)
    assert (found.id, found.problem) == ("spec.wrong_type", "wrong type")
    assert (found.value, found.fix) == (value, fix)
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    ("kind", "context", "allowed", "value"),
    [
        ("greater_than_equal", {"ge": 1}, "at least 1", 1),
        ("less_than_equal", {"le": 1_000_000}, "at most 1,000,000", 1_000_000),
        ("greater_than", {"gt": 0}, "more than 0", None),
        ("less_than", {"lt": 0.5}, "less than 0.5", None),
        ("finite_number", {}, "a finite number", None),
    ],
)
def test_a_bound_that_is_within_is_the_nearest_value(kind, context, allowed, value):
    found = said(kind, 7, **context)
    assert (found.id, found.allowed, found.value) == ("spec.out_of_bounds", allowed, value)


@pytest.mark.parametrize(
    ("kind", "context", "problem", "allowed"),
    [
        ("too_short", {"min_length": 1}, "too short", "at least 1 entry"),
        ("too_long", {"max_length": 1000}, "too long", "at most 1,000 entries"),
        ("string_too_short", {"min_length": 1}, "too short", "at least 1 character"),
        ("string_too_long", {"max_length": 253}, "too long", "at most 253 characters"),
    ],
)
def test_a_length_is_counted_in_what_it_counts(kind, context, problem, allowed):
    assert said(kind, [], **context) == ErrorMessage("spec.length", problem, allowed)


def test_control_characters_are_taken_out_and_a_text_of_nothing_else_has_no_fix():
    assert said("string_pattern_mismatch", "a\x1b[1mb\x7f").value == "a[1mb"
    assert said("string_pattern_mismatch", "\x07").value is None


def test_an_error_nobody_thought_of_keeps_the_words_of_pydantic_and_an_id_of_ours():
    assert said("frozen_set_type", 1) == ErrorMessage("spec.wrong_type", "input is odd")


@every("kind", [each["type"] for each in list_all_errors()])
def test_no_error_of_pydantic_makes_an_id_of_its_own(kind):
    context = {
        "expected": "'a' or 'b'", "ge": 1, "gt": 1, "le": 1, "lt": 1, "min_length": 1, "max_length": 1,
    }  # fmt: skip
    assert said(kind, "text", **context).id in {
        "spec.wrong_type", "spec.unknown_word", "spec.out_of_bounds", "spec.length", "spec.characters",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("garantee", ("guarantee", "borrow"), "guarantee"),
        ("GROUPS", ("groups",), "groups"),
        ("group", ("groups", "guarantee"), "groups"),
        ("spott", ("spot", "block"), "spot"),
        ("colour", ("cloud", "cluster"), None),
        ("h100nvl", ("H100", "H10", "h200"), "H100"),
        ("l4nvl", ("L4",), None),
        ("azure", ("aws", "gcp"), None),
        ("", ("a",), None),
        ("x" * 10_000, ("x" * 100,), "x" * 100),
    ],
)
def test_a_slip_is_recognised_and_another_word_is_not(word, known, near):
    assert nearest_name(word, known) == near
