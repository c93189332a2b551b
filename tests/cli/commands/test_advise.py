"""`gpuyard advise`: advice from a file of answers or from a terminal, and the stack file."""

import io
import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from gpuyard.cli.app import COMMANDS
from gpuyard_advisor.advice.strategy.strategy import tables
from kit.every import every

ROOT = Path(__file__).parents[3]
ANSWERS = """
cloud: aws
budget: cost
workloads:
  - {name: notes, kind: notebook, gpu_memory_gib: 5, gpus: 8}
"""


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.yaml"
    path.write_text(ANSWERS, encoding="utf-8")
    return path


def test_the_written_stack_passes_the_check(gpuyard, answers, tmp_path):
    stack = tmp_path / "stack.yaml"
    ended = gpuyard("advise", "--answers", answers, "--output", stack)
    assert (ended.code, ended.err) == (0, "")
    assert " ".join(ended.out.split()).endswith("stack.yaml is written and passes gpuyard check")
    assert gpuyard("check", stack).code == 0


def test_without_output_nothing_is_written(gpuyard, answers, tmp_path):
    assert "  --output writes it\n" in gpuyard("advise", "--answers", answers).out
    assert [path.name for path in tmp_path.iterdir()] == ["answers.yaml"]


def test_the_document_has_the_decision_and_the_stack(gpuyard, answers):
    document = json.loads(gpuyard("advise", "--answers", answers, "--format", "json").out)
    (one,) = document["workloads"]
    assert (one["mode"], one["machine"], one["nodes"], one["pods_per_gpu"]) == (
        *("time-slicing", "g4dn.xlarge"),
        *(3, 3),
    )
    assert {each["answer"] for each in one["rejected"]} == {"dedicated", "mig", "mps", "dra"}
    assert document["utilisation_percent"] == {"low": 70, "high": 85}
    assert document["answers"]["workloads"][0]["gpus"] == 8
    assert document["owned"] is None
    assert yaml.safe_load(document["stack_file"])["config"]["gpuyard:platform"]["cloud"] == "aws"


def test_the_document_is_as_it_was_agreed(gpuyard, golden, monkeypatch):
    monkeypatch.chdir(ROOT)
    ended = gpuyard("advise", "--answers", "tests/cli/golden/answers.yaml", "--format", "json")
    golden(ROOT / "tests/cli/golden/advise.json", ended.out)


def test_wrong_answers_are_rejected_with_path_allowed_values_and_fix(gpuyard, tmp_path):
    path = tmp_path / "answers.yaml"
    path.write_text(ANSWERS.replace("notebook,", "notebok,"), encoding="utf-8")
    ended = gpuyard("advise", "--answers", path)
    assert (ended.code, ended.out) == (3, "")
    text = " ".join(ended.err.split())
    assert text.startswith(
        "error workloads[0].kind: not a valid value given 'notebok' allowed training,"
    )
    assert "fix write notebook more gpuyard why spec.unknown_word" in text
    assert text.endswith("answers.yaml: 1 error")
    ended = gpuyard("advise", "--answers", path, "--format", "json")
    document = json.loads(ended.out)
    assert (ended.code, document["advice"]) == (3, None)
    assert [f["where"] for f in document["findings"]] == ["workloads[0].kind"]


def test_a_workload_that_fits_nowhere_is_an_error_of_use(gpuyard, tmp_path):
    path = tmp_path / "answers.yaml"
    path.write_text(ANSWERS.replace("gib: 5", "gib: 900"), encoding="utf-8")
    ended = gpuyard("advise", "--answers", path)
    assert ended.code == 2
    assert "workloads[0] notes: no machine has 1 GPUs with 900 GiB each" in ended.err


@every("arguments", [(), ("--interactive", "--answers", "x.yaml")], ids=["neither", "both"])
def test_there_is_one_source_of_answers(gpuyard, arguments):
    ended = gpuyard("advise", *arguments)
    assert ended.code == 2
    assert "write either --answers FILE or --interactive" in ended.err


def test_questions_need_a_terminal(gpuyard):
    ended = gpuyard("advise", "--interactive")
    assert ended.code == 2
    assert "--interactive needs a terminal. Write the answers to a file" in ended.err


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def typed(gpuyard, monkeypatch):
    def run(*lines):
        monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in lines)))
        return gpuyard("advise", "--interactive", "--format", "json")

    return run


PLATFORM = ("lab", "aws", "", "", "1.36", "cost", "", "", "[vision, search]", "25", "")
"""One line for each question about the platform, in their order."""
WORKLOAD = ("notes", "notebook", "", "vision", "5", *("",) * 11)


def test_questions_take_answers_and_defaults(typed):
    ended = typed(*PLATFORM, *WORKLOAD, "n", "n")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    asked = document["answers"]
    assert (asked["name"], asked["kubernetes"], asked["teams"]) == (
        *("lab", "1.36"),
        ["vision", "search"],
    )
    assert (asked["people"], asked["budget"], asked["region"]) == (25, "cost", None)
    assert asked["workloads"][0]["gpu_memory_gib"] == 5


def test_a_wrong_answer_is_asked_again(typed):
    lines = list(PLATFORM)
    lines.insert(1, "azure")
    ended = typed(*lines, "", *WORKLOAD, "y", "two", *WORKLOAD[1:], "n", "n")
    assert ended.code == 0, ended.err
    text = " ".join(ended.err.split())
    assert "cloud: not a valid value given 'azure' allowed aws, gcp, none" in text
    assert "workloads[0].name: not a valid name for Kubernetes and the clouds given ''" in text
    assert [w["name"] for w in json.loads(ended.out)["answers"]["workloads"]] == ["notes", "two"]


def test_your_own_cluster_is_asked_for_its_servers(typed):
    own = [*PLATFORM]
    own[1] = "none"
    servers = ("H100", "2", "", "", "", "30000", *("",) * 3, "[1.1, 1.3]", "", "", "")
    ended = typed(*own, *WORKLOAD, "n", *servers)
    assert ended.code == 0, ended.err
    owned = json.loads(ended.out)["answers"]["owned"]
    assert (owned["nodes"], owned["pue"]) == (2, [1.1, 1.3])


def test_the_end_of_the_input_is_an_error_of_use(typed):
    ended = typed("lab")
    assert ended.code == 2
    assert "the input ended at cloud. Write the answers to a file instead." in ended.err


def test_each_command_of_the_roll_out_exists_with_its_options(gpuyard):
    lines = [line for row in tables()["rollout"] for line in row["commands"]]
    for line in dict.fromkeys(lines):
        program, name, *rest = line.split()
        assert (program, name in COMMANDS) == ("gpuyard", True), line
        words = [name, *rest[: rest[:1] == ["new"]]]
        usage = gpuyard(*words, "--help").out
        for option in re.findall(r"--[a-z-]+", line):
            assert f"{option} " in usage, line
