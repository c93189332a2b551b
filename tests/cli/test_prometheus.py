"""The client of the Prometheus HTTP API: values, ranges, and every answer that is none."""

import io
import json
import urllib.error
import urllib.request

import pytest

from gpuyard_advisor.cli.prometheus import TOKEN_VARIABLE, Prometheus
from gpuyard_core.errors import EnvironmentMissing, UsageError

ADDRESS = "http://prometheus.example:9090/"


@pytest.fixture
def answer(monkeypatch):
    """Sets the body or the error that the server answers with; returns the requests."""
    requests = []

    def set_answer(body):
        def respond(request, timeout):
            requests.append(request)
            if isinstance(body, Exception):
                raise body
            return io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())

        monkeypatch.setattr(urllib.request, "urlopen", respond)
        return requests

    return set_answer


def test_a_query_returns_the_value_of_each_series(answer):
    result = [{"metric": {"pool": "b", "__name__": "x"}, "value": [1, "2.5"]}]
    requests = answer({"status": "success", "data": {"result": result}})
    assert Prometheus(ADDRESS).query('x{pool="b"}') == [((("__name__", "x"), ("pool", "b")), 2.5)]
    address = "http://prometheus.example:9090/api/v1/query?query=x%7Bpool%3D%22b%22%7D"
    assert requests[0].full_url == address
    assert requests[0].headers == {}


def test_a_range_query_returns_each_sample(answer, monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, "abc")
    result = [{"metric": {"pool": "b"}, "values": [[0, "1"], [60, "2"]]}]
    requests = answer({"status": "success", "data": {"result": result}})
    samples = [*Prometheus(ADDRESS).query_range("x", 0, 60, 60)]
    assert samples == [((("pool", "b"),), 0.0, 1.0), ((("pool", "b"),), 60.0, 2.0)]
    assert requests[0].headers == {"Authorization": "Bearer abc"}


def test_targets_and_rules_are_read_without_what_is_not_asked_for(answer):
    requests = answer({"data": {"activeTargets": [{"health": "up"}], "groups": [{"name": "a"}]}})
    assert Prometheus(ADDRESS).targets() == [{"health": "up"}]
    assert Prometheus(ADDRESS).rule_groups() == [{"name": "a"}]
    start = "http://prometheus.example:9090/api/v1"
    assert [each.full_url for each in requests] == [
        f"{start}/targets?state=active",
        f"{start}/rules?exclude_alerts=true",
    ]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>", "not the answer of a Prometheus"),
        (b"[]", "not the answer of a Prometheus"),
        (b'{"data": {"result": 3}}', "not the answer of a Prometheus"),
        (OSError("refused"), "did not respond: refused"),
        (urllib.error.URLError("no such host"), "did not respond: no such host"),
        (
            urllib.error.HTTPError("", 400, "", None, io.BytesIO(b'{"error": "parse error"}')),
            "parse error",
        ),
        (urllib.error.HTTPError("", 502, "", None, io.BytesIO(b"gateway")), "HTTP status 502"),
    ],
)
def test_every_other_answer_is_an_error_with_the_address(answer, body, problem):
    answer(body)
    with pytest.raises(EnvironmentMissing, match=rf"^http://prometheus.example:9090: .*{problem}"):
        Prometheus(ADDRESS).query("x")


def test_an_answer_without_end_is_refused(answer, monkeypatch):
    monkeypatch.setattr("gpuyard_advisor.cli.prometheus._LIMIT", 10)
    answer(b" " * 11)
    with pytest.raises(EnvironmentMissing, match="the answer is larger"):
        Prometheus(ADDRESS).query("x")


@pytest.mark.parametrize("address", ["prometheus:9090", "file:///etc/passwd", ""])
def test_an_address_of_another_scheme_is_refused(address):
    with pytest.raises(UsageError, match="starts with http:// or https://"):
        Prometheus(address)
