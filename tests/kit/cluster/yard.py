"""The local platform as a user at a terminal sees it: commands, interruptions, and live objects."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gpuyard.plan import plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.read import platform_spec
from gpuyard_simulate.api import Api, connect
from kit.cluster.warm import AT_THE_END

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

STACK = "local"
QUIET = ("--yes", "--skip-preview", "--non-interactive", "--suppress-permalink=true")


@dataclass
class Yard:
    """Commands against the platform, as a user at a terminal runs them."""

    env: dict[str, str]
    home: Path
    work: Path
    changed: bool = False
    """Whether the deployment differs from the stack file."""
    _engine: dict[str, str] = field(default_factory=dict)
    _api: tuple[bytes, Api] | None = None

    def run(self, *command: str, code: int | None = 0) -> str:
        """Run a script of the project; returns its whole output."""
        return self._ended(
            subprocess.run(command, cwd=ROOT, env=self.env, check=False, **_TEXT), code
        )

    def pulumi(self, *arguments: str, code: int | None = 0) -> str:
        """Run the engine with the environment of `make shell`."""
        return self._ended(self._pulumi(*arguments), code)

    def tried(self, *arguments: str) -> tuple[int, str]:
        """The same, if it may fail."""
        done = self._pulumi(*arguments)
        return done.returncode, self._ended(done, None)

    def started(self, *arguments: str) -> "subprocess.Popen[str]":
        """The engine as a running process."""
        command = ["pulumi", *arguments]
        return subprocess.Popen(command, cwd=ROOT, env=self.engine_env, **_PIPES)

    def interrupted(self, after: float, how: signal.Signals, *arguments: str) -> tuple[int, str]:
        """The engine, interrupted some time after it was started."""
        process = subprocess.Popen(
            ["pulumi", *arguments], cwd=ROOT, env=self.engine_env, start_new_session=True, **_PIPES
        )
        try:
            message, _ = process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            # As at a terminal: Ctrl-C reaches the whole group; a kill ends only the engine.
            if how is signal.SIGINT:
                os.killpg(process.pid, how)
            else:
                process.send_signal(how)
            message, _ = process.communicate(timeout=900)
        return process.returncode, message

    @property
    def engine_env(self) -> dict[str, str]:
        if not self._engine:
            from testbed.yard.engine import engine

            state = Path(self.env["GPUYARD_YARD_STATE"])
            self._engine = {**self.env, **engine(str(self.kubeconfig), state).env}
        return self._engine

    @property
    def kubeconfig(self) -> Path:
        return self.home / STACK / "kubeconfig"

    @property
    def api(self) -> Api:
        """The API server, with connections that are kept until another cluster is up."""
        text = self.kubeconfig.read_bytes()
        if self._api is None or self._api[0] != text:
            self._api = text, connect(self.kubeconfig)
        return self._api[1]

    def spec(self) -> dict[str, Any]:
        """The platform of the stack file, to be changed."""
        return yaml.safe_load((ROOT / "stacks/Pulumi.local.yaml").read_text())["config"][
            "gpuyard:platform"
        ]

    def plan(self) -> PlatformPlan:
        return plan_or_raise(platform_spec(self.spec()))

    def config(self, platform: dict[str, Any]) -> str:
        """A stack file with this platform, outside the repository."""
        complete = yaml.safe_load((ROOT / "stacks/Pulumi.local.yaml").read_text())
        complete["config"]["gpuyard:platform"] = platform
        path = self.work / "Pulumi.changed.yaml"
        path.write_text(yaml.safe_dump(complete))
        return str(path)

    def changes(self, platform: dict[str, Any]) -> dict[str, str]:
        """The operations of a preview of this platform, by kind and name of the object, without unchanged ones."""
        message = self.pulumi(
            "preview", "--stack", STACK, "--json", "--config-file", self.config(platform)
        )
        steps = json.loads(message[message.index("{") :])["steps"]
        return {s["urn"].rpartition("::")[2]: s["op"] for s in steps if s["op"] != "same"}

    def readiness(self, stack: str = STACK) -> dict[str, dict[str, Any]]:
        """The results of `gpuyard readiness --live`, by check."""
        message = self._gpuyard("readiness", stack, "--live", "--format", "json")
        result = json.loads(message)["readiness"]
        assert result["not_asked"] is None
        return {check["id"]: check for check in result["checks"]}

    def recovered(self, file: str) -> str:
        """The actions that `gpuyard recover` reports with this stack file."""
        folder = self.work / "changed"
        (folder / "stacks").mkdir(parents=True, exist_ok=True)
        for each in ("Pulumi.yaml", "__main__.py", ".venv", "components", "testbed"):
            if not (folder / each).exists():
                (folder / each).symlink_to(ROOT / each)
        shutil.copy(file, folder / "stacks" / f"Pulumi.{STACK}.yaml")
        return self._gpuyard("recover", STACK, folder=folder)

    def _gpuyard(self, *words: str, folder: Path = ROOT) -> str:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("gpuyard")), *words],
            cwd=folder,
            env={**self.engine_env, "KUBECONFIG": str(self.kubeconfig)},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def owned(self) -> list[str]:
        """Every live object with the platform's label, as kind/namespace/name, duplicates and all."""
        results = []
        for path in OWNED:
            listed = self.api.get(f"{path}?labelSelector=gpuyard.dev/platform={STACK}")
            for item in (listed or {}).get("items", []):
                meta = item["metadata"]
                results.append(
                    f"{path.rpartition('/')[2]}/{meta.get('namespace', '')}/{meta['name']}"
                )
        return sorted(results)

    def _pulumi(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["pulumi", *arguments],
            cwd=ROOT,
            env=self.engine_env | AT_THE_END,
            check=False,
            **_TEXT,
        )

    def _ended(self, done: "subprocess.CompletedProcess[str]", code: int | None) -> str:
        assert code is None or done.returncode == code, done.stdout[-6000:]
        assert "Traceback (most recent call last)" not in done.stdout, done.stdout[-6000:]
        return done.stdout


_PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
_TEXT: dict[str, Any] = {**_PIPES, "timeout": 900}
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
OWNED = (
    "/api/v1/namespaces",
    "/api/v1/nodes",
    "/api/v1/configmaps",
    "/api/v1/limitranges",
    "/api/v1/resourcequotas",
    "/apis/networking.k8s.io/v1/networkpolicies",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/nvidia.com/v1/clusterpolicies",
    f"{_ADMISSION}/mutatingadmissionpolicies",
    f"{_ADMISSION}/mutatingadmissionpolicybindings",
    f"{_ADMISSION}/validatingadmissionpolicies",
    f"{_ADMISSION}/validatingadmissionpolicybindings",
    f"{_KUEUE}/resourceflavors",
    f"{_KUEUE}/cohorts",
    f"{_KUEUE}/clusterqueues",
    f"{_KUEUE}/localqueues",
)
