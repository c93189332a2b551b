"""The Pulumi engine for the local stack: its environment, and the way out of an interrupted run."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from gpuyard import recovery
from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.names import KUEUE_API, PLATFORM_LABEL
from gpuyard_simulate.api import Api, ApiObject
from testbed.plugins import environment

ROOT = Path(__file__).resolve().parents[2]
STACK = os.environ.get("STACK") or "local"
"""`make up STACK=aws-training` brings up another one, on a fake account of its cloud."""
_GIVEN = os.environ.get("GPUYARD_SIM_NAME", "")
NAME = "" if _GIVEN == STACK else _GIVEN
"""`make up NAME=ci`: the name of the simulated cluster if it differs from the stack's, else ""."""
_STATES = Path(os.environ.get("GPUYARD_YARD_STATE") or ROOT / ".testbed" / "stacks")
_FOLDER = _STATES.parent / "clusters" / NAME if NAME else _STATES.parent
STATE = _FOLDER / (_STATES.name if STACK == "local" else f"{_STATES.name}-{STACK}")
"""Where the state of a simulated stack is kept; tests have one of their own."""
PROJECT = "gpuyard"
YES = ("--yes", "--skip-preview")
_QUIET = ("--suppress-outputs", "--suppress-permalink=true")
LATE = (
    "/api/v1/namespaces",
    *(f"/apis/{KUEUE_API}/{plural}" for plural in ("clusterqueues", "cohorts", "resourceflavors")),
)
"""Kinds whose deletion takes a while."""
PASSPHRASE = "local"  # noqa: S105  guards nothing, see below
"""Protects nothing: the stack has no secrets, but the engine requires a passphrase."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine with everything it needs to act on one cluster."""

    env: dict[str, str]

    def run(self, *arguments: str) -> int:
        """Run a command with its output on the screen."""
        command = ["pulumi", *arguments]
        return subprocess.run(command, cwd=ROOT, env=self.env, check=False).returncode

    def ask(self, *arguments: str) -> str:
        """Run a command for its output; EnvironmentMissing when it fails."""
        done = subprocess.run(
            ["pulumi", *arguments],  # noqa: S607
            cwd=ROOT,
            env=self.env,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise EnvironmentMissing(f"pulumi {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


def engine(kubeconfig: str, state: Path | None = None) -> Engine:
    """The engine of this machine for a cluster, with the stack's state or another."""
    result = environment.find()
    if result is None:
        raise EnvironmentMissing("no Pulumi engine; `make tools` builds one")
    env = environment.variables(result, state=state or STATE, passphrase=PASSPHRASE)
    env["KUBECONFIG"] = kubeconfig
    return Engine(env)


@contextmanager
def deployed_with(pulumi: Engine, change: Mapping[str, object]) -> Generator[None]:
    """The platform with these fields in its stack file, and afterwards the one of its stack file.

    Raises:
        TimeoutError: a deployment failed.
    """
    complete = yaml.safe_load(
        (ROOT / "stacks" / f"Pulumi.{STACK}.yaml").read_text(encoding="utf-8")
    )
    complete["config"]["gpuyard:platform"].update(change)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "Pulumi.changed.yaml")
        file.write_text(yaml.safe_dump(complete), encoding="utf-8")
        try:
            _deploy(pulumi, "--config-file", str(file))
            yield
        finally:
            _deploy(pulumi)


def _deploy(pulumi: Engine, *words: str) -> None:
    """Run the engine without printing its output."""
    try:
        pulumi.ask("up", "--stack", STACK, *YES, *_QUIET, *words)
    except EnvironmentMissing as problem:
        raise TimeoutError(f"the deployment of the scene failed: {problem}") from None


def make(target: str, stack: str) -> str:
    """The `make` command for a stack on the cluster that this run acts on."""
    words = (f"STACK={stack}" if stack != "local" else "", f"NAME={NAME}" if NAME else "")
    return " ".join(("make", target, *filter(None, words)))


def make_stack(pulumi: Engine) -> None:
    """Create the stack once; because its file has the salt, the engine does not write to it."""
    listed = json.loads(pulumi.ask("stack", "ls", "--json"))
    if not any(stack["name"] == STACK for stack in listed):
        pulumi.ask("stack", "init", STACK)


def recover(pulumi: Engine, api: Api) -> list[str]:
    """Undo what an interrupted run left behind, as `gpuyard recover` does; returns a line for each action.

    `gpuyard recover` needs kubectl, which a new user may not have: this queries the simulated cluster directly.
    """
    stack = recovery.PulumiStack(STACK, ROOT, pulumi.env)
    result = recovery.recover(stack, lambda _: lambda one: _live(api, one), only_after_a_kill=True)
    return [*result.actions, *result.remaining]


def state_is_broken() -> bool:
    """Whether the state is not JSON, as after a power cut: every command of the engine then fails."""
    state = STATE / "stacks" / ".pulumi" / "stacks" / PROJECT / f"{STACK}.json"
    return state.exists() and not _is_json(state)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def wait_for_deletions(api: Api, seconds: float = 180) -> None:
    """Wait until no object of the platform is terminating.

    Nothing can be created in a terminating namespace. A terminating queue exists until its last workload is
    gone, so the engine would not create it again.
    """
    deadline = time.monotonic() + seconds
    while names := _terminating(api):
        if time.monotonic() > deadline:
            raise EnvironmentMissing(
                f"{', '.join(names)} are terminating and do not end; a finalizer blocks them, or something"
                " in them: `kubectl get KIND/NAME -o yaml` shows which"
            )
        free_namespaces(api)
        time.sleep(0.5)


def free_namespaces(api: Api) -> None:
    """Delete the workloads of namespaces that are being deleted.

    Kueue keeps a deleted pod of a group until another takes its place, and Kubernetes deletes the group's
    workload only after all pods of the namespace.
    """
    for name in _going(api, LATE[0]):
        api.call("DELETE", f"/apis/{KUEUE_API}/namespaces/{name}/workloads")


def _terminating(api: Api) -> list[str]:
    """As KIND/NAME; nothing for Kueue's kinds where they do not exist yet."""
    return [f"{path.rpartition('/')[2]}/{name}" for path in LATE for name in _going(api, path)]


def _going(api: Api, path: str) -> list[str]:
    """Names of the platform's objects of a kind that are terminating."""
    result = api.get(f"{path}?labelSelector={PLATFORM_LABEL}") or {"items": []}
    items = (item["metadata"] for item in result["items"])
    return [str(meta["name"]) for meta in items if meta.get("deletionTimestamp")]


def _live(api: Api, one: recovery.Creation) -> ApiObject | None:
    """The live object, or None."""
    inputs = one.inputs
    path = _path(api, str(inputs["apiVersion"]), str(inputs["kind"]), *one.place)
    return api.get(path) if path else None


def _path(api: Api, api_version: str, kind: str, namespace: str, name: str) -> str | None:
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    for resource in (api.get(root) or {}).get("resources", []):
        if resource["kind"] == kind and "/" not in resource["name"]:
            inside = f"/namespaces/{namespace}" if resource["namespaced"] else ""
            return f"{root}{inside}/{resource['name']}/{name}"
    return None
