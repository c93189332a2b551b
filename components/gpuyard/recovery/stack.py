"""One stack, and Pulumi commands on it."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpuyard_core.errors import EnvironmentMissing

_PLAINTEXT = "plaintext"
_CONFIGURED = frozenset({"import", "preview", "refresh", "up"})
"""Commands that accept the path of the stack's configuration."""


@dataclass(frozen=True, slots=True)
class PulumiStack:
    """Pulumi commands on one stack, in its project directory."""

    name: str
    folder: Path
    env: Mapping[str, str]
    config_file: Path | None = None
    """Its configuration file; None for the default of the stack's name."""

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run a command: exit code and output."""
        where = ("--config-file", str(self.config_file)) if self.config_file else ()
        told = where if arguments[0] in _CONFIGURED else ()
        always = ("--stack", self.name, "--non-interactive", "--color", "never")
        done = self._call(*arguments, *told, *always)
        return done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def _call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603  no shell; names of stacks and objects
            [self._program(), *arguments],
            cwd=self.folder,
            env=dict(self.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
        )

    def _program(self) -> str:
        program = shutil.which("pulumi", path=self.env.get("PATH"))
        if program is None:
            raise EnvironmentMissing(
                "no `pulumi` on PATH: put the Pulumi CLI that deploys the stack on PATH and "
                "retry; for a stack that `make up` deployed, run this in `make shell "
                f"STACK={self.name}`"
            )
        return program

    def query(self, *arguments: str) -> str:
        """The output of a command; EnvironmentMissing with its error message when it fails."""
        code, said = self.run(*arguments)
        if code:
            raise EnvironmentMissing(f"pulumi {' '.join(arguments)}: {_why(said)}")
        return said

    def state(self) -> dict[str, Any]:
        """The state with decrypted secrets."""
        exported = json.loads(self.query("stack", "export", "--show-secrets"))
        results: dict[str, Any] = exported.get("deployment") or {}
        return results

    def edit(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change the state; its secrets stay encrypted."""
        exported = json.loads(self.query("stack", "export"))
        exported["deployment"] = change(exported["deployment"])
        with tempfile.TemporaryDirectory(prefix="gpuyard-") as folder:
            file = Path(folder) / "state.json"
            file.write_text(json.dumps(exported), encoding="utf-8")
            self.query("stack", "import", "--file", str(file))

    @property
    def project(self) -> str:
        """The project name, from the nearest Pulumi.yaml."""
        for folder in (self.folder, *self.folder.resolve().parents):
            for name in ("Pulumi.yaml", "Pulumi.yml", "Pulumi.json"):
                if (file := folder / name).is_file():
                    return str(yaml.safe_load(file.read_text(encoding="utf-8"))["name"])
        raise EnvironmentMissing(
            f"no Pulumi.yaml in {self.folder} or its parents: run it in the project directory"
        )

    @property
    def files(self) -> Path | None:
        """The folder of a local file backend; else None."""
        url = self.env.get("PULUMI_BACKEND_URL")
        if not url:
            done = self._call("whoami", "--verbose", "--json")
            url = str(json.loads(done.stdout).get("url", "")) if done.returncode == 0 else ""
        if not url.startswith("file://"):
            return None
        return Path(url.removeprefix("file://").partition("?")[0]).expanduser()


def plaintext_value(value: Any) -> str | None:
    """A string of the state; a secret is JSON in a mapping."""
    if isinstance(value, dict) and _PLAINTEXT in value:
        value = json.loads(value[_PLAINTEXT])
    return value if isinstance(value, str) and value else None


def _why(output: str) -> str:
    """The errors of a failed command with `--json`, else its whole output."""
    try:
        found = json.JSONDecoder().raw_decode(output[output.index("{") :])[0]["diagnostics"]
    except (ValueError, KeyError):
        return output.strip()
    return " ".join(
        word for d in found if d["severity"] == "error" for word in d["message"].split()
    )
