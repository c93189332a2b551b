"""Campaigns: each is listed, gets its arguments, and fails with its program."""

from collections import Counter

import pytest

import campaign
import mutate
from kit import searches

PAGE = (campaign.ROOT / "benchmarks" / "campaigns.md").read_text(encoding="utf-8")


@pytest.fixture
def ran(monkeypatch):
    """Records what would be started; it ends with `codes`, else with 0."""
    runs, codes = [], []

    def started(run):
        runs.append(run)
        return codes.pop(0) if codes else 0

    monkeypatch.setattr(campaign, "started", started)
    return runs, codes


def test_without_a_name_they_are_listed_and_none_is_started(ran, capsys):
    assert campaign.main([]) == 0
    assert ran[0] == []
    listed = capsys.readouterr().out
    assert all(f"\n  {name} " in listed for name in campaign.CAMPAIGNS)
    assert "  mutations   100,000 files: " in listed


def test_count_and_seed_say_which_numbers_are_searched(ran):
    assert campaign.main(["mutations", "--count", "500", "--seed", "3"]) == 0
    ((run,), _) = ran
    assert run.environment == {"GPUYARD_MUTATIONS": "1500:2000"}
    assert "tests/cli/test_mutated_stacks.py" in run.arguments


def test_a_live_campaign_fails_where_its_parts_are_missing(ran):
    campaign.main(["accidents"])
    ((run,), _) = ran
    assert run.environment == {"GPUYARD_REQUIRE": "engine,cluster", "GPUYARD_SEEDS": "20"}


def test_each_round_of_stutter_has_a_seed_of_its_own(ran):
    campaign.main(["stutter", "--count", "3", "--seed", "7"])
    assert [run.environment["GPUYARD_STUTTER"] for run in ran[0]] == ["7", "8", "9"]


def test_all_are_run_and_the_first_failure_is_the_exit_code(ran, capsys):
    ran[1].extend([0, 4, 1])
    assert campaign.main(["all"]) == 4
    assert len(ran[0]) == len(campaign.CAMPAIGNS)
    said = capsys.readouterr().out
    assert "campaign mutations: passed after 0 s" in said
    assert "campaign properties: failed (exit code 4) after 0 s" in said


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["queues", "--count", "0"], "invalid positive value: '0'"),
    ],
)
def test_wrong_arguments_are_refused(capsys, given, says):
    with pytest.raises(SystemExit) as ended:
        campaign.main(given)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_every_file_that_a_campaign_names_is_there():
    for each in campaign.CAMPAIGNS.values():
        made = each.make(1, 0)
        for run in made if isinstance(made, list) else [made]:
            named = [word for word in run.arguments if word.startswith(("tests", "benchmarks/"))]
            assert named
            assert all((campaign.ROOT / word).exists() for word in named)


def test_every_campaign_is_in_both_tables_of_the_page():
    """One table has the duration, one the result."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    told = Counter(row.split("`")[1] for row in rows)
    assert {name: told[name] for name in campaign.CAMPAIGNS} == dict.fromkeys(campaign.CAMPAIGNS, 2)


@pytest.mark.parametrize(
    ("text", "expected"), [("500", range(500)), ("500:800", range(500, 800)), ("0:1", range(1))]
)
def test_numbers_are_a_count_or_from_and_to(text, expected):
    assert searches.numbers(text) == expected


def test_a_campaign_multiplies_the_examples(monkeypatch):
    assert searches.examples(25) == 25 * searches.TIMES
    monkeypatch.setattr(searches, "TIMES", 20)
    assert searches.examples(25) == 500


def test_every_file_that_the_mutation_script_names_exists():
    named = [mutate.LIBRARY / file for file in mutate.TESTS]
    named += [mutate.ROOT / test for tests in mutate.TESTS.values() for test in tests]
    assert [str(path) for path in named if not path.exists()] == []
