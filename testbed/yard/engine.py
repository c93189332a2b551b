"""The Pulumi engine for the local stack: its environment, and the way out of an interrupted run."""

import json
import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuyard.errors import EnvironmentLacks
from gpuyard.names import PLATFORM_LABEL
from gpuyard.simulate.api import Api
from testbed.plugins import environment

ROOT = Path(__file__).resolve().parents[2]
STATE = Path(os.environ.get("GPUYARD_YARD_STATE") or ROOT / ".testbed" / "stacks")
"""Where the state of the local stack is kept; tests have one of their own."""
STACK = "local"
PROJECT = "gpuyard"
YES = ("--yes", "--skip-preview")
PASSPHRASE = "local"  # noqa: S105  guards nothing, see below
"""Guards nothing: the stack keeps no secret, but the engine insists on a passphrase."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine with everything it needs to act on one cluster."""

    env: dict[str, str]

    def run(self, *arguments: str) -> int:
        """Run a command with its output on the screen."""
        command = ["pulumi", *arguments]
        return subprocess.run(command, cwd=ROOT, env=self.env, check=False).returncode

    def ask(self, *arguments: str) -> str:
        """Run a command for its output; EnvironmentLacks when it fails."""
        done = subprocess.run(
            ["pulumi", *arguments],  # noqa: S607
            cwd=ROOT,
            env=self.env,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise EnvironmentLacks(f"pulumi {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


def engine(kubeconfig: str, state: Path | None = None) -> Engine:
    """The engine of this machine for a cluster, with the stack's own state or another."""
    found = environment.find()
    if found is None:
        raise EnvironmentLacks("no Pulumi engine; `make tools` builds one")
    env = environment.variables(found, state=state or STATE, passphrase=PASSPHRASE)
    env["KUBECONFIG"] = kubeconfig
    return Engine(env)


def make_stack(pulumi: Engine) -> None:
    """Create the stack once; the salt in its file keeps the engine from writing there."""
    listed = json.loads(pulumi.ask("stack", "ls", "--json"))
    if not any(stack["name"] == STACK for stack in listed):
        pulumi.ask("stack", "init", STACK)


def recover(pulumi: Engine, api: Api) -> list[str]:
    """Undo what an interrupted run left behind; says each thing it did.

    A lock is taken away only when the process that holds it ran on this host and is dead. Of the objects
    whose creation was under way, those that exist and carry this platform's label are adopted; what
    somebody else owns is left alone, and the coming run then stops at it.
    """
    said = []
    if dead := _dead_lock():
        pulumi.ask("cancel", "--yes", "--stack", STACK)
        said.append(f"the run of process {dead} was killed; its lock is removed")
    pending = _pending(pulumi)
    if not pending:
        return said
    # A plain `up` would keep these operations in the state for good.
    pulumi.ask("refresh", "--stack", STACK, "--clear-pending-creates", *YES)
    owned = [p for p in pending if p.object and _is_ours(api, p)]
    _adopt(pulumi, owned)
    for one in (p for p in pending if p.object):
        found = "it is there and ours: adopted" if one in owned else "not there, or not ours"
        said.append(f"{one.token.rpartition(':')[2]} {one.object} was being made; {found}")
    return said


def state_is_broken() -> bool:
    """Whether the state is no JSON, as after a power cut: every command of the engine then fails."""
    state = STATE / "stacks" / ".pulumi" / "stacks" / PROJECT / f"{STACK}.json"
    return state.exists() and not _is_json(state)


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Pending:
    """A resource whose creation was under way when the engine was killed."""

    urn: str
    object: str
    """`namespace/name` of the Kubernetes object, empty for anything else."""
    parent: str
    provider: str

    @property
    def token(self) -> str:
        """Its own type, without its parents'."""
        return self.urn.split("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        """Its logical name."""
        return self.urn.rpartition("::")[2]


def _adopt(pulumi: Engine, owned: list[Pending]) -> None:
    """Take live objects into the state, under their own names and parents."""
    if not owned:
        return
    keys = {
        urn: f"known-{i}"
        for i, urn in enumerate({u for p in owned for u in (p.parent, p.provider)})
    }
    resources = [
        {
            "type": p.token,
            "name": p.name,
            "id": p.object,
            "parent": keys[p.parent],
            "provider": keys[p.provider],
        }
        for p in owned
    ]
    file = STATE / "adopt.json"
    table = {key: urn for urn, key in keys.items()}
    file.write_text(json.dumps({"nameTable": table, "resources": resources}), encoding="utf-8")
    asked = ("--generate-code=false", "--protect=false", *YES)
    pulumi.ask("import", "--stack", STACK, "--file", str(file), *asked)
    file.unlink()


def wait_for_deletions(api: Api, seconds: float = 60) -> None:
    """Wait until no namespace of ours is on its way out: nothing can be made in one that is."""
    deadline = time.monotonic() + seconds
    while names := _terminating(api):
        if time.monotonic() > deadline:
            raise EnvironmentLacks(
                f"namespaces {', '.join(names)} are being deleted and do not end; something in them"
                " has a finalizer: `kubectl get namespace -o yaml` says which"
            )
        time.sleep(0.5)


def _terminating(api: Api) -> list[str]:
    listed = api.call("GET", f"/api/v1/namespaces?labelSelector={PLATFORM_LABEL}={STACK}")
    return [
        item["metadata"]["name"]
        for item in listed["items"]
        if item["metadata"].get("deletionTimestamp")
    ]


def _dead_lock() -> int | None:
    """The process of a lock on this stack, when it ran here and is gone."""
    for path in (STATE / "stacks" / ".pulumi" / "locks").glob(f"**/{PROJECT}/{STACK}/*.json"):
        if not _is_json(path):
            continue  # half written: whose it is cannot be known, so the engine's own message stands
        lock = json.loads(path.read_text(encoding="utf-8"))
        if lock.get("hostname") == socket.gethostname() and not _alive(int(lock["pid"])):
            return int(lock["pid"])
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _pending(pulumi: Engine) -> list[Pending]:
    exported = json.loads(pulumi.ask("stack", "export", "--stack", STACK))
    found = []
    for operation in exported["deployment"].get("pending_operations") or []:
        resource = operation["resource"]
        if operation["type"] == "creating":
            meta: dict[str, Any] = resource.get("inputs", {}).get("metadata", {})
            name = "/".join(part for part in (meta.get("namespace"), meta.get("name")) if part)
            provider = str(resource.get("provider", "")).rpartition("::")[0]
            found.append(Pending(resource["urn"], name, resource.get("parent", ""), provider))
    return found


def _is_ours(api: Api, pending: Pending) -> bool:
    """Whether the object exists, with this platform's label."""
    _, api_version, kind = pending.token.split(":")
    namespace, _, name = pending.object.rpartition("/")
    path = _path(api, api_version.removeprefix("core/"), kind, namespace, name)
    live = api.get(path) if path else None
    return live is not None and live["metadata"].get("labels", {}).get(PLATFORM_LABEL) == STACK


def _path(api: Api, api_version: str, kind: str, namespace: str, name: str) -> str | None:
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    for resource in (api.get(root) or {}).get("resources", []):
        if resource["kind"] == kind and "/" not in resource["name"]:
            inside = f"/namespaces/{namespace}" if resource["namespaced"] else ""
            return f"{root}{inside}/{resource['name']}/{name}"
    return None
