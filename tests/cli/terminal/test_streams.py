"""The guard when nobody reads its complaint: the exit code still says what happened."""

import io
import sys

import pytest

from gpuyard import cli
from gpuyard_core.errors import EnvironmentMissing, UsageError
from gpuyard_core.terminal import guard


class Gone(io.StringIO):
    """A stream whose reader has left."""

    def write(self, _: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    def flush(self) -> None:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize(
    ("args", "code"),
    [([], 2), (["chek"], 2), (["check", "/nowhere/x.yaml"], 2), (["mig", "L4"], 3)],
    ids=str,
)
def test_a_stderr_without_a_reader_keeps_the_exit_code(monkeypatch, args, code):
    monkeypatch.setattr(sys, "stderr", Gone())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert cli.main(args) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (UsageError("x"), 2),
        (EnvironmentMissing("x"), 4),
        (OSError(5, "Input/output error"), 4),
        (ValueError(), 1),
    ],
    ids=repr,
)
def test_each_end_keeps_its_code_without_a_stderr(monkeypatch, error, code):
    def fail(*_args):
        raise error

    monkeypatch.setattr(guard, "_run", fail)
    monkeypatch.setattr(sys, "stderr", Gone())
    assert cli.main(["check"]) == code


def test_a_fault_without_words_is_named_by_its_kind_on_one_line(monkeypatch, capsys):
    def fail(*_args):
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr(guard, "_run", fail)
    assert cli.main(["check"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("gpuyard: internal error: ZeroDivisionError: a\\nb.")
    assert said.count("\n") == 1
    assert "GPUYARD_DEBUG=1 shows where" in said
