"""`gpuyard adopt` says what is found and what is not, and writes the file that imports it."""

import json
from functools import partial

import pytest

from gpuyard import programs
from gpuyard.cli.commands.deploying import adopt as module
from gpuyard.preflight.probes import ProbeAnswer
from gpuyard.recovery import PulumiStack
from kit.clouds.running import running
from kit.clouds.shown import shown
from kit.inprocess import run
from kit.stacks import platform

NODES = "train-spot"


@pytest.fixture(scope="module")
def lab():
    return running("aws")


@pytest.fixture
def stack(write, lab):
    return str(write(lab.raw, region="us-east-1"))


@pytest.fixture
def answering(monkeypatch, lab):
    monkeypatch.setattr(programs, "run_commands", partial(shown, lab.account))


def test_all_that_the_account_shows_is_found_and_written(stack, answering, tmp_path, lab):
    file = tmp_path / "adopt.json"
    ended = run("adopt", stack, "--ask", "--out", str(file))
    assert ended.code == 0, ended.err
    assert f"{NODES}: lab:{NODES}" in ended.out
    assert f"{len(lab.graph.resources)} ids found, 0 missing." in ended.out
    assert f"Wrote {file}." in ended.out
    written = json.loads(file.read_text())["resources"]
    assert len([each for each in written if "id" in each]) == len(lab.graph.resources)


def test_what_nobody_knows_is_named_with_the_reason_and_the_way_to_say_it(stack, tmp_path):
    ids = tmp_path / "ids.yaml"
    ids.write_text("vpc: vpc-1\n")
    ended = run("adopt", stack, "--ids", str(ids))
    assert ended.code == 3
    assert "found     vpc: vpc-1" in ended.out
    assert "MISSING   internet (aws:ec2/internetGateway:InternetGateway): its id is" in ended.out
    assert "in a file for --ids, or use --ask to query the account" in ended.out


def test_programs_read_the_same(stack, monkeypatch, lab):
    def other(questions):
        answers = shown(lab.account, questions)
        for name, answer in answers.items():
            if "describe-cluster" in name:
                answer.value["cluster"]["version"] = "1.30"
            if "list-addons" in name:
                answers[name] = ProbeAnswer(failure_reason="permission denied")
        return answers

    monkeypatch.setattr(programs, "run_commands", other)
    ended = run("adopt", stack, "--ask", "--format", "json")
    assert ended.code == 4
    said = json.loads(ended.out)
    assert said["command"] == "adopt"
    assert [(e["name"], e["field"], e["there"]) for e in said["differs"]] == [
        ("cluster", "version", "1.30")
    ]
    assert [each["why"] for each in said["not_asked"]] == ["permission denied"]
    assert (said["missing"], said["imported"]) == ([], False)
    assert said["ids"][NODES] == f"lab:{NODES}"
    text = run("adopt", stack, "--ask").out
    assert "DIFFERS   cluster: version is 1.30, the stack file has" in text
    assert "SKIPPED " in text


def test_an_import_keeps_the_names_that_the_engine_gave(stack, answering, monkeypatch):
    seen = []

    class Engine(PulumiStack):
        def __init__(self, name, folder, env):
            seen.append(name)

        def query(self, *words):
            seen.append(words[:2])
            return json.dumps({"deployment": {"resources": []}}) if words[1] == "export" else ""

    monkeypatch.setattr("gpuyard.recovery.PulumiStack", Engine)
    ended = run("adopt", stack, "--ask", "--into", "prod")
    assert ended.code == 0
    assert seen == ["prod", ("import", "--file"), ("stack", "export"), ("stack", "import")]
    assert "Imported into prod. Next: pulumi preview --stack prod" in ended.out


def test_nothing_is_imported_while_something_is_missing(stack, monkeypatch):
    monkeypatch.setattr(module, "_import", lambda *_: pytest.fail("imported"))
    assert run("adopt", stack, "--into", "prod").code == 3


def test_google_is_asked_for_the_project_or_told(write, monkeypatch):
    lab = running("gcp")
    file = str(write(lab.raw))
    ended = run("adopt", file)
    assert (ended.code, "add --project ID" in ended.err) == (2, True)
    assert "keys (gcp:kms/keyRing:KeyRing)" in run("adopt", file, "--project", "my-project").out

    def ask(questions):
        known = {"core": {"project": "my-project"}}
        answers = {q.name: ProbeAnswer(value=known) for q in questions if q.name == "caller"}
        return answers or shown(lab.account, questions)

    monkeypatch.setattr(programs, "run_commands", ask)
    ended = run("adopt", file, "--ask")
    assert "network: projects/my-project/global/networks/lab" in ended.out


def test_wrong_use_is_one_message(write, stack, tmp_path):
    ids = tmp_path / "ids.yaml"
    for text, said in (
        ("vcp: vpc-1\n", "--ids: vcp: this stack has no resource of this name"),
        ("a.b: x\n", "--ids: a.b: this stack"),
        ("vpc: 3\n", "vpc is not a string; write `NAME: ID`"),
        ("- vpc\n", "not a mapping; write `NAME: ID`"),
    ):
        ids.write_text(text)
        ended = run("adopt", stack, "--ids", str(ids))
        assert (ended.code, said in ended.err) == (2, True), ended.err
    ended = run("adopt", stack, "--project", "x")
    assert (ended.code, "is for Google Cloud; this stack is on AWS" in ended.err) == (2, True)
    ended = run("adopt", str(write(platform(), "own.yaml")))
    assert (ended.code, "creates no AWS or Google Cloud resources to import" in ended.err) == (
        2,
        True,
    )


def test_a_refused_stack_is_not_adopted(write):
    file = str(write(platform(kubernetes="1.2", cloud="aws"), region="us-east-1"))
    assert run("adopt", file).code == 3
    assert json.loads(run("adopt", file, "--format", "json").out)["command"] == "adopt"
