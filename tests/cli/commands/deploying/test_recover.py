"""`gpuyard recover` prints what was done, and what is left to decide."""

import json
from pathlib import Path

import pytest

from gpuyard.cli.commands.deploying import recover as module
from gpuyard.recovery import RecoveryResult
from gpuyard_core.errors import EnvironmentMissing
from kit.inprocess import run


def found(monkeypatch, *, did=(), left=()):
    asked = []

    def recovered(stack):
        asked.append((stack.name, stack.folder, stack.config_file))
        return RecoveryResult(did, left)

    monkeypatch.setattr(module, "recovered", recovered)
    return asked


def test_what_was_done_and_what_comes_next(monkeypatch):
    asked = found(monkeypatch, did=("its lock is removed", "adopted: Namespace a"))
    ended = run("recover", "prod")
    assert (ended.code, ended.out) == (
        0,
        "its lock is removed\nadopted: Namespace a\nNext: pulumi up --stack prod\n",
    )
    assert asked == [("prod", Path.cwd(), None)]


def test_what_is_left_is_listed_and_ends_with_3(monkeypatch):
    found(
        monkeypatch,
        did=("its lock is removed",),
        left=(("Namespace b exists and belongs to another owner: …"),),
    )
    ended = run("recover", "prod")
    assert (ended.code, ended.out) == (
        3,
        (
            "its lock is removed\nYou must decide:\n  Namespace b exists and belongs to "
            "another owner: …\n"
        ),
    )


def test_a_stack_that_needs_nothing_is_told_so(monkeypatch):
    found(monkeypatch)
    ended = run("recover", "prod")
    assert (ended.code, ended.out) == (
        0,
        "Stack prod needs no repair: no lock, no pending operation, no existing resource to import.\n",
    )


def test_for_programs(monkeypatch):
    found(monkeypatch, left=("b",))
    ended = run("recover", "prod", "--format", "json")
    assert (ended.code, json.loads(ended.out)) == (
        3,
        {
            "version": 1,
            "command": "recover",
            "findings": [],
            "stack": "prod",
            "did": [],
            "left": ["b"],
        },
    )


def test_a_stack_that_somebody_holds_ends_with_4(monkeypatch):
    def held(_):
        raise EnvironmentMissing("stack prod is locked by process 7 of ci on runner-3")

    monkeypatch.setattr(module, "recovered", held)
    ended = run("recover", "prod")
    assert (ended.code, ended.out) == (4, "")
    assert "stack prod is locked by process 7 of ci on runner-3" in ended.err


@pytest.mark.parametrize("arguments", [(), ("a", "b")])
def test_it_is_about_one_stack(arguments):
    assert run("recover", *arguments).code == 2


def test_the_configuration_may_be_another_file(monkeypatch, tmp_path):
    asked, file = found(monkeypatch, did=("its lock is removed",)), tmp_path / "prod.yaml"
    file.write_text("config: {}")
    ended = run("recover", "prod", "--config-file", str(file))
    assert asked == [("prod", Path.cwd(), file)]
    assert f"Next: pulumi up --stack prod --config-file {file}" in ended.out
    missing = run("recover", "prod", "--config-file", str(tmp_path / "none.yaml"))
    assert (missing.code, len(asked)) == (2, 1)
