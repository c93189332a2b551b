"""The advised stack is parsed, planned and checked without an error, whatever the answers."""

from datetime import date

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.spec.read import read_stack_file
from gpuyard.stack_validation import validate
from gpuyard_advisor.advice.strategy.answers import parse_answers
from gpuyard_advisor.advice.strategy.stack import advised_stack
from gpuyard_advisor.advice.strategy.strategy import advise
from gpuyard_core.errors import UsageError
from gpuyard_core.findings import Severity
from kit.searches import examples

DAY = date(2026, 11, 29)
TRAINING = {"name": "llm", "kind": "training", "gpu_memory_gib": 70, "gpus_per_job": 8}
NOTEBOOK = {"name": "notes", "kind": "notebook", "gpu_memory_gib": 5, "gpus": 8}
OWN = {"gpu": "A100-40", "nodes": 4, "usd_per_gpu": 15_000}


def stack_of(**raw):
    given_, findings = parse_answers(raw)
    assert given_ is not None, findings
    return advised_stack(advise(given_))


def platform_of(stack):
    return yaml.safe_load(stack.text)["config"]["gpuyard:platform"]


def errors_of(stack):
    judged = validate(read_stack_file(stack.text.encode(), "stack.yaml"), DAY, "stack.yaml")
    return [str(f) for f in judged.findings if f.severity is Severity.ERROR]


def maybe(values):
    return st.none() | st.sampled_from(values)


TEAMS = ("vision", "search", "speech")
workloads = st.fixed_dictionaries({
    "kind": st.sampled_from(
        ["training", "hpc", "batch", "inference", "real-time-inference", "notebook", "other"]
    ),
    "tier": maybe(["real-time", "batch", "development"]),
    "gpu_memory_gib": st.sampled_from([1, 5, 10, 12, 20, 24, 40]),
    "gpus_per_job": st.sampled_from([1, 1, 1, 2, 4, 8, 16, 32]),
    "team": maybe(TEAMS),
    "compute_percent": maybe([5, 20, 50, 80, 100]),
    "p99_ms": maybe([5, 10, 50, 500]),
    "availability_percent": maybe([99, 99.9, 99.99]),
    "requests_per_minute": maybe([1000]),
    "gpus": maybe([1, 3, 8, 20, 64]),
    "jobs_per_day": maybe([1, 20, 100]),
    "duration_hours": st.sampled_from([0.1, 1, 24]),
    "checkpoint_minutes": maybe([30]),
    "trusted": st.booleans(),
})  # fmt: skip
own = st.fixed_dictionaries({
    "gpu": st.sampled_from(["H100", "A100-40", "L40S", "T4", "B200", "A30", "GB200"]),
    "nodes": st.integers(1, 20),
    "gpus_per_node": st.sampled_from([1, 2, 4, 8]),
    "usd_per_gpu": st.just(20_000),
})  # fmt: skip
PLACES = (
    *(("aws", region) for region in ("us-east-1", "us-west-2", "eu-central-1", "ap-northeast-1")),
    *(("gcp", region) for region in ("us-central1", "europe-west4", "asia-northeast1")),
    ("none", None),
)
platforms = st.fixed_dictionaries({
    "place": st.sampled_from(PLACES),
    "kubernetes": st.sampled_from(["1.33", "1.34", "1.35", "1.36", "1.37"]),
    "budget": st.sampled_from(["cost", "balanced", "performance"]),
    "organisation": st.sampled_from(["central", "decentralised"]),
    "people": st.sampled_from([3, 50, 500]),
    "max_usd_per_month": maybe([1_000, 50_000, 1_000_000]),
    "resource_claims": st.booleans(),
    "owned": own,
})  # fmt: skip


@given(platforms, st.lists(workloads, min_size=1, max_size=4))
@settings(max_examples=examples(60), deadline=None)
def test_every_stack_passes_the_check(platform, asked):
    cloud, region = platform.pop("place")
    raw = {**platform, "cloud": cloud, "region": region, "teams": list(TEAMS)}
    raw["workloads"] = [{**each, "name": f"job-{n}"} for n, each in enumerate(asked)]
    given_, findings = parse_answers(raw)
    if given_ is None:
        assert [f.id for f in findings] == ["spec.out_of_bounds"]
        return
    try:
        stack = advised_stack(advise(given_))
    except UsageError as problem:
        assert "no machine has" in str(problem)  # noqa: PT017  an answer for jobs that fit nowhere
        return
    assert errors_of(stack) == []


def test_workloads_of_one_machine_and_mode_share_a_pool():
    stack = stack_of(cloud="aws", workloads=[NOTEBOOK, {**NOTEBOOK, "name": "more"}])
    (pool,) = platform_of(stack)["pools"]
    assert (pool["name"], pool["nodes"], pool["sharing"]) == ("notes", "0..6", {"time_slicing": 3})
    assert [shape["pool"] for shape in platform_of(stack)["shapes"]] == ["notes", "notes"]


