"""One real control plane for all tests of this folder, and a fresh stack for each."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kit import waiting
from kit.cluster import vault
from kit.levels import require_level

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, Path(__file__).parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import control_plane  # noqa: E402 - the path is set just above
from labs import kueue, lab  # noqa: E402
from testbed.plugins import environment  # noqa: E402
from testbed.plugins.kubernetes.cluster import Cluster  # noqa: E402
from testbed.plugins.kubernetes.failures import ApiError, ProviderError  # noqa: E402
from testbed.plugins.kubernetes.settings import load_kubeconfig  # noqa: E402

from stacks import PASSPHRASE, PROJECT, SECONDS, STACK, Stack  # noqa: E402

__all__ = ["kueue", "lab"]
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record a failed test for the teardown of its fixtures."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Iterator[environment.Engine]:
    """The Pulumi engine of this machine, which finds plugins and programs warm, and a key for its secrets."""
    found = environment.find()
    require_level(
        "engine", found, "no Pulumi CLI on PATH or in .testbed/bin; `make tools` builds one"
    )
    assert found is not None
    request.getfixturevalue("warm")
    with vault.answering():
        yield found


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A copy of the policy pack, which runs in the environment of the tests."""
    folder = tmp_path / "pack"
    folder.mkdir()
    for path in (ROOT / "policies").glob("*.py"):
        shutil.copy(path, folder)
    project = (ROOT / "policies" / "PulumiPolicy.yaml").read_text(encoding="utf-8")
    project = project.replace("virtualenv: venv", f"virtualenv: {sys.prefix}")
    (folder / "PulumiPolicy.yaml").write_text(project, encoding="utf-8")
    return folder


