"""Completion in real shells: typed into a terminal, completed by Tab."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(gpuyard completion bash)"),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -U compinit && compinit -D -u && source <(gpuyard completion zsh)",
    ),
}
PATIENCE = 30


class Terminal:
    """A shell in a terminal."""

    def __init__(self, command: list[str], folder: Path) -> None:
        here = str(Path(sys.executable).parent)
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={
                **os.environ,
                "PATH": f"{here}{os.pathsep}{os.environ['PATH']}",
                "TERM": "dumb",
                "HOME": str(folder),
            },
        )
        os.close(theirs)
        self.terminal = ours

    def run(self, line: str, mark: str) -> str:
        """Type a line; returns what follows the mark in its output."""
        os.write(self.terminal, f"{line}\n".encode())
        read, deadline = "", time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 1)[0]:
                read += os.read(self.terminal, 65536).decode(errors="replace")
            if found := re.search(rf"[\r\n]{mark}:(.*?)\s*[\r\n]", read):
                return found[1]
        raise AssertionError(f"no {mark} in:\n{read}")

    def complete(self, typed: str) -> str:
        """The line after Tab; Ctrl-A goes to its beginning."""
        return self.run(f"{typed}\t\x01echo done:", "done").strip()

    def close(self) -> None:
        os.close(self.terminal)
        self.process.kill()
        self.process.wait()


@pytest.fixture(params=SHELLS)
def shell(request, project):
    command, setup = SHELLS[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} on PATH")
    terminal = Terminal(command, project)
    try:
        terminal.run(f"{setup}; echo 'ready'':'", "ready")
        yield terminal
    finally:
        terminal.close()


def test_a_shell_completes_commands_options_values_and_stacks(shell):
    assert shell.complete("gpuyard perm") == "gpuyard permissions"
    assert shell.complete("gpuyard check --ag") == "gpuyard check --against"
    assert shell.complete("gpuyard check --format j") == "gpuyard check --format json"
    assert shell.complete("gpuyard check pr") == "gpuyard check prod"
    assert shell.complete("gpuyard check ./stacks/Pulumi.t") == (
        "gpuyard check ./stacks/Pulumi.test.yaml"
    )


def test_fish_completes_them_too(project):
    if (fish := shutil.which("fish")) is None:
        pytest.skip("no fish on PATH")
    here = str(Path(sys.executable).parent)
    script = "gpuyard completion fish | source; for each in $argv; complete -C $each; end"
    lines = ("gpuyard perm", "gpuyard check --ag", "gpuyard check pr")
    ended = subprocess.run(
        [fish, "--no-config", "-c", script, *lines],
        env={**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}", "HOME": str(project)},
        capture_output=True,
        text=True,
        check=True,
    )
    words = [line.partition("\t")[0] for line in ended.stdout.splitlines()]
    assert words == ["permissions", "--against", "prod"]
