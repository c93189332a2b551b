"""`gpuyard check`: the findings are the result."""

import json

import pytest

from kit.stacks import SYSTEM, platform, pool, team

NOTED = platform(
    [pool(nodes="0..4", machine="p5e.48xlarge")],
    [team(guarantee={"train": 8})],
    cloud="aws",
    budget={"max_usd_per_hour": 1000},
)
"""A warning (a price is unknown) and a note (a node must start)."""


def test_a_sound_stack_is_fine(gpuyard, write):
    path = write(platform())
    ended = gpuyard("check", path)
    assert (ended.code, ended.err) == (0, "")
    text = " ".join(ended.out.split())
    assert (
        text
        == f"ok {path}: 1 pool, 0 teams, 0 shapes proved; at most 220.16 $/hour, priced in us-east-1"
    )


@pytest.mark.parametrize(
    ("fail_on", "code", "verdict"),
    [("error", 0, "ok"), ("warning", 3, "failed"), ("info", 3, "failed")],
)
def test_fail_on_decides_what_is_fine(gpuyard, write, fail_on, code, verdict):
    ended = gpuyard("check", write(NOTED), "--fail-on", fail_on)
    assert ended.code == code
    assert ended.out.splitlines()[-2].startswith(verdict) or f"\n{verdict} " in ended.out
    assert [w for w in ("error   ", "warning ", "info    ") if w in ended.out] == [
        "warning ",
        "info    ",
    ]


def test_notes_alone_do_not_fail_on_warn(gpuyard, write):
    noted = platform([pool(nodes="0..4", scaling="autoscaler")], [team(guarantee={"train": 8})])
    assert gpuyard("check", write(noted), "--fail-on", "warning").code == 0
    assert gpuyard("check", write(noted), "--fail-on", "info").code == 3


def test_old_facts_of_the_catalogue_are_shown_and_fail_no_check(gpuyard, write, monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "2027-02-01")
    path = write(platform(cloud="aws", kubernetes="1.36", system=SYSTEM))
    ended = gpuyard("check", path, "--fail-on", "warning", "--format", "json")
    document = json.loads(ended.out)
    warned = [f["id"] for f in document["findings"] if f["severity"] == "warning"]
    assert warned == ["windows.old", "prices.old", "bulletins.old", "pins.old"]
    assert (ended.code, document["failed"]) == (0, False)
    assert "\nok      " in gpuyard("check", path, "--fail-on", "warning").out


def test_a_simulated_platform_uses_no_fact_that_ages(gpuyard, write, monkeypatch):
    monkeypatch.setenv("GPUYARD_TODAY", "2028-01-01")
    assert ".old" not in gpuyard("check", write(platform(cloud="simulated"))).out


def test_an_unknown_severity_is_wrong_usage(gpuyard, write):
    ended = gpuyard("check", write(NOTED), "--fail-on", "fatal")
    assert (ended.code, ended.out) == (2, "")
    assert "error" in ended.err


def test_the_document_keeps_its_shape(gpuyard, write):
    path = write(NOTED)
    document = json.loads(gpuyard("check", path, "--format", "json").out)
    assert list(document) == [
        "version", "command", "findings", "stack", "counts", "fail_on", "failed", "platform",
    ]  # fmt: skip
    assert document["findings"][0]["docs"] == f"gpuyard why {document['findings'][0]['id']}"
    assert document["version"] == 1
    assert document["command"] == "check"
    assert document["stack"] == str(path)
    assert document["counts"] == {"error": 0, "warning": 1, "info": 2}
    assert document["platform"]["unknown_prices"] == ["train"]
    assert list(document["findings"][0]) == [
        "id", "docs", "severity", "path", "where", "file", "line", "problem", "given", "allowed", "fix",
    ]  # fmt: skip


def test_a_fix_that_a_program_can_apply_has_its_place_and_value(gpuyard, write):
    wrong = platform(teams=[team(guarantee={"train": 40})])
    document = json.loads(gpuyard("check", write(wrong), "--format", "json").out)
    fix = document["findings"][0]["fix"]
    assert (fix["at"], fix["value"]) == (["teams", 0, "guarantee", "train"], 32)


