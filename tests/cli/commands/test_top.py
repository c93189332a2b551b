"""`gpuyard top`: the present state of a fleet in a terminal."""

import io
import json
import math

import pytest

from gpuyard_advisor.cli.commands import top as command
from gpuyard_advisor.cli.prometheus import Prometheus
from gpuyard_advisor.usage.fleet import IDLE_HOURS, SERIES
from gpuyard_core.errors import EnvironmentMissing
from kit.stacks import cut_pool, platform, pool

URL = ("--live", "http://prometheus.example")
POD = {
    "pool": "train", "node": "n0", "gpu": "GPU-1", "slice": "", "team": "vision",
    "namespace": "vision", "pod": "job-\x1b[31m0", "class": "none",
}  # fmt: skip
TEAM = {"pool": "train", "team": "vision", "class": "none", "slice": ""}
DATA = {
    "gpu_active": [({"pool": "train", "node": "n0", "gpu": f"GPU-{n}"}, 0.5) for n in range(8)],
    "gpu_allocated": [({"pool": "train", "node": "n0", "gpu": f"GPU-{n}"}, 1) for n in range(8)],
    "billed": [({"pool": "train"}, 32)],
    "unavailable": [({"pool": "train"}, 0)],
    "allocated": [(TEAM, 16)],
    "used": [(TEAM, 6.5)],
    "cost": [
        ({**TEAM, "part": "used"}, 44.72),
        ({**TEAM, "part": "allocated_idle"}, 65.36),
        ({"pool": "train", "team": "", "class": "", "part": "unallocated"}, 110.08),
    ],
    "bill": [({"pool": "train"}, 220.16)],
    "pending": [({"queue": "vision", "status": "active"}, 3)],
    "wait_p50": [({"queue": "vision", "priority": "high"}, 90)],
    "wait_p95": [({"queue": "vision", "priority": "high"}, 5400)],
    "target": [({"target": "idle", "priority": ""}, 20)],
    "actual": [({"target": "idle", "priority": ""}, math.nan)],
    "pod_allocated": [(POD, 1)],
    "pod_active": [(POD, 0)],
    "gpu_price": [({"pool": "train", "node": "n0"}, 6.88)],
    "idle_hours": [(POD, 7.25)],
}


@pytest.fixture
def measured(monkeypatch):
    def answered(**series):
        by_name = {SERIES.get(key, key): samples for key, samples in series.items()}

        def query(self, expression):
            found = by_name.get("idle_hours" if expression == IDLE_HOURS else expression, [])
            return [(tuple(sorted(labels.items())), float(value)) for labels, value in found]

        monkeypatch.setattr(Prometheus, "query", query)

    return answered


def test_pools_teams_queues_and_idle_gpus_are_listed(gpuyard, measured):
    measured(**DATA)
    ended = gpuyard("top", *URL)
    assert (ended.code, ended.err) == (0, "")
    assert (
        ended.out
        == """\
220.16 $/h  used 44.72, allocated idle 65.36, unallocated 110.08

Pools
  pool   use         billed  allocated  used  idle $/h
  train  ##===.....      32         16   6.5    175.44

Teams
  team    use         allocated  used  idle $/h     $/h
  vision  ####======         16   6.5     65.36  110.08

Queues
  queue   waiting  priority  wait p50  wait p95
  vision        3  high         2 min     1.5 h

Idle GPUs
  pod            team    pool   GPU     idle   $/h
  job-\\x1b[31m0  vision  train  n0     7.2 h  6.88
                                1 GPU

! 1 series without data: gpuyard:target:actual
"""
    )


def test_without_data_each_table_says_so(gpuyard, measured, write):
    measured()
    ended = gpuyard("top", write(platform([pool(), cut_pool()])), *URL)
    assert ended.code == 0
    text = " ".join(ended.out.split())
    for part in (
        "train - - - - -",
        "Teams no data",
        "Queues no data",
        "Idle GPUs no data",
        "14 series without",
    ):
        assert part in text
    assert "0" not in text.replace("p50", "").split("!")[0]


