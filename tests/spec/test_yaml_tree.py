"""The YAML reader: values as in YAML 1.2, a line for each, and one sentence for unreadable input."""

import time
from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpuyard_core import yaml_tree
from gpuyard_core.errors import UsageError
from gpuyard_core.yaml import parse_budget as rooms
from gpuyard_core.yaml import positions
from gpuyard_core.yaml.parse_budget import ParseBudget, ParseBudgetExceeded
from gpuyard_core.yaml_tree import MAX_BYTES, MAX_DEPTH, parse_documents, parse_yaml
from kit.every import every


def value(text):
    return parse_yaml(text.encode() if isinstance(text, str) else text, "file").value


def refusal(data):
    with pytest.raises(UsageError) as caught:
        parse_yaml(data.encode() if isinstance(data, str) else data, "file")
    return str(caught.value)


@every(
    ("text", "expected"),
    [
        ("on", "on"),
        ("no", "no"),
        ("Yes", "Yes"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("2026-11-21", "2026-11-21"),
        ("<<", "<<"),
        (".inf", ".inf"),
        ("0..16", "0..16"),
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("null", None),
        ("~", None),
        ("Null", None),
        ("", None),
        ("4", 4),
        ("-4", -4),
        ("+4", 4),
        ("0123", 123),
        ("1.5", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-2.5E-1", -0.25),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, 1e19),
        ('"4"', "4"),
        ("'true'", "true"),
        ("|\n  4\n", "4\n"),
        ("!!str 4", "4"),
        ("!local 4", 4),
        ("! 4", 4),
        ("!!int '4'", "4"),
        ("!!python/object:os.system x", "x"),
        ("ü", "ü"),
    ],
)
def test_a_scalar_is_what_yaml_1_2_says(text, expected):
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def test_a_file_is_mappings_and_lists_of_them():
    assert value("a:\n  b: [1, {c: d}]\n  e:\n    - x\n    -\n5: six\n") == {
        "a": {"b": [1, {"c": "d"}], "e": ["x", None]},
        "5": "six",
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "\ufeff"])
def test_an_empty_file_has_no_value(text):
    assert value(text) is None


def test_windows_line_ends_and_a_byte_order_mark_change_nothing():
    document = parse_yaml("\ufeffa: 1\r\nb:\r\n  - x\r\n".encode(), "file")
    assert document.value == {"a": 1, "b": ["x"]}
    assert document.line_of(("b", 0)) == 3


def test_every_value_has_its_line():
    document = parse_yaml(b"a:\n  b:\n    - 1\n    - c: 2\n      d: 3\ne: {f: 4}\n", "file")
    lines = {
        (): 1,
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "b", 0): 3,
        ("a", "b", 1, "d"): 5,
        ("e", "f"): 6,
    }
    assert {path: document.line_of(path) for path in lines} == lines


def test_what_is_not_in_the_file_has_the_line_of_what_should_hold_it():
    document = parse_yaml(b"x: 1\na:\n  b: 2\n", "file")
    assert document.line_of(("a", "missing", 3)) == 2
    assert document.line_of(("nowhere",)) == 1
    assert parse_yaml(b"", "file").line_of(("a",)) is None


def test_a_key_that_stands_twice_is_told_and_the_first_is_kept():
    document = parse_yaml(b"a: 1\nb:\n  c: 1\n  c: {d: 2}\n  e: 3\na: 2\n", "file")
    assert document.value == {"a": 1, "b": {"c": 1, "e": 3}}
    assert document.duplicates == ((("b", "c"), 4), (("a",), 6))


def test_an_anchor_stands_for_its_value():
    assert value("a: &x {b: 1}\nc: *x\nd: &y 5\ne: [*y, *x]\n") == {
        "a": {"b": 1},
        "c": {"b": 1},
        "d": 5,
        "e": [5, {"b": 1}],
    }


def test_an_anchor_may_be_a_key():
    assert value("a: &k word\n*k : 1\n") == {"a": "word", "word": 1}


@pytest.mark.parametrize(
    ("text", "line"), [("a: *x\n", 1), ("a: 1\nb: &x\n  c: *x\n", 3), ("&a [*a]", 1)]
)
def test_an_anchor_that_is_not_complete_is_refused(text, line):
    name = text.split("*")[1].rstrip("\n]")
    assert refusal(text) == (f"file: line {line}: *{name} has no complete anchor &{name} before it")


