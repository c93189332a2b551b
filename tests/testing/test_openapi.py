"""The structural-schema validator: each word of a schema refuses what it should and nothing else."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard_testing.openapi import describe, join, nearest, violations
from gpuyard_testing.values import UNKNOWN
from kit.every import every

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def obj(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("expected", "good", "bad"),
    [
        ("string", ["", "a"], [1, True, [], {}]),
        ("integer", [0, -3, 4.0], ["1", 1.5, True, []]),
        ("number", [0, 1.5], ["1", False, {}]),
        ("boolean", [True, False], [0, "true", []]),
        ("array", [[], [1]], ["text", {}, 1]),
        ("object", [{}, {"a": 1}], [[], "a", 1]),
    ],
)
def test_types(expected, good, bad):
    schema = {"type": expected, "additionalProperties": True}
    assert [violations(schema, value) for value in good] == [[]] * len(good)
    for value in bad:
        assert violations(schema, value) == [("", f"given {describe(value)}, allowed: {expected}")]


@every(
    ("schema", "value", "expected"),
    [
        (
            {"enum": ["a", "b"], "type": "string"},
            "c",
            [("", 'given "c", allowed: "a", "b"')],
        ),
        (
            {"type": "string", "pattern": "^[a-z]+$"},
            "A",
            [("", 'given "A", allowed: text matching ^[a-z]+$')],
        ),
        (
            {"type": "string", "minLength": 2},
            "a",
            [("", "given 1 characters, allowed: at least 2")],
        ),
        (
            {"type": "string", "maxLength": 1},
            "ab",
            [("", "given 2 characters, allowed: at most 1")],
        ),
        ({"type": "integer", "minimum": 1}, 0, [("", "given 0, allowed: at least 1")]),
        ({"type": "integer", "maximum": 1}, 2, [("", "given 2, allowed: at most 1")]),
        (
            {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            1,
            [("", "given 1, allowed: more than 1")],
        ),
        (
            {"type": "number", "maximum": 1, "exclusiveMaximum": True},
            1,
            [("", "given 1, allowed: less than 1")],
        ),
        ({"type": "integer", "multipleOf": 4}, 6, [("", "given 6, allowed: a multiple of 4")]),
        (
            {"type": "integer", "format": "int32"},
            2**31,
            [("", "given 2147483648, allowed: a number that fits int32")],
        ),
        ({"type": "array", "minItems": 1}, [], [("", "given 0 items, allowed: at least 1")]),
        ({"type": "array", "maxItems": 1}, [1, 2], [("", "given 2 items, allowed: at most 1")]),
        (
            {"type": "object", "minProperties": 1},
            {},
            [("", "given 0 fields, allowed: at least 1")],
        ),
        (
            {"type": "object", "maxProperties": 1, "additionalProperties": TEXT},
            {"a": "b", "c": "d"},
            [("", "given 2 fields, allowed: at most 1")],
        ),
        ({**obj(a=TEXT), "required": ["a"]}, {}, [("a", "missing, and required")]),
        (obj(spec=TEXT), {"spce": "x"}, [("spce", "no such field; did you mean 'spec'?")]),
        ({"type": "object"}, {"a": 1}, [("a", "no such field; no field is allowed here")]),
        (
            {"type": "object", "additionalProperties": WHOLE},
            {"a": "x"},
            [("a", 'given "x", allowed: integer')],
        ),
        (
            {"type": "array", "items": obj(n=WHOLE)},
            [{"n": 1}, {"n": "2"}],
            [("[1].n", 'given "2", allowed: integer')],
        ),
        (
            {"type": "object", "additionalProperties": True},
            {1: "a"},
            [("1", "given the field name 1, allowed: text; quote it")],
        ),
        (TEXT, None, [("", "given null, allowed: string; leave the field out")]),
        (
            {"not": {"required": ["a"]}},
            {"a": 1},
            [("", 'given {"a": 1}, which the schema forbids ({"required": ["a"]})')],
        ),
    ],
)
def test_each_word_of_a_schema_refuses_and_says_why(schema, value, expected):
    assert violations(schema, value) == expected


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "nullable": True}, None),
        ({}, None),
        ({}, {"anything": [1, "a"]}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"a": {"b": 1}}),
        ({"type": "object", "additionalProperties": True}, {"a": 1}),
        ({"x-kubernetes-int-or-string": True}, 1),
        ({"x-kubernetes-int-or-string": True}, "25%"),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
        ),
        ({"type": "integer", "format": "int64"}, 2**40),
        ({"type": "string", "pattern": r"^\pL+$"}, "a class only RE2 knows"),
        ({"type": "string", "format": "date-time"}, "formats of text are not evaluated"),
        (obj(a={"type": "integer", "minimum": 3}), {"a": UNKNOWN}),
        ({"type": "array", "maxItems": 1}, UNKNOWN),
    ],
)
def test_what_a_schema_allows_is_allowed(schema, value):
    assert violations(schema, value) == []


@pytest.mark.parametrize("value", [1.5, True, [], {}])
def test_int_or_string_takes_nothing_else(value):
    schema = {"x-kubernetes-int-or-string": True}
    assert violations(schema, value) == [
        ("", f"given {describe(value)}, allowed: a whole number or text")
    ]


def test_a_set_has_no_item_twice():
    schema = {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}
    assert violations(schema, ["a", "b"]) == []
    assert violations(schema, ["a", "b", "a"]) == [("[2]", "repeats item 0; items must be unique")]


def test_a_list_map_has_no_key_twice():
    schema = {
        "type": "array",
        "items": obj(name=TEXT, value=TEXT),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    same = [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]
    assert violations(schema, same) == [("[1]", "repeats item 0 by name; items must be unique")]


def test_combinators_narrow_and_declare_no_fields():
    schema = {
        **obj(a=TEXT, b=TEXT),
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        "allOf": [{"properties": {"a": {"maxLength": 2}}}],
    }
    assert violations(schema, {"a": "x"}) == []
    assert violations(schema, {"a": "x", "b": "y"}) == [
        ("", 'given {"a": "x", "b": "y"}, which fits 2 alternatives, allowed: one')
    ]
    assert violations(schema, {}) == [("", "given {}, which fits none of 2 alternatives (oneOf)")]
    assert violations(schema, {"a": "long"}) == [("a", "given 4 characters, allowed: at most 2")]


def test_any_of_needs_one():
    schema = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert violations(schema, 1) == []
    assert violations(schema, []) == [("", "given [], which fits none of 2 alternatives (anyOf)")]


def test_everything_wrong_is_reported_at_once():
    schema = {**obj(a=WHOLE, b=obj(c=TEXT)), "required": ["z"]}
    found = violations(schema, {"a": "x", "b": {"c": 1, "d": 2}})
    assert [path for path, _ in found] == ["z", "a", "b.c", "b.d"]


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [
        ("", "spec", "spec"),
        ("spec", "a-b", "spec.a-b"),
        ("spec", 0, "spec[0]"),
        ("labels", "kubernetes.io/arch", 'labels["kubernetes.io/arch"]'),
    ],
)
def test_paths_read_like_the_manifest(path, key, expected):
    assert join(path, key) == expected


def test_a_long_value_is_cut_in_a_message():
    assert len(describe("x" * 500)) == 80


def test_without_a_near_name_the_allowed_ones_are_listed():
    assert nearest("zzz", ["b", "a"]) == "allowed: a, b"
    assert nearest("zzz", [f"f{i:02}" for i in range(20)]).endswith("f11, …")


SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
INNER = SCALAR | st.lists(SCALAR, max_size=3) | st.dictionaries(st.text(), SCALAR, max_size=3)
JSON = INNER | st.lists(INNER, max_size=3) | st.dictionaries(st.text(), INNER, max_size=3)


@given(JSON)
def test_an_empty_schema_allows_everything_and_nothing_crashes(value):
    assert violations({}, value) == []
    assert all(isinstance(path, str) for path, _ in violations(obj(a=TEXT), value))


def test_it_is_importable_without_pulumi():
    code = "import sys, gpuyard_testing.openapi; print([m for m in sys.modules if 'pulumi' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
