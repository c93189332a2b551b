"""The last line: what nobody has thought of becomes one sentence."""

import io
import sys

import pytest
import typer
from typer.main import get_command

from gpuyard import cli
from gpuyard.cli import app
from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.terminal import guard


def raising(monkeypatch, error):
    def command() -> int:
        raise error

    def build():
        made = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
        made.callback()(lambda: None)
        made.command("check")(command)
        return get_command(made)

    monkeypatch.setattr(app, "build_app", build)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (
            ValueError("odd\x1b[31m"),
            1,
            "internal error: ValueError: odd\\x1b[31m.",
        ),
        (RecursionError(), 1, "RecursionError."),
        (MemoryError(), 1, "MemoryError."),
        (EnvironmentMissing("no tool"), 4, "gpuyard: no tool\n"),
        (OSError(28, "No space left on device"), 4, "can't write: No space left on device"),
        (KeyboardInterrupt(), 130, ""),
        (typer.Abort(), 130, ""),
        (typer.Exit(3), 3, ""),
        (SystemExit(2), 2, ""),
        (SystemExit(), 0, ""),
        (SystemExit("words"), 1, ""),
    ],
)
def test_every_end_has_its_code_and_one_sentence(gpuyard, monkeypatch, error, code, says):
    raising(monkeypatch, error)
    ended = gpuyard("check")
    assert (ended.code, ended.out) == (code, "")
    assert says in ended.err
    assert "Traceback" not in ended.err
    assert ended.err.count("\n") == bool(says)


def test_the_traceback_is_shown_to_who_asks_for_it(gpuyard, monkeypatch):
    monkeypatch.setenv(guard.DEBUG, "1")
    raising(monkeypatch, ValueError("odd"))
    ended = gpuyard("check")
    assert ended.code == 1
    assert "Traceback" in ended.err


def test_a_process_without_streams_still_ends(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main(["version"]) == 0
    sys.stdout.close()
    sys.stderr.close()


class Gone(io.StringIO):
    """A stream whose reader has left."""

    def write(self, _: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")

    def flush(self) -> None:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("args", [["check", "local"], ["version"], ["schema"], ["--help"]])
def test_a_reader_who_is_gone_is_no_fault(monkeypatch, args):
    monkeypatch.chdir(guard.__file__.rpartition("/components/")[0])
    monkeypatch.setattr(sys, "stdout", Gone())
    assert cli.main(args) == 0


def test_the_version_is_said(gpuyard):
    for args in (("version",), ("--version",)):
        ended = gpuyard(*args)
        assert ended.code == 0
        assert ended.out.startswith("gpuyard 0.")
    assert '"gpuyard": "0.' in gpuyard("version", "--format", "json").out


def test_a_library_that_is_not_installed_has_no_version(gpuyard, monkeypatch):
    from gpuyard.cli.commands import about

    def absent(name):
        raise about.PackageNotFoundError(name)

    monkeypatch.setattr(about, "installed", absent)
    assert gpuyard("version").out == "gpuyard unknown (on sys.path, but not installed)\n"


def test_the_schema_is_the_one_that_editors_read(gpuyard):
    import json

    from gpuyard.spec.schema import stack_schema

    assert json.loads(gpuyard("schema").out) == stack_schema()