def test_an_anchor_bomb_is_refused_at_once():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    started = time.process_time()
    assert refusal("\n".join(lines)) == (
        "file: line 6: more than 300,000 values once anchors are expanded"
    )
    assert time.process_time() - started < 2


def test_deep_nesting_is_refused():
    assert value("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    assert refusal("[" * (MAX_DEPTH + 1)) == "file: line 1: nested more than 60 deep"


@pytest.mark.parametrize("text", ["? [a]\n: b\n", "? {a: 1}\n: b\n", "{[a]: b}"])
def test_only_text_is_a_key(text):
    assert refusal(text) == "file: line 1: a mapping or list as a key below (platform)"


def test_an_alias_of_something_else_than_text_is_no_key():
    assert refusal("a: &x 5\nb:\n  *x : 1\n") == "file: line 3: a mapping or list as a key below b"


def test_a_second_document_is_refused():
    assert (
        refusal("a: 1\n---\nb: 2\n") == "file: line 2: a second document; a stack file has only one"
    )


def test_a_large_file_is_refused_by_size():
    assert refusal(b"#" * (MAX_BYTES + 1)) == (
        "file: 1,048,577 bytes; a stack file has at most 1,048,576. Is it the right file?"
    )
    assert value(b"#" * MAX_BYTES) is None


def test_bytes_that_are_no_text_are_refused():
    assert refusal(b"ab\xff") == "file: not text (byte 2 is not UTF-8). Is it the right file?"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [1\n", "file: not YAML: line 1, at its end: did not find expected ',' or ']'"),
        (
            "a: b: c",
            "file: not YAML: line 1, column 5: mapping values are not allowed in this context",
        ),
        ("a: \x01", "file: not YAML: control characters are not allowed"),
        (
            "a:\n\tb: 1\n",
            (
                "file: not YAML: line 2, column 1: found character that cannot start any token"
                " (a tab: YAML is indented with spaces)"
            ),
        ),
        ("%FOO\nx", "file: not YAML: line 1, column 5: found unknown directive name"),
    ],
)
def test_what_is_no_yaml_is_told_with_its_place(text, says):
    assert refusal(text) == says


def test_a_yaml_library_without_its_fast_parser_says_the_same(monkeypatch):
    monkeypatch.setattr(yaml_tree, "_LOADER", yaml.SafeLoader)
    assert value("a: [1, on]") == {"a": [1, "on"]}
    assert refusal("a: \x01") == "file: not YAML: special characters are not allowed"


def test_a_problem_without_words_is_told_too():
    assert yaml_tree._yaml_problem(yaml.YAMLError(), "") == "it cannot be parsed"


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_one_sentence(data):
    said = ""
    with suppress(UsageError):
        parse_yaml(data, "file")
        said = "file: read"
    assert said or refusal(data).startswith("file: ")
    assert said or "\n" not in refusal(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON)
def test_what_yaml_writes_is_read_back(tree):
    assert value(yaml.safe_dump(tree, allow_unicode=True, default_style='"')) == quoted(tree)


def quoted(tree):
    """With every scalar in quotes, tags of `safe_dump` aside, numbers and words are text."""
    if isinstance(tree, dict):
        return {k: quoted(v) for k, v in tree.items()}
    if isinstance(tree, list):
        return [quoted(v) for v in tree]
    return tree if isinstance(tree, str) else yaml.safe_dump(tree, default_style='"').split('"')[1]


def test_many_documents_are_read_one_by_one_without_the_empty():
    found = parse_documents(b"a: &x 1\n---\n---\nb: 2\nb: 3\n", "x")
    assert [d.value for d in found] == [{"a": 1}, {"b": 3}]
    assert found[1].line_of(("b",)) == 5
    assert found[1].duplicates == ((("b",), 5),)
    assert found[0].duplicates == ()


def stands(node, path=()):
    """The position of every part in PyYAML's own tree; of a mapping entry, that of its key."""
    mark = node.start_mark
    found = {path: (mark.line + 1, mark.column + 1)}
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    last = {key.value: (key, below) for key, below in pairs}
    for key, below in last.values():
        found |= stands(below, (*path, key.value))
        found[*path, key.value] = (key.start_mark.line + 1, key.start_mark.column + 1)
    if isinstance(node, yaml.SequenceNode):
        for index, below in enumerate(node.value):
            found |= stands(below, (*path, index))
    return found


def places(document):
    columns = dict(document.columns)
    assert len(document.lines) == len(document.columns) == len(columns)
    return {path: (line, columns[path]) for path, line in document.lines.items()}


@given(st.lists(JSON.filter(lambda tree: tree is not None), max_size=3), st.booleans())
def test_every_part_of_every_document_stands_where_yaml_says(trees, flow):
    text = yaml.safe_dump_all(
        trees, allow_unicode=True, explicit_start=True, default_flow_style=flow
    )
    found = parse_documents(text.encode(), "x")
    nodes = list(yaml.compose_all(text))
    for document, node in zip(found, nodes, strict=True):
        assert places(document) == stands(node)


def test_a_list_of_many_is_asked_again_and_again():
    text = "items:\n" + "".join(f"- {{a: {n}, b: [x]}}\n" for n in range(100))
    (found,) = parse_documents(text.encode(), "x")
    for _ in range(2):
        assert [found.lines["items", n, "b", 0] for n in range(100)] == list(range(2, 102))
    assert found.nearest_located_path(("items", 99, "b", 0, "c")) == ("items", 99, "b", 0)
    assert found.nearest_located_path(("items", 100)) == ("items",)
    assert found.nearest_located_path(("items", "a")) == ("items",)


def test_what_an_alias_brings_stands_at_the_alias():
    (found,) = parse_documents(b"a: &x\n  b: 1\nc:\n  *x\nd: [*x, 2]\n", "x")
    assert found.nearest_located_path(("c", "b")) == ("c",)
    assert found.nearest_located_path(("d", 0, "b")) == ("d", 0)
    assert places(found) == {
        (): (1, 1),
        ("a",): (1, 1),
        ("a", "b"): (2, 3),
        ("c",): (3, 1),
        ("d",): (5, 1),
        ("d", 0): (5, 5),
        ("d", 1): (5, 9),
    }


TWICE = b"a: {b: 1}\na:\n  b: 2\n  c: [{d: 3}]\ne: |\n  x\ne: y\nf: 4\n"


def test_of_a_key_that_stands_twice_the_last_counts():
    (found,) = parse_documents(TWICE, "x")
    assert found.value == {"a": {"b": 2, "c": [{"d": 3}]}, "e": "y", "f": 4}
    assert found.duplicates == ((("a",), 2), (("e",), 7))
    assert found.blocks == frozenset()
    assert places(found) == {
        (): (1, 1),
        ("a",): (2, 1),
        ("a", "b"): (3, 3),
        ("a", "c"): (4, 3),
        ("a", "c", 0): (4, 7),
        ("a", "c", 0, "d"): (4, 8),
        ("e",): (7, 1),
        ("f",): (8, 1),
    }


def test_in_a_stack_file_the_first_is_kept_and_the_other_is_said():
    found = parse_yaml(TWICE, "x")
    assert found.value == {"a": {"b": 1}, "e": "x\n", "f": 4}
    assert found.duplicates == ((("a",), 2), (("e",), 7))
    assert set(found.lines) == {(), ("a",), ("a", "b"), ("e",), ("f",)}


def test_of_very_many_such_keys_nobody_waits_for_the_last():
    (found,) = parse_documents(b"".join(b"a: %d\nb: 0\n" % n for n in range(60)), "x")
    assert found.value == {"a": 50, "b": 0}
    assert len(found.duplicates) == 118


PAIRS = st.recursive(
    st.integers(0, 9),
    lambda below: st.lists(below, max_size=3) | st.lists(st.tuples(st.sampled_from("abc"), below)),
    max_leaves=12,
)


def written(tree):
    """In YAML's short form, each list of pairs a mapping."""
    if isinstance(tree, int):
        return str(tree)
    if tree and isinstance(tree[0], tuple):
        return "{" + ", ".join(f"{key}: {written(below)}" for key, below in tree) + "}"
    return "[" + ",\n ".join(map(written, tree)) + "]"


@given(PAIRS)
def test_whatever_stands_twice_is_kept_as_yaml_itself_keeps_it(tree):
    text = written(tree)
    (found,) = parse_documents(text.encode(), "x")
    assert found.value == yaml.safe_load(text)
    assert places(found) == stands(yaml.compose(text))


MERGED = """\
x: &x {a: 1, b: {c: 2}}
y: &y {a: 3, d: [4]}
one:
  a: 5
  <<: *x
  e: 6
two: {<<: [*y, *x], f: 7}
three: {<<: {g: {h: 8}}, i: 9}
four: {<<: *x}
five: {<<: 5, j: {<<: *y}}
"""


def test_what_is_merged_is_there_and_stands_where_nobody_wrote_it():
    (found,) = parse_documents(MERGED.encode(), "x")
    whole = yaml.safe_load(MERGED.replace("<<: 5, ", ""))
    assert found.value == {**whole, "five": {"<<": 5, **whole["five"]}}
    assert found.value["one"] == {"a": 5, "e": 6, "b": {"c": 2}}
    below = {path: line for path, line in found.lines.items() if path[:1] not in (("x",), ("y",))}
    assert below == {
        (): 1,
        ("one",): 3,
        ("one", "a"): 4,
        ("one", "e"): 6,
        ("two",): 7,
        ("two", "f"): 7,
        ("three",): 8,
        ("three", "i"): 8,
        ("four",): 9,
        ("five",): 10,
        ("five", "<<"): 10,
        ("five", "j"): 10,
    }
    assert found.nearest_located_path(("one", "b", "c")) == ("one",)


def test_a_stack_file_is_merged_as_the_engine_merges_it():
    """`pulumi config get` of Pulumi 3.259.0 gives the same."""
    found = parse_yaml(b"x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\n", "x")
    assert found.value["y"] == {"b": 3, "a": 1}
    assert (found.line_of(("y", "b")), found.line_of(("y", "a"))) == (4, 2)
    assert value("y: {<<: 3}\n")["y"] == {"<<": 3}


def test_what_is_merged_again_and_again_is_counted():
    many = ", ".join(f"k{n}: 0" for n in range(2_000))
    text = f"x: &x {{{many}}}\n" + "".join(f"y{n}: {{<<: *x}}\n" for n in range(100))
    with pytest.raises(UsageError, match="more than 300,000 values"):
        parse_documents(text.encode(), "x")


def test_of_nothing_nothing_is_marked():
    assert dict(parse_yaml(b"", "x").lines) == {}
    with pytest.raises(KeyError):
        positions.Marks(nothing := positions.Positions(), nothing.lines)[()]


def test_an_anchor_ends_with_its_document():
    with pytest.raises(UsageError, match="no complete anchor &x"):
        parse_documents(b"a: &x 1\n---\nb: *x\n", "x")


def test_the_limit_of_values_holds_for_all_documents_together():
    list_of_1000 = b"[" + b"1," * 1000 + b"]\n"
    many = b"---\n" + b"a: &a " + list_of_1000 + b"b: [" + b"*a," * 160 + b"]\n"
    assert len(parse_documents(many, "x")) == 1
    with pytest.raises(UsageError, match="more than 300,000 values"):
        parse_documents(many * 2, "x")


def test_many_documents_have_the_limit_of_one_text():
    with pytest.raises(UsageError, match="x: 1,048,577 bytes; at most 1,048,576"):
        parse_documents(b"a" * (MAX_BYTES + 1), "x")


def test_a_text_that_comes_again_in_one_run_is_read_once_and_takes_its_room_each_time():
    text, space = b"a: 1\n---\n---\nb: [2]\n", ParseBudget(25)
    with space.active_in_context():
        first = parse_documents(text, "x")
        taken = 25 - space.left
        again = parse_documents(text, "y")
        assert [a is b for a, b in zip(first, again, strict=True)] == [True, True]
        assert (space.left, space.short) == (25 - 2 * taken, False)
        again.clear()  # a list of one's own
        third = parse_documents(text, "z", 2)  # within another limit it is another matter
        assert (third[0] is first[0], third[0].value) == (False, {"a": 1})
        with pytest.raises(ParseBudgetExceeded):
            parse_documents(text, "z")
        assert space.short
    with ParseBudget(25).active_in_context():
        assert parse_documents(text, "x")[0] is not first[0]
    assert parse_documents(text, "x")[0] is not parse_documents(text, "x")[0]


def test_of_texts_that_may_come_again_so_many_values_are_held(monkeypatch):
    monkeypatch.setattr(rooms, "MAX_CACHED_VALUES", 6)
    with ParseBudget(100).active_in_context():
        a, b = b"a: [1]", b"b: [2]"  # of four values each
        first = parse_documents(a, "x")[0]
        assert parse_documents(a, "x")[0] is first
        second = parse_documents(b, "x")[0]
        assert parse_documents(b, "x")[0] is second
        assert parse_documents(a, "x")[0] is not first
        large = b"c: [1, 2, 3, 4, 5]"
        assert parse_documents(large, "x")[0] is not parse_documents(large, "x")[0]
