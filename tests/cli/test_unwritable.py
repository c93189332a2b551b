"""A file that a command is to write, where none can be: one sentence, and the user's slip."""

import errno
from pathlib import Path

import pytest

from gpuyard_core.errors import UsageError
from gpuyard_core.local_files import write_file
from kit.clouds.running import running
from kit.inprocess import run

JOB = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b}]}\n"


@pytest.fixture(params=["lint", "adopt", "validate"])
def writer(request, write):
    """A command that writes a file, up to that file's name."""
    match request.param:
        case "lint":
            return ("lint", str(write(JOB, "job.yaml")), "--write-baseline")
        case "adopt":
            return ("adopt", str(write(running("aws").raw, region="us-east-1")), "--out")
        case _:
            return ("validate", "--snapshot", str(write("{}", "machine.json")), "--record")


def test_what_cannot_be_written_is_said_in_one_sentence(writer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    missing, folder = run(*writer, "no/such.json"), run(*writer, ".")
    assert (missing.code, missing.out) == (2, "")
    assert missing.err == "gpuyard: no/such.json: can't be written: there is no folder no\n"
    assert (folder.code, folder.out) == (2, "")
    assert folder.err == "gpuyard: .: can't be written: it is a folder. Give the path of a file.\n"


def test_a_refusal_of_the_system_is_said_in_its_words(monkeypatch):
    monkeypatch.setattr(Path, "write_text", _raising(PermissionError(13, "Permission denied")))
    with pytest.raises(UsageError, match=r"^/a: can't be written: permission denied$"):
        write_file(Path("/a"), "")


def test_a_full_disk_is_left_to_whoever_catches_everything(monkeypatch):
    monkeypatch.setattr(Path, "write_text", _raising(OSError(errno.ENOSPC, "No space left")))
    with pytest.raises(OSError, match="No space left"):
        write_file(Path("/a"), "")


def _raising(error):
    def write_text(*_, **__):
        raise error

    return write_text