@pytest.fixture
def pulumi(engine: environment.Engine, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """The CLI in the test's own folder, with a state of its own: exit code and output."""
    env = environment.variables(engine, state=tmp_path / "s", passphrase=PASSPHRASE, logs=False)

    def run(*command: str) -> tuple[int, str]:
        ended = subprocess.run(
            [engine.path, *command, "--non-interactive", "--color", "never"],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr

    return run


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A control plane with two fake nodes; its kubeconfig.

    `GPUYARD_ENGINE_KUBECONFIG` names one that runs already, for repeated runs while developing.
    """
    if given := os.environ.get("GPUYARD_ENGINE_KUBECONFIG"):
        yield Path(given)
        return
    tools = Path(os.environ.get("GPUYARD_TOOLS") or environment.BUILT)
    lacking = control_plane.missing(tools)
    why = f"no {', '.join(lacking)} in {tools}; `make tools` builds them"
    require_level("engine", not lacking, why)
    base = tmp_path_factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with control_plane.shared(tools, root / "control-plane") as file:
        yield file


class Api:
    """The cluster as a test sees it: objects by kind and name in the test's namespace."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace

    def _wanted(self, kind: str, name: str, api_version: str = "v1") -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata}

    def get(self, kind: str, name: str, api_version: str = "v1") -> dict[str, Any] | None:
        """The object, or None."""
        try:
            return self.cluster.get(self._wanted(kind, name, api_version))
        except ApiError as error:
            if error.not_found:
                return None
            raise

    def names(self, kind: str, api_version: str = "v1") -> set[str]:
        """The names of all objects of a kind, less what Kubernetes itself puts in a namespace."""
        items = self.cluster.list(api_version, kind, self.namespace)
        return {item["metadata"]["name"] for item in items} - {"kube-root-ca.crt", "default"}

    def create(self, kind: str, name: str, api_version: str = "v1", **body: Any) -> None:
        self.cluster.create({**self._wanted(kind, name, api_version), **body}, {})

    def merge(
        self, kind: str, name: str, body: dict[str, Any], manager: str = "kubectl-edit"
    ) -> None:
        """Change an object behind Pulumi's back."""
        self.cluster.patch(
            self._wanted(kind, name),
            body,
            "application/merge-patch+json",
            {"fieldManager": manager},
        )


@pytest.fixture
def api(kubeconfig: Path, request: pytest.FixtureRequest) -> Iterator[Api]:
    """The cluster, with a namespace for this test alone."""
    cluster = Cluster.connect(load_kubeconfig(str(kubeconfig)), None)
    namespace = f"t-{abs(hash(request.node.nodeid)):x}"[:20]
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    cluster.create(made, {})
    yield Api(cluster, namespace)
    # One that goes is a hundred requests, two for each kind; a control plane of our own ends with the run.
    if "GPUYARD_ENGINE_KUBECONFIG" in os.environ:
        cluster.delete(made, namespace, "Background")


def initialised(engine: environment.Engine, folder: Path, secrets_provider: str) -> Path:
    """What `pulumi stack init` makes."""
    env = environment.variables(engine, state=folder / "state", passphrase=PASSPHRASE, logs=False)
    made = Stack(folder, {**env, "GPUYARD_TEST_PULUMI": str(engine.path)}, "", Path("none"))
    (folder / "Pulumi.yaml").write_text(json.dumps({"name": PROJECT, "runtime": "python"}))
    made.run("stack", "init", STACK, "--secrets-provider", secrets_provider)
    return folder


@pytest.fixture(scope="session")
def new_stack(engine: environment.Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty stack whose key is with a key service; a worker makes one."""
    return initialised(engine, tmp_path_factory.mktemp("new"), vault.PROVIDER)


@pytest.fixture
def passphrase(engine: environment.Engine, tmp_path: Path) -> Path:
    """Give `stack` a key made of a passphrase, as a user's stack has it; a second of CPU for each command."""
    folder = tmp_path / "new"
    folder.mkdir()
    return initialised(engine, folder, "passphrase")


@pytest.fixture
def stack(
    request: pytest.FixtureRequest,
    engine: environment.Engine,
    api: Api,
    kubeconfig: Path,
    tmp_path: Path,
) -> Iterator[Stack]:
    """A project with an empty stack on the control plane."""
    folder = tmp_path / "project"
    folder.mkdir()
    key = "passphrase" if "passphrase" in request.fixturenames else "new_stack"
    new: Path = request.getfixturevalue(key)
    shutil.copytree(new / "state" / "stacks", tmp_path / "state" / "stacks")
    shutil.copy(new / f"Pulumi.{STACK}.yaml", folder)
    env = environment.variables(engine, state=tmp_path / "state", passphrase=PASSPHRASE, logs=False)
    env["PULUMI_STACK"] = STACK
    # A command of the engine is over before collecting its garbage would pay.
    env.update(GOGC="off", GOMEMLIMIT="1GiB")
    # What the machine happens to have must not matter.
    env.update(KUBECONFIG=str(tmp_path / "none"), GPUYARD_TEST_PULUMI=str(engine.path))
    made = Stack(folder, env, api.namespace, kubeconfig)
    made.project()
    yield made
    if request.node.stash.get(FAILED, False):
        # Its objects would be in the way of the next test on the shared control plane.
        with suppress(AssertionError):
            made.destroy()
    made.close()


@pytest.fixture
def kubectl(stack: Stack, tmp_path: Path) -> None:
    """kubectl for the program's own looks at the cluster; where the machine has none, a stand-in."""
    if shutil.which("kubectl", path=stack.env["PATH"]):
        return
    tool = tmp_path / "bin" / "kubectl"
    tool.parent.mkdir()
    stand_in = Path(__file__).parent / "programs" / "kubectl.py"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{stand_in}" "$@"\n')
    tool.chmod(0o755)
    stack.env["PATH"] = f"{tool.parent}{os.pathsep}{stack.env['PATH']}"


@pytest.fixture
def only_kueue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One test at a time may put Kueue, of which a cluster has one, into the shared control plane."""
    base = tmp_path_factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (root / "kueue.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def until() -> Callable[..., Any]:
    """Wait until a look gives something true, whatever the cluster answers on the way."""

    def wait(look: Callable[[], Any]) -> Any:
        return waiting.until(look, errors=(ProviderError,))

    return wait
