"""Reading Prometheus exports: both formats, in chunks of any size, and what is refused."""

import json

import pytest

from gpuyard_advisor.usage.samples import read_samples
from gpuyard_core.errors import UsageError

A = (("__name__", "gpus"), ("pool", "a"))
RANGE = json.dumps(
    {
        "status": "success",
        "warnings": ["x"],
        "data": {
            "resultType": "matrix",
            "result": [
                {
                    "metric": {"pool": "a", "__name__": "gpus"},
                    "values": [[1700000000, "1.5"], [1700000060.5, "NaN"]],
                    "more": 12,
                },
                {"metric": {}, "values": []},
                {"metric": {"pool": 'q"}{,]'}, "values": [[1700000000, "+Inf"]]},
            ],
        },
    }
)
TEXT = (
    "# HELP gpus GPUs\n# TYPE gpus gauge\n\n"
    'gpus{pool="a"} 1.5 1700000000\n'
    'gpus{pool="a"} NaN 1.7000000605e+09 # {trace="1"} 1\n'
    '{__name__="gpus",pool="b \\"}\\\\\\n"} 2 1700000000\n'
    "up 1 1700000000\n# EOF\n"
)


def chunks(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


def read(text, size=10_000):
    return [(labels, time, str(value)) for labels, time, value in read_samples(chunks(text, size))]


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
def test_a_range_query_is_read_in_chunks_of_any_size(size):
    assert read(RANGE, size) == [
        (A, 1700000000.0, "1.5"),
        (A, 1700000060.5, "nan"),
        ((("pool", 'q"}{,]'),), 1700000000.0, "inf"),
    ]


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
def test_openmetrics_text_is_read_in_chunks_of_any_size(size):
    assert read(TEXT, size) == [
        (A, 1700000000.0, "1.5"),
        (A, 1700000060.5, "nan"),
        ((("__name__", "gpus"), ("pool", 'b "}\\\n')), 1700000000.0, "2.0"),
        ((("__name__", "up"),), 1700000000.0, "1.0"),
    ]


def matrix(series, **more):
    return json.dumps({**more, "data": {"resultType": "matrix", "result": [series]}})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the export is empty"),
        (" \n", "the export is empty"),
        ("up 1\n# EOF\n", "line 1: the sample has no time. Export with `promtool tsdb dump-openmetrics`."),
        ("up 1 1700000000\n", "the export has no `# EOF` at its end: it is incomplete"),
        ("# EOF\nup 1 1700000000\n", "line 2: text after `# EOF`"),
        ("up{ 1 1\n# EOF", "line 1: not a sample of OpenMetrics"),
        ("up{pool=a} 1 1\n# EOF", "line 1: its labels cannot be read"),
        ('up{a="1",a="2"} 1 1\n# EOF', "line 1: its labels cannot be read"),
        ("up one 1\n# EOF", "line 1: not a number"),
        ("up 1 1700000000000\n# EOF", "1.7e+12 is not a time in seconds since 1970"),
        ("x" * 2_000_000, "a line has more than 1,048,576 characters"),
        ("{}", "the export has no `data.result`: it is not the response of a range query"),
        ('{"status": "error"}', "the query ended with status error"),
        ('{"data": {"resultType": "vector"}}', "the export is a vector, not a matrix. Query `/api/v1/query_range`."),
        (matrix({"metric": {}, "value": [1, "2"]}), "the export is of one instant. Query `/api/v1/query_range`."),
        (matrix({"metric": {}, "histograms": []}), "native histograms are not read. Query a number."),
        (matrix({"values": []}), "a series has `values` before `metric`"),
        (matrix({"metric": []}), "`metric` is not a mapping of labels"),
        (matrix({"metric": {}, "values": [[1, 2]]}), 'a series has a value that is incomplete or not `[time, "value"]`'),
        (matrix({"metric": {}, "values": [[1, "x"]]}), "not a number: 'x'"),
        (RANGE[:-1], "the export ends in the middle: it is incomplete"),
        (RANGE[:60], "the export has a value that is incomplete or not JSON"),
        (RANGE + "{}", "the export has text after its end: are these two exports?"),
        ('{"data" 1}', "not JSON: '1' instead of :"),
    ],
)  # fmt: skip
def test_what_is_no_export_is_refused_with_the_reason(text, why):
    with pytest.raises(UsageError) as refused:
        read(text)
    assert str(refused.value) == why