def test_central_teams_share_a_pool_and_decentralised_teams_own_theirs():
    teams = ["vision", "search"]
    shared = platform_of(stack_of(cloud="aws", teams=teams, workloads=[NOTEBOOK]))
    assert [team["guarantee"] for team in shared["teams"]] == [
        {"notes/shared": 5},
        {"notes/shared": 4},
    ]
    assert [team["borrow"] for team in shared["teams"]] == [
        {"notes/shared": 4},
        {"notes/shared": 5},
    ]
    apart = stack_of(cloud="aws", teams=teams, organisation="decentralised", workloads=[NOTEBOOK])
    pools = platform_of(apart)["pools"]
    assert [(p["name"], p["owners"]) for p in pools] == [
        ("notes-vision", ["vision"]),
        ("notes-search", ["search"]),
    ]
    assert errors_of(apart) == []


def test_a_team_without_a_workload_is_left_out_with_a_note():
    stack = stack_of(
        cloud="aws", teams=["vision", "search"], workloads=[{**NOTEBOOK, "team": "vision"}]
    )
    assert [team["name"] for team in platform_of(stack)["teams"]] == ["vision"]
    assert stack.notes == ("no workload is of search, so the stack does not have this team.",)


def test_the_budget_is_written_only_if_the_highest_cost_is_within_it():
    within = stack_of(cloud="aws", max_usd_per_month=5_000, workloads=[NOTEBOOK])
    assert platform_of(within)["budget"] == {"max_usd_per_hour": 6.85}
    assert within.notes == ()
    above = stack_of(cloud="aws", max_usd_per_month=1_000, workloads=[NOTEBOOK])
    assert "budget" not in platform_of(above)
    (note,) = above.notes
    assert note.startswith("the stack can cost 1,")
    assert note.endswith(
        "over the limit of 1,000 $: it has no budget. Lower the demand, take the cost profile, or raise the limit."
    )
    assert "# The stack can cost 1," in above.text


def test_an_unknown_price_leaves_the_budget_out():
    stack = stack_of(cloud="none", owned=OWN, max_usd_per_month=1_000, workloads=[NOTEBOOK])
    assert stack.usd_per_month is None
    assert stack.notes == (
        (
            "no budget: the price of a machine is unknown. Write it under prices.machines, and then"
            " budget: {max_usd_per_hour: 1.37}."
        ),
    )


def test_too_few_servers_are_noted():
    stack = stack_of(cloud="none", owned=OWN, workloads=[{**NOTEBOOK, "gpus": 200}])
    assert stack.notes == (
        (
            "the workloads need 7 servers in pools of their own, and `owned` has 4: buy more, lower the"
            " demand, or run the rest in a cloud."
        ),
    )


def test_spot_nodes_follow_the_profile():
    jobs = {**TRAINING, "gpus": 32, "checkpoint_minutes": 30}
    capacities = {
        budget: platform_of(stack_of(cloud="aws", budget=budget, workloads=[jobs]))["pools"][0][
            "capacity"
        ]
        for budget in ("cost", "balanced", "performance")
    }
    assert capacities == {
        "cost": ["spot", "on-demand"],
        "balanced": [{"spot": True, "nodes": 2}, "on-demand"],
        "performance": ["on-demand"],
    }


def test_a_pool_of_fixed_size_has_nodes_for_each_capacity_option():
    claims = {"resource_claims": True, "budget": "cost"}
    jobs = {**TRAINING, "gpu_memory_gib": 20, "gpus_per_job": 1}
    (pool,) = platform_of(stack_of(cloud="aws", workloads=[jobs], **claims))["pools"]
    assert (pool["nodes"], pool["capacity"], pool["sharing"]) == (1, ["on-demand"], "dra")


def test_a_spare_node_of_a_fixed_pool_is_on_demand():
    jobs = {"name": "nightly", "kind": "batch", "gpu_memory_gib": 12, "availability_percent": 99.99}
    stack = stack_of(cloud="gcp", budget="cost", workloads=[jobs])
    (pool,) = platform_of(stack)["pools"]
    assert pool["nodes"] == 2
    assert pool["capacity"] == [{"spot": True, "nodes": 1}, {"on-demand": True, "nodes": 1}]
    assert errors_of(stack) == []


def test_distrusting_teams_require_a_slice():
    stack = stack_of(cloud="none", owned=OWN, workloads=[{**NOTEBOOK, "trusted": False}])
    (team,) = platform_of(stack)["teams"]
    assert team["isolation"] == "slice"
    assert "isolation" not in platform_of(stack_of(cloud="aws", workloads=[NOTEBOOK]))["teams"][0]


def test_each_pool_has_its_reasons_as_comments():
    text = stack_of(cloud="gcp", workloads=[NOTEBOOK]).text
    assert text.startswith(
        "# Written by gpuyard advise. Replace gcp:project, and zones that offer the machine.\n"
    )
    assert "      # notes: time-slicing, 4 pods on a GPU\n" in text
    assert "      # - nodes; one stays: the autoscaler of GKE reads shared GPUs and slices" in text


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_a_real_time_service_has_a_spare_node_in_a_second_zone(cloud):
    chat = {"name": "chat", "kind": "real-time-inference", "gpu_memory_gib": 12, "gpus": 2}
    stack = stack_of(cloud=cloud, workloads=[chat])
    (pool,) = platform_of(stack)["pools"]
    assert (pool["nodes"], len(pool["zones"])) == (3, 2)
    assert errors_of(stack) == []
