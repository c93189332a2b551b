"""Queues on the screen: cohorts with their limits, several queues, and what is stopped, first of all."""

import io
import json

from gpuyard.cli.views.queues import show_queues
from gpuyard_core.terminal.console import Console
from kit.stacks import cut_pool, plan_of, platform, pool, team

TREE = platform(
    [pool(), cut_pool()],
    [
        team("a", guarantee={"train": 8, "serve/3g.20gb": 2}, borrow={"train": 8}, cohort="leaf"),
        team("b", guarantee={"train": 8}, borrow={"train": 4}, queues={"default": 1, "night": 0.5}),
    ],
    queueing={
        "usage_half_life_hours": 24,
        "cohorts": [
            {"name": "top", "borrow": {"train": 8}, "lend": {}},
            {"name": "leaf", "parent": "top", "lend": {"train": 4, "serve/3g.20gb": 1}},
        ],
    },
)


def shown(raw):
    out = io.StringIO()
    show_queues(plan_of(raw), Console(file=out, width=80))
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_a_cohort_stands_with_its_teams_and_limits():
    assert shown(TREE)[3:] == [
        "cohort in teams weight borrowing limit lending limit",
        "top lab - 1 8 train nothing",
        "leaf top a 1 no limit 4 train",
        "1 serve/3g.20gb",
        "queues b: default, night × 0.5",
    ]


def test_without_cohorts_and_further_queues_there_are_teams_alone():
    assert shown(platform(teams=[team(guarantee={"train": 8})])) == [
        "team namespace cluster queue isolation weight",
        "vision vision lab-vision shared 1",
    ]
    assert shown(platform()) == []


def test_what_is_stopped_stands_first():
    teams = [
        team("a", guarantee={"train": 8}, stop_policy="drain"),
        team("b", guarantee={"train": 8}, stop_policy="hold"),
    ]
    raw = platform([pool(stop_policy="hold")], teams, queueing={"stop_policy": "hold"})
    assert shown(raw)[0] == "STOPPED every queue (hold), pool train (hold), team a (drain)"


def test_cohorts_queues_and_stops_are_in_the_document(gpuyard, write):
    raw = {**TREE, "pools": [pool(stop_policy="hold"), cut_pool()]}
    ended = gpuyard("plan", write(raw), "--format", "json")
    plan = json.loads(ended.out)["plan"]
    cohorts = plan["queueing"]["cohorts"]
    assert [(c["title"], c["parent"]) for c in cohorts] == [
        ("", None),
        ("top", "lab"),
        ("leaf", "lab.top"),
    ]
    assert cohorts[1]["limits"][0] == {
        "pool": "train",
        "resource": "nvidia.com/gpu",
        "borrow": 8,
        "lend": 0,
    }
    assert plan["teams"][1]["queues"] == {"default": 1.0, "night": 0.5}
    assert (plan["pools"][0]["stop_policy"], plan["teams"][0]["cohort"]) == ("hold", "lab.leaf")
