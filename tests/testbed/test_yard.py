"""`make up` without an engine or a cluster: the last screen, and the recovery of a killed run."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuyard.plan import plan_or_raise
from gpuyard.recovery import Creation, RecoveryResult
from gpuyard.spec.read import read_stack_file
from gpuyard_core.errors import EnvironmentMissing, GpuYardError, PlanRejected, SpecError
from gpuyard_core.names import PLATFORM_LABEL
from gpuyard_simulate import PartStatus, Status
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, stack_file, team

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from testbed.yard import engine as module  # noqa: E402
from testbed.yard import up  # noqa: E402
from testbed.yard.summary import summary  # noqa: E402

OURS = {"labels": {PLATFORM_LABEL: module.STACK}}
STACK_URN = "urn:pulumi:local::gpuyard::pulumi:pulumi:Stack::gpuyard-local"
PROVIDER = "urn:pulumi:local::gpuyard::pulumi:providers:kubernetes::cluster"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
NAMESPACE = "kubernetes:core/v1:Namespace"
QUEUE = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "STATE", tmp_path)
    return tmp_path


class Pulumi:
    """An engine that records its commands and its file."""

    def __init__(self, *pending: dict[str, Any], stacks: tuple[str, ...] = ()) -> None:
        self.pending = list(pending)
        self.stacks = stacks
        self.asked: list[tuple[str, ...]] = []
        self.adopted: dict[str, Any] = {}

    def ask(self, *arguments: str) -> str:
        self.asked.append(arguments)
        if arguments[:2] == ("stack", "export"):
            return json.dumps({"deployment": {"pending_operations": self.pending or None}})
        if arguments[:2] == ("stack", "ls"):
            return json.dumps([{"name": name} for name in self.stacks])
        if "--file" in arguments:
            self.adopted = json.loads(Path(arguments[arguments.index("--file") + 1]).read_text())
        return ""

    @property
    def commands(self) -> list[str]:
        return [arguments[0] for arguments in self.asked]


class Api:
    """A cluster of a few objects by path, with the discovery of its kinds."""

    KINDS = {  # noqa: RUF012
        "/api/v1": [
            {"kind": "Namespace", "name": "namespaces", "namespaced": False},
            {"kind": "Namespace", "name": "namespaces/status", "namespaced": False},
            {"kind": "ConfigMap", "name": "configmaps", "namespaced": True},
        ],
        "/apis/kueue.x-k8s.io/v1beta2": [
            {"kind": "ClusterQueue", "name": "clusterqueues/status", "namespaced": False},
            {"kind": "ClusterQueue", "name": "clusterqueues", "namespaced": False},
        ],
    }

    def __init__(self, **objects: dict[str, Any]) -> None:
        self.objects = {path: {"metadata": metadata} for path, metadata in objects.items()}
        self.lists: dict[str, list[list[dict[str, Any]]]] = {}
        """Discovery by kind; other kinds are unknown."""
        self.listed: list[str] = []
        self.deleted: list[str] = []

    def call(self, method: str, path: str) -> None:
        assert method == "DELETE"
        self.deleted.append(path)

    def get(self, path: str) -> Any:
        if path in self.KINDS:
            return {"resources": self.KINDS[path]}
        if "?labelSelector" in path:
            return self.list(path)
        return self.objects.get(path)

    def list(self, path: str) -> Any:
        self.listed.append(path)
        lists = self.lists.get(path.partition("?")[0].rpartition("/")[2])
        if lists is None:
            return None
        items = lists.pop(0) if len(lists) > 1 else lists[0]
        return {"items": [{"metadata": metadata} for metadata in items]}


# ── remains of a killed run ──


def test_a_run_that_left_nothing_costs_no_preview(monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []

    def recovered(stack: Any, looking: Any, **options: Any) -> RecoveryResult:
        asked.append((stack, options, looking({})(made("team"))))
        return RecoveryResult(("adopted",), ("left",))

    monkeypatch.setattr(module.recovery, "recover", recovered)
    api = Api(**{"/api/v1/namespaces/team": OURS})
    pulumi = module.Engine({"PATH": "/bin"})
    assert module.recover(pulumi, api) == ["adopted", "left"]  # type: ignore[arg-type]
    ((stack, options, live),) = asked
    assert (stack.name, stack.folder, stack.env) == ("local", module.ROOT, pulumi.env)
    assert options == {"only_after_a_kill": True}
    assert live == {"metadata": OURS}


def made(name: str, kind: str = "Namespace") -> Creation:
    inputs = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
    return Creation("urn:pulumi:local::gpuyard::x::y", inputs=inputs)


def test_what_the_cluster_knows_no_kind_of_is_not_there():
    assert module._live(Api(), made("x", "Gone")) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "broken"), [("", True), ('{"version": 3, "dep', True), ('{"version": 3}', False)]
)
def test_a_half_written_state_is_seen(state: Path, text: str, broken: bool):
    folder = state / "stacks" / ".pulumi" / "stacks" / "gpuyard"
    folder.mkdir(parents=True)
    (folder / "local.json").write_text(text)
    assert module.state_is_broken() is broken


def test_no_state_is_not_a_broken_one(state: Path):
    assert module.state_is_broken() is False


@pytest.mark.parametrize(
    ("version", "kind", "namespace", "path"),
    [
        ("v1", "ConfigMap", "a", "/api/v1/namespaces/a/configmaps/x"),
        ("v1", "Namespace", "", "/api/v1/namespaces/x"),
        (
            "kueue.x-k8s.io/v1beta2",
            "ClusterQueue",
            "",
            "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/x",
        ),
        ("v1", "Gone", "", None),
        ("nowhere.dev/v1", "Gone", "a", None),
    ],
)
def test_the_path_of_an_object_is_what_the_cluster_says(
    version: str, kind: str, namespace: str, path: str | None
):
    assert module._path(Api(), version, kind, namespace, "x") == path  # type: ignore[arg-type]


# ── stack and engine ──


@pytest.mark.parametrize(
    ("stacks", "made"), [((), True), (("local-2", "prod"), True), (("prod", "local"), False)]
)
def test_the_stack_is_made_once(stacks: tuple[str, ...], made: bool):
    pulumi = Pulumi(stacks=stacks)
    module.make_stack(pulumi)  # type: ignore[arg-type]
    assert (("stack", "init", "local") in pulumi.asked) is made


def test_without_an_engine_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module.environment, "find", lambda: None)
    with pytest.raises(EnvironmentMissing, match="no Pulumi engine; `make tools` builds one"):
        module.engine("/x/kubeconfig")


def test_the_engine_acts_on_the_cluster_it_was_given(state: Path, monkeypatch: pytest.MonkeyPatch):
    given: dict[str, Any] = {}

    def variables(found: object, **options: Any) -> dict[str, str]:
        given.update(options, engine=found)
        return {"KUBECONFIG": "/somebody/elses", "A": "b"}

    monkeypatch.setattr(module.environment, "find", lambda: "the engine")
    monkeypatch.setattr(module.environment, "variables", variables)
    assert module.engine("/x/kubeconfig").env == {"KUBECONFIG": "/x/kubeconfig", "A": "b"}
    assert given == {"engine": "the engine", "state": state, "passphrase": module.PASSPHRASE}


def test_an_engine_that_fails_says_which_command_and_what_it_said(tmp_path: Path):
    program = tmp_path / "pulumi"
    program.write_text('#!/bin/sh\n[ "$1" = up ] && exit 7\necho out; echo "no $2" >&2; exit $3\n')
    program.chmod(0o755)
    pulumi = module.Engine({"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    old = os.environ["PATH"]
    os.environ["PATH"] = pulumi.env["PATH"]
    try:
        assert pulumi.ask("stack", "ls", "0") == "out\n"
        assert pulumi.run("up") == 7
        with pytest.raises(EnvironmentMissing) as caught:
            pulumi.ask("stack", "init", "1")
    finally:
        os.environ["PATH"] = old
    assert str(caught.value) == "pulumi stack init 1: no init"


@pytest.mark.parametrize("dead", [(), ("etcd", "kube-apiserver")])
def test_a_failed_deployment_names_the_parts_of_the_cluster_that_ended(
    monkeypatch: pytest.MonkeyPatch, dead: tuple[str, ...]
):
    class Failing(Pulumi):
        def run(self, *_: str) -> int:
            return 255

    parts = [
        PartStatus(name, 7, name not in dead, f"/logs/{name}.log", None, 0, "")
        for name in ("etcd", "kube-apiserver", "kueue")
    ]
    monkeypatch.setattr(
        up.cluster, "status", lambda _: Status("local", False, "/k", tuple(parts), 0)
    )
    monkeypatch.setattr(up, "connect", lambda _: Api())
    monkeypatch.setattr(up, "recover", lambda *_: [])
    with pytest.raises(GpuYardError) as caught:
        up.deploy(Failing(), Path("/k"))  # type: ignore[arg-type]
    assert str(caught.value) == (
        "parts of the cluster ended meanwhile: etcd (log /logs/etcd.log), kube-apiserver (log"
        " /logs/kube-apiserver.log); run `make up` again to start them"
        if dead
        else "stopped (exit code 255)"
    )


# ── terminating objects ──


def leaving(name: str) -> dict[str, Any]:
    return {"name": name, "deletionTimestamp": "2026-11-21T00:00:00Z"}


def test_what_does_not_end_is_named_with_the_way_to_the_reason():
    api = Api()
    api.lists["namespaces"] = [[leaving("vision"), {"name": "speech"}]]
    api.lists["clusterqueues"] = [[leaving("local-vision"), {"name": "local-speech"}]]
    with pytest.raises(EnvironmentMissing) as caught:
        module.wait_for_deletions(api, seconds=-1)  # type: ignore[arg-type]
    assert str(caught.value).startswith(
        "namespaces/vision, clusterqueues/local-vision are terminating and do not end"
    )
    assert "finalizer" in str(caught.value)
    assert api.listed == [f"{path}?labelSelector={PLATFORM_LABEL}" for path in module.LATE]


def test_waiting_ends_with_the_last_of_them(monkeypatch: pytest.MonkeyPatch):
    slept: list[float] = []
    monkeypatch.setattr(module.time, "sleep", slept.append)
    api = Api()
    both, one, none = [leaving("a"), leaving("b")], [leaving("b")], [{"name": "c"}]
    api.lists["namespaces"] = [both, both, one, one, none]
    api.lists["cohorts"] = [[leaving("x")], [leaving("x")], [leaving("x")], [{"name": "x"}]]
    module.wait_for_deletions(api)  # type: ignore[arg-type]
    assert (len(api.listed), len(slept)) == (4 * len(module.LATE) + 3, 3)
    workloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/workloads"
    assert api.deleted == [workloads.format(name) for name in ("a", "b", "b")]


# ── the last screen ──


def screen(raw: dict[str, Any], **options: Any) -> list[str]:
    given = {"kubeconfig": "/k", "changed": True, "seconds": 9.6, **options}
    text = summary(plan_of(raw), **given)
    assert text.endswith("\n")
    return text.splitlines()


def test_the_screen_says_whether_anything_changed():
    assert "The platform lab is up (10 s)." in screen(platform())
    assert "The platform lab was already up; nothing changed (10 s)." in screen(
        platform(), changed=False
    )


def test_pools_are_shown_by_nodes_and_what_they_offer():
    lines = screen(platform([pool(), cut_pool(), shared_pool()]))
    first = lines.index("Pools")
    assert [" ".join(line.split()) for line in lines[first + 1 : first + 4]] == [
        "train 4 × p5.48xlarge 32 GPUs",
        "serve 1 × p4d.24xlarge 16 1g.5gb, 8 2g.10gb, 8 3g.20gb",
        "dev 1 × g6.12xlarge 16 shared",
    ]
    assert len({line.index("×") for line in lines[first + 1 : first + 4]}) == 1, "columns align"


def test_teams_are_shown_by_guarantee_and_borrowing_with_the_unassigned_rest():
    teams = [
        team("vision", guarantee={"train": 8, "serve/3g.20gb": 2, "serve/1g.5gb": 1}),
        team("idle", borrow={"train": 16}),
    ]
    lines = [" ".join(line.split()) for line in screen(platform([pool(), cut_pool()], teams))]
    first = lines.index("Teams")
    assert lines[first + 1 : first + 5] == [
        "vision guaranteed train 8, serve 1 1g.5gb + 2 3g.20gb",
        "may borrow nothing",
        "idle guaranteed nothing",
        "may borrow train 16",
    ]
    nobody = next(line for line in lines if line.startswith("Unassigned, all teams may borrow: "))
    assert set(nobody.partition(": ")[2].split(", ")) == {
        "train 24",
        "serve 15 1g.5gb",
        "serve 8 2g.10gb",
        "serve 6 3g.20gb",
    }


def test_a_fully_assigned_platform_has_no_line_for_unassigned_capacity():
    lines = screen(platform([pool()], [team(guarantee={"train": 32})]))
    assert [line for line in lines if line.startswith("Nobody's")] == []


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (platform([pool()]), "Bill: 220.16 $/hour"),
        (platform([pool(nodes="1..4")]), "Bill: 55.04 to 220.16 $/hour"),
        (
            platform([cut_pool()], cloud="simulated"),
            "Cost: none, the nodes are fake; the same machines would cost 21.96 $/hour",
        ),
        (
            platform([cut_pool(), pool(machine="p5e.48xlarge")]),
            "Bill: 21.96 $/hour (price unknown: train)",
        ),
        (
            platform([pool(machine="p5e.48xlarge")]),
            "Bill: unknown $/hour (price unknown: train)",
        ),
        (platform([pool(nodes=40)]), "Bill: 2,201.60 $/hour"),
    ],
)
def test_the_bill_is_one_line(raw: dict[str, Any], line: str):
    assert line in screen(raw)


@pytest.mark.parametrize(
    ("path", "shown"), [("/a/kubeconfig", "/a/kubeconfig"), ("/a b/k$c", "'/a b/k$c'")]
)
def test_the_kubeconfig_can_be_copied_into_a_shell(path: str, shown: str):
    assert f"kubeconfig: {shown}" in screen(platform(), kubeconfig=path)


@pytest.mark.parametrize("cloud", ["simulated", "aws"])
def test_the_screen_names_the_stack_and_not_its_platform(cloud: str):
    lines = screen(platform(cloud=cloud), stack="dev")
    assert [line for line in lines if "make" in line or "Pulumi" in line] == [
        "A shell with gpuyard, pulumi and the kubeconfig:  make shell STACK=dev",
        "To remove all of it:                              make down STACK=dev",
    ]


def test_the_screen_of_the_local_stack_fits_a_terminal():
    path = ROOT / "stacks" / "Pulumi.local.yaml"
    spec = read_stack_file(path.read_bytes(), path.name).spec
    assert spec is not None
    lines = summary(plan_or_raise(spec), "/k", changed=True, seconds=60).splitlines()
    assert [line for line in lines if len(line) > 80] == []


def edited(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "stacks").mkdir()
    (folder / "stacks" / f"Pulumi.{module.STACK}.yaml").write_text(text)
    monkeypatch.setattr(up, "ROOT", folder)


def test_the_plan_that_comes_up_is_the_one_of_the_stack_file():
    assert up.local_plan().name == module.STACK


@pytest.mark.parametrize(
    ("stack", "simulated"),
    [("local", True), ("ci", True), ("aws-training", False), ("missing", False), ("broken", False)],
)
def test_a_stack_of_any_name_is_simulated_where_its_file_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: str, simulated: bool
):
    clouds = {"ci": "simulated", "aws-training": "aws"}
    (tmp_path / "stacks").mkdir()
    for name, cloud in clouds.items():
        file = tmp_path / "stacks" / f"Pulumi.{name}.yaml"
        file.write_bytes(stack_file(platform(cloud=cloud)))
    (tmp_path / "stacks" / "Pulumi.broken.yaml").write_text("config: {}", encoding="utf-8")
    monkeypatch.setattr(up, "ROOT", tmp_path)
    assert up.simulated(stack) is simulated


def test_a_stack_for_a_cluster_of_your_own_has_no_fake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "stacks").mkdir()
    file = tmp_path / "stacks" / "Pulumi.mine.yaml"
    file.write_bytes(stack_file(platform(cloud="none", cluster={"existing": "blue"})))
    for each in (up, module):
        monkeypatch.setattr(each, "ROOT", tmp_path)
    monkeypatch.setattr(up, "STACK", "mine")
    monkeypatch.setattr(up, "show_plan", lambda: None)
    assert up.main() == 2
    assert capsys.readouterr().err == (
        "up: stack mine has `cloud: none`, which has no fake: docs/guides/own-cluster.md describes its deployment;"
        " to try it here, set `cloud: simulated`\n"
    )


def test_a_stack_file_spoilt_after_its_plan_was_shown_ends_in_findings_not_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    edited(tmp_path, "config: {gpuyard:platform: {name: 5}}", monkeypatch)
    with pytest.raises(SpecError, match=r"spec\.missing cloud: `cloud` is missing"):
        up.local_plan()


def test_a_stack_file_that_is_refused_by_then_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    edited(tmp_path, stack_file(platform(kubernetes="1.20")).decode(), monkeypatch)
    with pytest.raises(PlanRejected, match=r"kubernetes\.unsupported"):
        up.local_plan()
