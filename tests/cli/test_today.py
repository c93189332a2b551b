"""Which day a stack is judged on."""

import json
from datetime import UTC, date, datetime

import pytest

from gpuyard_core.errors import UsageError
from gpuyard_core.today import today
from kit.stacks import platform


def test_without_a_day_it_is_today(monkeypatch):
    monkeypatch.delenv("GPUYARD_TODAY")
    before = datetime.now(UTC).date()
    assert before <= today() <= datetime.now(UTC).date()


def test_a_given_day_is_taken(monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "2027-03-31")
    assert today() == date(2027, 3, 31)


@pytest.mark.parametrize("given", ["tomorrow", "2027-02-30", "31.3.2027"])
def test_what_is_no_day_is_an_error_of_use(monkeypatch, given):
    monkeypatch.setenv("GPUYARD_TODAY", given)
    with pytest.raises(UsageError, match=f"GPUYARD_TODAY={given} is not a date"):
        today()


def test_a_command_that_gets_no_day_says_so_in_a_sentence(gpuyard, write, monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "soon")
    ended = gpuyard("check", write(platform()))
    assert ended.code == 2
    assert "GPUYARD_TODAY=soon is not a date" in ended.err


@pytest.mark.parametrize(
    ("of", "day", "code", "severities"),
    [
        ("none 1.36", "2027-04-28", 0, []),
        ("none 1.36", "2027-04-29", 0, ["warning"]),
        ("none 1.36", "2027-06-28", 0, ["warning"]),
        ("aws 1.34", "2027-12-01", 0, ["warning"]),
        ("aws 1.34", "2027-12-02", 3, ["error"]),
    ],
)
def test_check_warns_of_an_end_of_support_and_then_refuses(
    gpuyard, write, monkeypatch, of, day, code, severities
):
    monkeypatch.setenv("GPUYARD_TODAY", day)
    cloud, minor = of.split()
    raw = platform(cloud=cloud, kubernetes=minor)
    ended = gpuyard("check", write(raw), "--format", "json")
    assert ended.code == code
    found = json.loads(ended.out)["findings"]
    assert [f["severity"] for f in found if f["id"] == "kubernetes.support"] == severities


def test_a_file_with_other_faults_is_judged_on_the_day_too(gpuyard, write, monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "2027-12-02")
    ended = gpuyard("check", write(platform(cloud="aws", kubernetes="1.34", colour="red")))
    assert ended.code == 3
    assert "kubernetes.support" in ended.out
