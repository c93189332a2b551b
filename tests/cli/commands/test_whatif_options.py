"""`gpuyard whatif --policies` and `--predict`."""

import json
from pathlib import Path

import pytest

from gpuyard_advisor.replay.scaling import SCALING_POLICIES
from kit.html_page import Page, check_accessible, check_self_contained
from kit.stacks import platform, pool, team

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "12-whatif"
STACK, JOBS = FOLDER / "scaling.yaml", FOLDER / "jobs.csv"


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


def stack_of(gpuyard, *args):
    ended = gpuyard("whatif", *args, "--trace", JOBS, "--format", "json")
    assert ended.code == 0
    return json.loads(ended.out)["stacks"][0]


def test_every_policy_is_compared_with_that_of_the_stack(gpuyard):
    found = stack_of(gpuyard, STACK, "--policies")
    policies, figures = found["policies"], found["figures"]
    assert list(policies) == ["of the stack", *SCALING_POLICIES]
    own = policies["of the stack"]
    assert own["waits"] == found["waits"]
    assert (own["node_hours"], own["flaps"]) == (figures["node_hours"], figures["flaps"])
    assert own["cost_usd"] == figures["cost_usd"]
    assert policies["any"]["waits"]["never"] == 0
    assert policies["queue"]["waits"]["never"] == 8
    assert found["predictions"] is None


def test_a_stack_that_does_not_scale_is_not_compared(gpuyard):
    found = stack_of(gpuyard, "local", "--policies")
    assert found["policies"] == {}
    assert "no pool scales: scaling policies are not compared" in found["cautions"]


def test_predictions_have_their_accuracy_and_what_they_would_change(gpuyard):
    found = stack_of(gpuyard, "local", "--predict")["predictions"]
    duration, utilisation = found["duration_seconds"], found["utilisation"]
    assert [duration[key] for key in ("jobs", "predicted", "coverage")] == [62, 51, 0.9]
    assert duration["mean_error"] > 0
    assert 0 < duration["covered"] <= 1
    assert [utilisation[key] for key in ("jobs", "predicted")] == [62, 51]
    assert 0 < utilisation["mean_error"] < 0.9
    assert found["shortest_first"]["waits"]["jobs"] == 62


def test_a_trace_with_too_few_jobs_is_not_predicted(gpuyard, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("name,submitted,run_seconds,gpus,team\na,0,60,1,vision\nb,90,60,1,vision\n")
    ended = gpuyard("whatif", "local", "--trace", path, "--predict")
    assert (ended.code, ended.err) == (0, "")
    assert "duration: 0 of 2 jobs predicted\n" in ended.out
    assert "preemption advice: none, because no job waited for one of lower priority" in ended.out


def test_the_page_has_a_table_of_policies_and_of_predictions(gpuyard, tmp_path):
    path = tmp_path / "page.html"
    ended = gpuyard(
        *("whatif", STACK, "--trace", JOBS, "--policies", "--predict"),
        *("--format", "html", "--output", path),
    )
    assert ended.code == 0
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    check_accessible(page)
    check_self_contained(text)
    assert "Scaling policies" in text
    assert "any, always warm" in text
    assert "shortest predicted first" in text


def test_a_larger_image_delays_the_jobs_of_new_nodes(gpuyard, tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("name,submitted_seconds,run_seconds,gpus,team\na,0,600,8,vision\n")
    waits = []
    for size in (0, 10, 20):
        ended = gpuyard(*("whatif", STACK, "--trace", path, "--image-gb", size, "--format", "json"))
        waits.append(json.loads(ended.out)["stacks"][0]["waits"]["mean"])
    assert waits[0] < waits[1] < waits[2]
    assert waits[2] - waits[1] == pytest.approx(waits[1] - waits[0], abs=0.1)


def test_advice_depends_on_the_ratio(gpuyard, write, tmp_path):
    """Jobs of 1,000 s of ada wait while jobs of 20,000 s of grace run, which have a lower priority."""
    teams = [team("ml", guarantee={"train": 8})]
    stack = write(
        platform(
            [pool(nodes=1)],
            teams,
            priorities={"low": 1, "high": 100},
            queueing={"preemption": "never"},
        )
    )
    rows = ["name,submitted_seconds,run_seconds,gpus,team,user,priority"]
    for n in range(12):
        at = n * 30_000
        rows += [f"g{n},{at},20000,8,ml,grace,1", f"a{n},{at + 10},1000,8,ml,ada,100"]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    advised = [
        json.loads(
            gpuyard(
                *("whatif", stack, "--trace", path, "--predict", "--format", "json"),
                *("--preemption-ratio", ratio),
            ).out
        )["stacks"][0]["predictions"]["preemption_advised"]
        for ratio in (0.3, 0.01)
    ]
    assert advised == [6, 0]
