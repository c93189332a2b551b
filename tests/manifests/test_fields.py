"""Readers of plain values: what is not there, or something else, is empty; what is unknown ends the rule."""

import pytest

from gpuyard_core.manifests.fields import (
    UNKNOWN,
    NotEvaluatedError,
    PlaceholderText,
    block,
    enum_value,
    is_true,
    items,
    mapping,
    mappings,
    number,
    text,
)

VALUE = {"spec": {"names": ["a", {"b": 1}, None], "pair": ("c", "d"), "word": "e", "none": None}}


@pytest.mark.parametrize(
    ("read", "keys", "found"),
    [
        (mapping, (), VALUE),
        (mapping, ("spec", "word"), {}),
        (mapping, ("spec", "no", "such", "place"), {}),
        (mapping, ("spec", "names", "b"), {}),
        (items, ("spec", "names"), ["a", {"b": 1}, None]),
        (items, ("spec", "pair"), ["c", "d"]),
        (items, ("spec", "word"), []),
        (items, (), []),
        (mappings, ("spec", "names"), [{"b": 1}]),
        (mappings, ("spec", "none"), []),
        (text, ("spec", "word"), "e"),
        (text, ("spec", "names"), ""),
        (text, ("none", "word"), ""),
        (text, (), ""),
    ],
)
def test_what_is_not_there_or_something_else_is_empty(read, keys, found):
    assert read(VALUE, *keys) == found


@pytest.mark.parametrize("read", [mapping, items, mappings, text])
@pytest.mark.parametrize("value", [UNKNOWN, {"a": UNKNOWN}, {"a": {"b": UNKNOWN}}])
def test_what_is_not_known_yet_is_not_taken_for_empty(read, value):
    with pytest.raises(NotEvaluatedError):
        read(value, "a", "b")


def test_one_unknown_item_makes_a_list_of_mappings_unknown():
    with pytest.raises(NotEvaluatedError):
        mappings([{}, UNKNOWN])


@pytest.mark.parametrize("read", [block, is_true, items, mapping, number, enum_value])
def test_what_somebody_fills_in_is_no_list_no_mapping_no_number_and_no_word_of_a_few(read):
    with pytest.raises(NotEvaluatedError):
        read(PlaceholderText("${X}"))


def test_nor_is_it_a_mapping_of_a_list():
    with pytest.raises(NotEvaluatedError):
        mappings([{}, PlaceholderText("${X}")])


def test_as_text_it_is_what_it_is():
    assert text({"name": PlaceholderText("${X}")}, "name") == "${X}"


@pytest.mark.parametrize(("value", "found"), [("NoSchedule", "NoSchedule"), (None, ""), (5, "")])
def test_a_word_is_text(value, found):
    assert enum_value(value) == enum_value({"effect": value}, "effect") == found
