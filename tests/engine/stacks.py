"""A throw-away Pulumi project, and the commands of the real engine on it."""

import json
import os
import re
import signal
import subprocess
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kit.cluster.warm import AT_THE_END

PASSPHRASE = "engine-test"  # noqa: S105  guards nothing
PROJECT, STACK = "trial", "dev"
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 450  # a command on a busy machine; each test has its own limit beside it

PREAMBLE = """
import json, os
from pathlib import Path
import pulumi
import pulumi_kubernetes as k8s

settings = json.loads(Path("settings.json").read_text())
provider = k8s.Provider("cluster", cluster_identifier="test", **settings)
NAMESPACE = "{namespace}"

def opts(**more):
    return pulumi.ResourceOptions(provider=provider, **more)

def config_map(name, data=None, **more):
    metadata = {{"name": name, "namespace": NAMESPACE, **more.pop("metadata", {{}})}}
    return k8s.core.v1.ConfigMap(name, metadata=metadata, data=data or {{}}, opts=opts(**more))
"""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    output: str

    @property
    def counts(self) -> dict[str, int]:
        """The numbers under `Resources:`, as in {"created": 3, "unchanged": 1}."""
        body = self.output.rpartition("Resources:")[2]
        return {
            word: int(number)
            for number, word in re.findall(r"^\s+[^\w\s]*\s?(\d+) (\w+)$", body, re.MULTILINE)
        }


@dataclass
class Stack:
    """One project with one stack, called dev."""

    folder: Path
    env: dict[str, str]
    namespace: str
    kubeconfig: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def backend(self) -> Path:
        """The folder in which the engine keeps the state."""
        return Path(self.env["PULUMI_BACKEND_URL"].removeprefix("file://").partition("?")[0])

    def project(self, **more: Any) -> None:
        """Write Pulumi.yaml."""
        runtime = {"name": "python", "options": {"virtualenv": str(ROOT / ".venv")}}
        content = {"name": PROJECT, "runtime": runtime, **more}
        (self.folder / "Pulumi.yaml").write_text(json.dumps(content))
        self.settings()

    def settings(self, **more: Any) -> None:
        """Write the provider's arguments."""
        content = {"kubeconfig": self.kubeconfig.read_text(), **more}
        (self.folder / "settings.json").write_text(json.dumps(content))

    def program(self, source: str) -> None:
        """Write the program; the preamble comes first."""
        text = PREAMBLE.format(namespace=self.namespace) + textwrap.dedent(source)
        file = self.folder / "__main__.py"
        later = int(file.stat().st_mtime) + 2 if file.exists() else 0
        file.write_text(text)
        if (
            later > time.time()
        ):  # what is compiled is kept by second and size, and a stack may be faster
            os.utime(file, (later, later))

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start a command and come back at once."""
        process = subprocess.Popen(
            [str(Path(self.env["GPUYARD_TEST_PULUMI"])), *arguments, "--non-interactive"],
            cwd=self.folder,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, fails: bool = False, trace: bool = False, **env: str) -> Done:
        """Run a command to its end; it must succeed, or fail if `fails`; no traceback unless `trace`."""
        process = self.start(*arguments, **(AT_THE_END | self.env | env))
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            raise AssertionError(f"pulumi {' '.join(arguments)} hangs:\n{output}") from None
        assert (process.returncode != 0) == fails, f"pulumi {' '.join(arguments)}:\n{output}"
        assert trace or "Traceback" not in output, output
        return Done(process.returncode, output)

    def up(self, *more: str, fails: bool = False, **env: str) -> Done:
        return self.run("up", "--yes", "--skip-preview", *_QUIET, *more, fails=fails, **env)

    def preview(self, *more: str, fails: bool = False, trace: bool = False, **env: str) -> Done:
        return self.run("preview", *_QUIET, *more, fails=fails, trace=trace, **env)

    def unchanged(self, **env: str) -> None:
        """Assert that a preview has nothing to do."""
        self.preview("--expect-no-changes", **env)

    def refresh(self, *more: str) -> Done:
        return self.run("refresh", "--yes", "--skip-preview", *_QUIET, *more)

    def destroy(self, *more: str, fails: bool = False, **env: str) -> Done:
        return self.run("destroy", "--yes", "--skip-preview", *_QUIET, *more, fails=fails, **env)

    def gpuyard(self, *arguments: str, code: int = 0) -> str:
        """A command of ours in the project's folder, with this engine on PATH."""
        engine = Path(self.env["GPUYARD_TEST_PULUMI"]).resolve().parent
        env = {**self.env, "PATH": f"{engine}{os.pathsep}{self.env['PATH']}"}
        done = subprocess.run(
            [str(ROOT / ".venv" / "bin" / "gpuyard"), *arguments],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        return said

    def state(self) -> dict[str, Any]:
        """The stack's state, secrets encrypted: what `pulumi stack export` prints, and no engine started."""
        file = self.backend / ".pulumi" / "stacks" / PROJECT / f"{STACK}.json"
        latest: dict[str, Any] | None = json.loads(file.read_text())["checkpoint"].get("latest")
        return latest or {}

    def resource(self, name: str) -> dict[str, Any]:
        """The entry of one resource in the state."""
        found = [r for r in self.state().get("resources", []) if r["urn"].endswith(f"::{name}")]
        assert len(found) == 1, f"{name}: {[r['urn'] for r in found]}"
        return found[0]

    def close(self) -> None:
        """End what a test has left running."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.stdout:
                process.stdout.close()


_QUIET = ("--color", "never", "--suppress-progress")


def read_until(process: subprocess.Popen[str], text: str, seconds: float = SECONDS) -> str:
    """Read the output up to a line with this text."""
    read, deadline = "", time.monotonic() + seconds
    assert process.stdout is not None
    for line in process.stdout:
        read += line
        if text in line:
            return read
        assert time.monotonic() < deadline, f"no {text!r} in:\n{read}"
    raise AssertionError(f"ended without {text!r}:\n{read}")