def test_of_very_many_findings_the_text_shows_the_first_and_counts_the_rest(gpuyard, write):
    path = write(platform(**{f"field{i}": 1 for i in range(250)}))
    ended = gpuyard("check", path)
    assert ended.code == 3
    assert ended.out.count("\nerror   ") + ended.out.startswith("error   ") == 200
    assert "… and 50 more; --format json lists all." in ended.out
    assert "250 errors" in ended.out
    assert len(json.loads(gpuyard("check", path, "--format", "json").out)["findings"]) == 250


FLEET = platform(
    [pool(f"train-{i}", nodes=f"0..{i + 4}", scaling="autoscaler") for i in range(40)],
    [team(guarantee={f"train-{i}": 16 for i in range(40)})],
    budget={"max_usd_per_hour": 100_000},
)


@pytest.mark.parametrize("command", ["check", "plan"])
def test_of_notes_that_differ_in_names_and_numbers_only_the_text_shows_the_first(
    gpuyard, write, command
):
    path = write(FLEET)
    ended = gpuyard(command, path)
    text = ended.out + ended.err
    assert text.count("quota.nodes_to_start") == 1
    assert (
        "info    pools[0].nodes: the guarantees of train-0 need 2 nodes; 0 run from the\n"
        "        start, 2 start when jobs request them\n"
        "        given    0..4\n"
        f"        at       {path}:9\n"
        "        more     gpuyard why quota.nodes_to_start\n"
        "        also     and 39 more: pools[1].nodes, pools[2].nodes, pools[3].nodes, …;\n"
        "                 --format json lists all\n"
    ) in text


def test_the_document_has_every_note_that_the_text_leaves_out(gpuyard, write):
    document = json.loads(gpuyard("check", write(FLEET), "--format", "json").out)
    assert [f["id"] for f in document["findings"]] == ["quota.nodes_to_start"] * 40


def test_two_equal_notes_and_equal_warnings_are_all_shown(gpuyard, write):
    many = platform(
        [pool(f"train-{i}", nodes="0..4", scaling="autoscaler") for i in range(4)],
        [
            team(
                guarantee={"train-0": 8, "train-1": 8},
                borrow={f"train-{i}": 400 for i in range(4)},
            )
        ],
        budget={"max_usd_per_hour": 100_000},
    )
    out = gpuyard("check", write(many)).out
    assert out.count("gpuyard why quota.nodes_to_start") == 2
    assert out.count("warning ") == 4
    assert "more:" not in out


def test_findings_come_gravest_first(gpuyard, write):
    wrong = NOTED | {"teams": [team(guarantee={"train": 40})]}
    document = json.loads(gpuyard("check", write(wrong), "--format", "json").out)
    found = [f["severity"] for f in document["findings"]]
    assert found == sorted(found, key=["error", "warning", "info"].index)
    assert found[0] == "error"


@pytest.mark.parametrize(
    ("machine", "region", "said"),
    [
        ("p4d.24xlarge", "us-east-1", "at most 88.83 $/hour, priced in us-east-1"),
        ("p4d.24xlarge", "eu-central-1", "at most 110.74 $/hour, priced in eu-central-1 and us-east-1"),
        ("p5e.48xlarge", "", "at most 1.00 $/hour and 1 part of unknown price, priced in us-east-1"),
    ],
)  # fmt: skip
def test_the_worst_hour_says_where_its_prices_are_asked(gpuyard, write, machine, region, said):
    raw = platform([pool(machine=machine)], cloud="aws", system=SYSTEM)
    assert said in " ".join(gpuyard("check", write(raw, region=region)).out.split())


def test_a_platform_of_which_no_price_is_known_has_no_figure(gpuyard, write):
    own = {"gpu": "H100", "gpus": 8, "cpu": 192, "memory_gib": 2048}
    text = gpuyard("check", write(platform([pool(machine=own)], cloud="none"))).out
    said = "maximum cost unknown: 1 part without a price"
    assert " ".join(text.split()).endswith(said)