def test_a_pod_that_uses_its_gpu_is_not_listed(gpuyard, measured):
    measured(**{**DATA, "pod_active": [(POD, 0.9)]})
    assert "Idle GPUs  none\n" in gpuyard("top", *URL).out


def test_many_rows_end_with_their_number(gpuyard, measured):
    pods = [({**POD, "pod": f"job-{n}"}, 1) for n in range(15)]
    teams = [({**TEAM, "team": f"team-{n}"}, 1) for n in range(25)]
    active = [(labels, 0) for labels, _ in pods]
    hours = [(labels, 30) for labels, _ in pods]
    measured(
        **{
            **DATA,
            "pod_allocated": pods,
            "pod_active": active,
            "idle_hours": hours,
            "allocated": teams,
        }
    )
    text = gpuyard("top", *URL).out
    assert text.count("… and 5 more; --format json lists all") == 1
    assert text.count("… and 6 more; --format json lists all") == 1
    assert ">24 h" in text


def test_a_narrow_terminal_has_the_same_values(gpuyard, measured, monkeypatch):
    monkeypatch.setenv("COLUMNS", "44")
    measured(**DATA)
    text = gpuyard("top", *URL).out
    for part in ("##===.....", "175.44", "1.5 h", "6.88"):
        assert part in text
    assert text.splitlines()[0] == "220.16 $/h"


def test_the_document_has_every_value(gpuyard, measured):
    measured(**DATA)
    document = json.loads(gpuyard("top", *URL, "--format", "json").out)["fleet"]
    assert document["pools"] == [
        {
            "name": "train",
            "billed": 32,
            "allocated": 16,
            "used": 6.5,
            "idle_usd": 175.44,
            "usd": 220.16,
        }
    ]
    assert document["idle"][0]["hours"] == 7.25
    assert document["targets"] == [{"target": "idle", "priority": "", "value": 20, "actual": None}]
    assert document["missing"] == ["gpuyard:target:actual"]


def test_a_rejected_stack_is_reported(gpuyard, measured, write):
    measured()
    ended = gpuyard("top", write(platform([pool(nodes="many")])), *URL)
    assert (ended.code, ended.out) == (3, "")
    assert "rejected" in ended.err


def test_a_rejected_stack_is_reported_as_json(gpuyard, measured, write):
    measured()
    ended = gpuyard("top", write(platform([pool(nodes="many")])), *URL, "--format", "json")
    document = json.loads(ended.out)
    assert (ended.code, ended.err, document["command"], document["fleet"]) == (3, "", "top", None)
    assert [each["severity"] for each in document["findings"]] == ["error"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


def test_a_terminal_is_refreshed_until_the_user_interrupts(measured, monkeypatch):
    """The second query fails: the old state stays, with the reason."""
    screen, waits = Terminal(), []
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    measured(**DATA)
    answer = Prometheus.query

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 1:
            monkeypatch.setattr(Prometheus, "query", fails)
        elif len(waits) == 2:
            monkeypatch.setattr(Prometheus, "query", answer)
        else:
            raise KeyboardInterrupt

    def fails(self, expression):
        raise EnvironmentMissing(f"{self.address}: Prometheus did not respond")

    monkeypatch.setattr(command.time, "sleep", sleep)
    assert command.top(live=URL[1], stack=None, interval=2.0) == 0
    assert waits == [2.0, 2.0, 2.0]
    shown = screen.getvalue()
    assert "Prometheus did not respond" in shown
    assert shown.count("Queues") == 3


def test_once_prints_to_a_terminal_and_ends(measured, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("NO_COLOR", "1")
    measured(**DATA)
    assert command.top(live=URL[1], stack=None, once=True) == 0
    assert "\x1b" not in screen.getvalue()
    assert "##===....." in screen.getvalue()
