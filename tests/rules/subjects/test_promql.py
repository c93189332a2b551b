"""Which words of an expression are metrics, and what is done with them."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard_lint.rules.subjects.promql import DEEPEST, read_promql
from kit.every import every
from kit.searches import examples


def metrics(text):
    return [each.metric for each in read_promql(text).selectors]


@every(
    ("text", "expected"),
    [
        ("up", ["up"]),
        ("a + b / c", ["a", "b", "c"]),
        ("a and b or c unless d", ["a", "b", "c", "d"]),
        ("a > bool 1", ["a"]),
        ("sum(a) by (pod)", ["a"]),
        ("sum by (pod) (a)", ["a"]),
        ("sum without (pod, b) (a)", ["a"]),
        ("SUM BY (pod) (a)", ["a"]),
        ("a * on (x, y) group_left (z) b", ["a", "b"]),
        ("a * ignoring(x) group_right b", ["a", "b"]),
        ("rate(a[5m])", ["a"]),
        ("max_over_time(rate(a[5m])[1h:5m])", ["a"]),
        ("a offset 5m", ["a"]),
        ("a @ start() - a @ 1609746000", ["a", "a"]),
        ("-1e3 * a + 0x1F + inf - nan", ["a"]),
        ('a{b="c", d=~"e|f", g!~"h"}', ["a"]),
        ('{__name__="a", b="c"}', ["a"]),
        ('{"a.b", c="d"}', ["a.b"]),
        ('{b="c"}', []),
        ("{}", []),
        ("a # and b\n+ c", ["a", "c"]),
        ("label_replace(a, 'to', \"$1\", `from`, '(.*)')", ["a"]),
        ('a{b="x } y"} + c', ["a", "c"]),
        (r'a{b="x \" y"} + c', ["a", "c"]),
        ("rate(a[$__rate_interval]) > $limit + ${x} + [[y]]", ["a"]),
        ("sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)", []),
        ("job:a:rate5m", ["job:a:rate5m"]),
        ("histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m])))", ["a_bucket"]),
        ("sum by (pod) ", []),
        ("by", []),
        ("on (a", []),
        ("a{b=", ["a"]),
        ("a )) + b", ["a", "b"]),
        ("", []),
    ],
)
def test_the_metrics_of_an_expression(text, expected):
    assert metrics(text) == expected


@every(
    ("text", "expected"),
    [
        ("sum by (pod) (a) / b", [["pod"], []]),
        ("sum(a) by (pod) / sum(b)", [["pod"], []]),
        ("sum(max by (x) (a) + b) without (y)", [["x", "y"], ["y"]]),
        ("a * on(pod) b", [["pod"], ["pod"]]),
        ("sum(a * on(pod) group_left(c) b) / sum(d)", [["c", "pod"], ["c", "pod"], []]),
        ("(a) by (pod)", [["pod"]]),
        ("by (pod) a", [["pod"]]),
        ("sum by (pod)", []),
        ("a", [[]]),
    ],
)
def test_labels_hold_for_what_they_group_and_join(text, expected):
    assert [sorted(each.grouping_labels) for each in read_promql(text).selectors] == expected


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("a", ()),
        ("rate(a[5m])", ("rate",)),
        ("sum(rate(a[5m]))", ("rate", "sum")),
        ("sum by (x) (rate(a[5m]))", ("rate", "sum")),
        ("(rate(b[5m])) + a", ()),
        ("clamp_max((a), 1)", ("clamp_max",)),
    ],
)
def test_what_is_done_with_it(text, functions):
    assert read_promql(text).selectors[-1].functions == functions


def test_a_selector_says_its_labels_its_stretch_and_what_stands_before_it():
    first, second = read_promql('a{pod="p", x!~"y"}[5m] / b').selectors
    assert (first.labels, first.ranged, first.preceding_operator) == (
        {"pod": "p", "x": "y"},
        True,
        "",
    )
    assert (second.labels, second.ranged, second.preceding_operator) == ({}, False, "/")


def test_an_operator_is_between_two_metrics_with_nothing_else_between():
    befores = [
        each.preceding_operator for each in read_promql("(a - b) / a + sum(c) / d").selectors
    ]
    assert befores == ["", "-", "", "", ""]


def test_labels_that_are_grouped_by_are_known():
    assert read_promql("sum by (a) (x) * on (b) group_left (c) y").grouping_labels == {
        "a",
        "b",
        "c",
    }


def test_an_expression_is_read_up_to_more_parentheses_than_may_be_open():
    deepest = read_promql("(" * DEEPEST + "a" + ")" * DEEPEST + " + b")
    assert ([each.metric for each in deepest.selectors], deepest.is_fully_read) == (
        ["a", "b"],
        True,
    )
    deeper = read_promql("c + " + "(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1) + " + b")
    assert ([each.metric for each in deeper.selectors], deeper.is_fully_read) == (["c"], False)


@given(st.text(alphabet=string.printable, max_size=60))
@settings(max_examples=examples(150))
def test_any_text_can_be_read(text):
    read_promql(text)


NAMES = st.from_regex(r"[a-z]{3,6}_x", fullmatch=True)


@given(st.lists(NAMES, min_size=1, max_size=4), st.sampled_from(["+", "/", "and", "> bool"]))
@settings(max_examples=examples(60))
def test_every_metric_of_a_chain_is_found_in_its_order(names, operator):
    wrapped = f" {operator} ".join(f'sum by (le) (rate({name}{{a="b"}}[5m]))' for name in names)
    assert metrics(wrapped) == names
