"""After a killed deployment, on plain values; tests/engine/test_recover.py has an engine and a cluster."""

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gpuyard.recovery import Creation, creations, locks, recover
from gpuyard.recovery.adoption import with_planned_inputs
from gpuyard.recovery.stack import PulumiStack, plaintext_value
from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.names import PLATFORM_LABEL

STACK = "urn:pulumi:dev::trial::pulumi:pulumi:Stack::trial-dev"
CLUSTER = "urn:pulumi:dev::trial::pulumi:providers:kubernetes::cluster"
LAB = "urn:pulumi:dev::trial::gpuyard:index:Platform::lab"
TEAM = "urn:pulumi:dev::trial::gpuyard:index:Platform$gpuyard:index:Team::lab-team"
NAMESPACE = "kubernetes:core/v1:Namespace"
OURS = {"metadata": {"labels": {PLATFORM_LABEL: "lab"}}}


def state_of(urn: str, **more: Any) -> dict[str, Any]:
    """A resource in the state, or one that would be."""
    return {"urn": urn, "type": urn.split("::")[2].rpartition("$")[2], **more}


def namespace(name: str = "team", labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A namespace of the team, as a preview and a state have it."""
    metadata = {"name": name, "labels": dict(labels or OURS["metadata"]["labels"])}
    inputs = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    urn = f"{TEAM.replace('::lab-team', '')}${NAMESPACE}::lab-team:Namespace:{name}"
    return state_of(urn, custom=True, parent=TEAM, provider=f"{CLUSTER}::0a", inputs=inputs)


KNOWN = [state_of(STACK), state_of(CLUSTER, inputs={"context": "blue"}), state_of(LAB)]


@dataclass
class Fake:
    """An engine that remembers what it was asked, and the file that it was given."""

    planned: list[dict[str, Any]] = field(default_factory=list)
    pending: list[dict[str, Any]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=lambda: list(KNOWN))
    files: Path | None = None
    refuses: str = ""
    name: str = "dev"
    project: str = "trial"
    asked: list[tuple[str, ...]] = field(default_factory=list)
    adopted: dict[str, Any] = field(default_factory=dict)

    def run(self, *arguments: str) -> tuple[int, str]:
        self.asked.append(arguments)
        return (255, self.refuses) if self.refuses else (0, "")

    def query(self, *arguments: str) -> str:
        self.asked.append(arguments)
        if arguments[0] == "refresh":
            self.pending = []
        if arguments[0] == "import":
            self.adopted = json.loads(Path(arguments[arguments.index("--file") + 1]).read_text())
        steps = [{"op": "create", "urn": one["urn"], "newState": one} for one in self.planned]
        return f"warning\n{json.dumps({'steps': [*steps, {'op': 'same', 'urn': STACK}]})}"

    def edit(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        changed = change(self.state())
        self.resources, self.pending = changed["resources"], changed["pending_operations"]

    def state(self) -> dict[str, Any]:
        return {"resources": self.resources, "pending_operations": self.pending}

    @property
    def commands(self) -> list[str]:
        return [arguments[0] for arguments in self.asked]


def recovered(fake: Fake, **options: Any) -> tuple[list[str], list[str]]:
    """What was done and what is left, with every namespace there that is asked for."""
    live = options.pop("live", OURS)
    found = recover(fake, lambda _: lambda _: live, **options)  # type: ignore[arg-type]
    return list(found.actions), list(found.remaining)


# ── locks ──


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait(60)
    return done.pid


@pytest.fixture
def lock(tmp_path: Path) -> Callable[..., None]:
    """Write a lock as a backend of files does."""

    def write(pid: int, host: str = "", stack: str = "dev", name: str = "a") -> None:
        folder = tmp_path / ".pulumi" / "locks" / "organization" / "trial" / stack
        folder.mkdir(parents=True, exist_ok=True)
        content = {"pid": pid, "username": "me", "hostname": host or socket.gethostname()}
        text = json.dumps({**content, "timestamp": "2026-11-22T10:00:00Z"})
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
        (folder / "half.json").write_text('{"pid": 1')

    return write


def test_the_lock_of_a_dead_process_is_removed(
    tmp_path: Path, lock: Callable[..., None], dead: int
):
    lock(dead)
    fake = Fake(files=tmp_path)
    here = socket.gethostname()
    assert recovered(fake, only_after_a_kill=True)[0] == [
        (
            f"process {dead} of me on {here}, since 2026-11-22T10:00:00Z, no longer runs: gpuyard "
            "removed its lock"
        )
    ]
    assert fake.asked == [("cancel", "--yes")]


def test_the_lock_of_a_live_process_is_kept(tmp_path: Path, lock: Callable[..., None], dead: int):
    lock(dead)
    lock(os.getpid(), name="b")
    fake = Fake(files=tmp_path)
    with pytest.raises(EnvironmentMissing) as caught:
        recovered(fake)
    assert str(caught.value) == (
        f"stack dev is locked by process {os.getpid()} of me on {socket.gethostname()}, since "
        "2026-11-22T10:00:00Z. Wait for it to end; if it no longer runs, run `pulumi cancel "
        "--stack dev`, then retry"
    )
    assert fake.asked == []


@pytest.mark.parametrize("free", [True, False])
def test_a_state_that_is_cut_short_is_mended_before_the_engine_is_asked_and_once_nobody_has_it(
    tmp_path: Path, lock: Callable[..., None], dead: int, free: bool
):
    lock(dead if free else os.getpid())
    state = tmp_path / ".pulumi" / "stacks" / "trial" / "dev.json"
    state.parent.mkdir(parents=True)
    state.touch()
    state.with_name("dev.json.bak").write_text("{}")
    fake = Fake(files=tmp_path)
    if free:
        mended, unlocked = recovered(fake, only_after_a_kill=True)[0]
        assert mended.startswith("the state was truncated, as by a full disk: dev.json.bak of ")
        assert unlocked.endswith("no longer runs: gpuyard removed its lock")
    else:
        with pytest.raises(EnvironmentMissing, match="is locked by process"):
            recovered(fake)
    assert state.read_text() == ("{}" if free else "")


def test_of_another_host_nobody_can_tell(tmp_path: Path, lock: Callable[..., None], dead: int):
    lock(dead, host="another-host")
    with pytest.raises(EnvironmentMissing, match=f"locked by process {dead} of me on another-host"):
        recovered(Fake(files=tmp_path))


def test_a_lock_of_another_stack_is_ignored(tmp_path: Path, lock: Callable[..., None], dead: int):
    lock(dead, stack="prod")
    fake = Fake(files=tmp_path)
    assert recovered(fake) == ([], [])
    assert fake.commands == ["preview"]


def test_a_process_of_somebody_else_lives(monkeypatch: pytest.MonkeyPatch):
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", refuse)
    assert not locks.LockOwner("me", socket.gethostname(), 1, "").is_terminated


HELD = """error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to
  s3://states/.pulumi/locks/organization/trial/dev/1.json: created by ci@{host} (pid {pid})\
 at 2026-11-22T10:00:00Z
"""


def test_on_another_backend_the_engine_says_who_holds_it(dead: int):
    fake = Fake(refuses=HELD.format(host=socket.gethostname(), pid=dead))
    (did,), _ = recovered(fake, only_after_a_kill=True)
    assert did.startswith(f"process {dead} of ci on ")
    assert fake.asked == [
        ("refresh", "--yes", "--skip-preview", "--target", STACK),
        ("cancel", "--yes"),
    ]
    with pytest.raises(EnvironmentMissing, match="process 7 of ci on runner-3, since 2026"):
        recovered(Fake(refuses=HELD.format(host="runner-3", pid=7)))


def test_a_service_that_names_nobody_is_quoted():
    with pytest.raises(EnvironmentMissing, match=r"the owner: error: .409. Conflict"):
        recovered(Fake(refuses="error: [409] Conflict: Another update is currently in progress."))


def test_what_fails_for_another_reason_holds_nothing():
    assert recovered(Fake(refuses="error: no such target"), only_after_a_kill=True) == ([], [])


# ── what is there ──


def test_nothing_under_way_saves_the_preview_where_it_is_asked_to():
    fake = Fake(planned=[namespace()])
    assert recovered(fake, only_after_a_kill=True) == ([], [])
    assert fake.commands == ["refresh"], "the question whether it is locked"


def test_what_was_being_made_is_adopted_below_components_that_the_state_lacks():
    made = namespace()
    team = state_of(TEAM, parent=LAB)
    fake = Fake([team, made], [{"type": "creating", "resource": made}])
    did, left = recovered(fake)
    command = did[1].partition(", as ")[2]
    assert did[0] == "it was creating Namespace team: forgotten"
    assert did[1].startswith("adopted: Namespace team, as ")
    assert left == []
    assert shlex.split(command) == [
        *("pulumi", "import", "--stack", "dev", NAMESPACE, "lab-team:Namespace:team", "team"),
        *("--parent", f"parent={TEAM}", "--provider", f"provider={CLUSTER}"),
        *("--protect=false", "--generate-code=false"),
    ]
    assert fake.commands == ["refresh", "refresh", "preview", "import"]
    assert "--clear-pending-creates" in fake.asked[1]
    assert fake.adopted == {
        "nameTable": {"known-0": LAB, "known-1": CLUSTER},
        "resources": [
            {
                "type": "gpuyard:index:Team",
                "name": "new-0",
                "logicalName": "lab-team",
                "component": True,
                "parent": "known-0",
            },
            {
                "type": NAMESPACE,
                "name": "new-1",
                "logicalName": "lab-team:Namespace:team",
                "id": "team",
                "parent": "new-0",
                "provider": "known-1",
            },
        ],
    }


def test_two_below_one_component_name_it_once():
    first, second = namespace(), namespace("other")
    team = state_of(TEAM)
    fake = Fake([team, first, second])
    assert len(recovered(fake)[0]) == 2
    assert [one["name"] for one in fake.adopted["resources"]] == ["new-0", "new-1", "new-2"]
    assert [one.get("parent") for one in fake.adopted["resources"]] == [None, "new-0", "new-0"]


JOB = {
    "spec": {
        "completions": 4,
        "template": {"spec": {"containers": [{"name": "validator", "args": ["--quick"]}]}},
    }
}


def imported(**spec: Any) -> dict[str, Any]:
    """The same as a cluster has it, with what that has added."""
    container = {"name": "validator", "args": ["--quick"], "imagePullPolicy": "Always"}
    labels = {"batch.kubernetes.io/controller-uid": "1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    made = {"completions": 4, "selector": {"matchLabels": labels}, "template": template, **spec}
    return {"spec": made}


def taken(inputs: dict[str, Any]) -> dict[str, Any]:
    """What becomes of it in the state."""
    one = Creation(urn="job", parent="", provider="", inputs=JOB)
    state = {"urn": "job", "inputs": inputs, "outputs": {"__inputs": inputs, **inputs}}
    others = [{"urn": "other", "inputs": inputs}, {"urn": "component"}]
    done = with_planned_inputs({"resources": [state, *others]}, {"job": one})
    assert done["resources"][1:] == [{"urn": "other", "inputs": inputs}, {"urn": "component"}]
    assert done["resources"][0]["outputs"]["spec"] == inputs["spec"], "that is as it is"
    return done["resources"][0]


def test_what_a_cluster_has_added_is_no_change_that_an_up_would_take_back():
    """Else a Job that has ended would be made anew, and run again."""
    found = taken(imported())
    assert found["inputs"] == found["outputs"]["__inputs"] == JOB
    one = Creation(urn="job", parent="", provider="", inputs=JOB)
    bare = {"resources": [{"urn": "job", "inputs": imported()}]}
    assert with_planned_inputs(bare, {"job": one})["resources"] == [{"urn": "job", "inputs": JOB}]
    assert with_planned_inputs({}, {"job": one}) == {}


@pytest.mark.parametrize(
    "changed",
    [
        imported(completions=3),
        imported(template={"spec": {"containers": []}}),
        imported(template={"spec": {"containers": [{"name": "other", "args": ["--quick"]}]}}),
        imported(template=None),
        {},
    ],
)
def test_what_is_not_what_the_program_wants_stays_a_change(changed: dict[str, Any]):
    if changed:
        assert taken(changed)["inputs"] == changed
    one = Creation(urn="job", parent="", provider="", inputs=JOB)
    assert with_planned_inputs({"resources": [{"urn": "job"}]}, {"job": one}) == {
        "resources": [{"urn": "job"}]
    }


@pytest.mark.parametrize("labels", [{}, {PLATFORM_LABEL: "prod"}, {"app": "lab"}])
def test_what_is_not_ours_is_left_with_the_command_that_takes_it(labels: dict[str, str]):
    fake = Fake([namespace()])
    did, (left,) = recovered(fake, live={"metadata": {"labels": labels}})
    assert did == []
    assert left.startswith(
        "Namespace team exists and belongs to another owner: pulumi import --stack dev "
        f"{NAMESPACE} "
    )
    assert fake.adopted == {}


def test_an_object_of_the_users_own_program_is_nobodys():
    one = namespace(labels={"app": "mine"})
    assert recovered(Fake([one]), live={"metadata": {}})[1]


def test_what_is_not_there_needs_nothing():
    assert recovered(Fake([namespace()]), live=None) == ([], [])


@pytest.mark.parametrize(
    "other",
    [
        state_of(TEAM, inputs={"team": {}}),
        namespace() | {"provider": "urn:pulumi:dev::trial::pulumi:providers:kubernetes::new::1"},
        state_of(
            "urn:pulumi:dev::trial::kubernetes:helm.sh/v3:Release::kueue",
            inputs={"metadata": {"name": "kueue"}},
            provider=f"{CLUSTER}::0a",
        ),
    ],
    ids=["component", "provider that is not there either", "chart"],
)
def test_only_objects_of_a_known_cluster_are_looked_at(other: dict[str, Any]):
    assert recovered(Fake([other])) == ([], [])


def test_what_is_made_elsewhere_is_named_with_its_command():
    bucket = state_of("urn:pulumi:dev::trial::aws:s3/bucketV2:BucketV2::notes", inputs={"tags": {}})
    going = {"type": "deleting", "resource": state_of(STACK.replace("trial-dev", "x"))}
    fake = Fake(pending=[{"type": "creating", "resource": bucket}, going])
    did, (left,) = recovered(fake)
    assert did == [
        "it was creating aws:s3/bucketV2:BucketV2 notes: forgotten",
        "it was deleting pulumi:pulumi:Stack x: forgotten",
    ]
    assert left == (
        "aws:s3/bucketV2:BucketV2 notes was being created; look it up in the cloud; if it "
        "exists: pulumi import --stack dev aws:s3/bucketV2:BucketV2 notes ID --protect=false "
        "--generate-code=false"
    )


def test_what_is_made_in_a_cloud_is_adopted_by_the_id_that_it_must_have():
    urn = "urn:pulumi:dev::trial::aws:eks/nodeGroup:NodeGroup::train"
    names = {"clusterName": "lab", "nodeGroupName": "train-4f1c", "__defaults": ["nodeGroupName"]}
    group = state_of(urn, inputs={**names, "scalingConfig": {"__defaults": []}, "subnetIds": ["a"]})
    going = {"type": "deleting", "resource": state_of(STACK.replace("trial-dev", "x"))}
    fake = Fake(pending=[{"type": "creating", "resource": group}, going])
    did, left = recovered(fake)
    assert did == [
        (
            "it was creating aws:eks/nodeGroup:NodeGroup train: it exists as lab:train-4f1c, and "
            "gpuyard adopted it"
        ),
        "it was deleting pulumi:pulumi:Stack x: forgotten",
    ]
    assert left == []
    assert fake.resources[-1]["inputs"] == group["inputs"]
    assert fake.resources[-1]["outputs"] == {
        "clusterName": "lab",
        "nodeGroupName": "train-4f1c",
        "scalingConfig": {},
        "subnetIds": ["a"],
        "id": "lab:train-4f1c",
    }


def test_a_state_is_edited_with_its_secrets_encrypted(engine: PulumiStack, tmp_path: Path):
    (tmp_path / "pulumi").write_text(
        '#!/bin/sh\n[ "$2" = export ] && { echo "{\\"deployment\\": {\\"$3\\": 1}}"; exit; }\n'
        f'cp "$4" "{tmp_path}/given"\n'
    )
    engine.edit(lambda deployment: {"was": deployment})
    given = json.loads((tmp_path / "given").read_text())
    assert given == {"deployment": {"was": {"--stack": 1}}}, "no --show-secrets"


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("no stack", "no stack"),
        ('{"steps": []}', '{"steps": []}'),
        (
            (
                '{"diagnostics": [{"severity": "warning", "message": "old"},'
                ' {"severity": "error", "message": "error: refused:\\n  fix: write 1\\n"}]}\nmore'
            ),
            "error: refused: fix: write 1",
        ),
    ],
)
def test_a_failed_preview_says_its_errors_alone(
    engine: PulumiStack, tmp_path: Path, output: str, why: str
):
    (tmp_path / "output").write_text(output)
    (tmp_path / "pulumi").write_text(f'#!/bin/sh\ncat "{tmp_path}/output"; exit 255\n')
    with pytest.raises(EnvironmentMissing) as failed:
        engine.query("preview", "--json")
    assert str(failed.value) == f"pulumi preview --json: {why}"


def test_a_preview_that_is_none_is_said(monkeypatch: pytest.MonkeyPatch):
    fake = Fake()
    monkeypatch.setattr(fake, "query", lambda *_: "no JSON")
    with pytest.raises(EnvironmentMissing, match="pulumi preview --json returned no preview"):
        recovered(fake)


def test_the_cluster_of_an_object_is_that_of_its_provider(monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple[Any, ...]] = []

    def look(*what: Any) -> str:
        asked.append(what)
        return json.dumps(OURS)

    monkeypatch.setattr(creations, "run_kubectl", look)
    secret = {"4dabf18193072939515e22adb298388d": "1b47", "plaintext": '"apiVersion: v1\\n"'}
    resources = [
        state_of(CLUSTER, inputs={"kubeconfig": secret, "context": "blue"}),
        state_of(STACK),
    ]
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
    inputs = {**queue, "metadata": {"name": "default", "namespace": "team"}}
    one = Creation(f"{STACK}$kubernetes:x:LocalQueue::q", provider=CLUSTER, inputs=inputs)
    assert creations.kubectl_of({"resources": resources})(one) == OURS
    where = ("localqueue.kueue.x-k8s.io", "default", "-n", "team")
    form = ("-o", "json", "--show-managed-fields")
    secret_way, probe = ("apiVersion: v1\n", "blue"), ("get", "namespaces", "-o", "name")
    assert asked == [(*secret_way, *probe), (*secret_way, "get", *where, *form)]
    asked.clear()
    creations.kubectl_of({})(creations.preview_creations(Fake([namespace()]))[0])  # type: ignore[arg-type]
    assert asked == [(None, None, *probe), (None, None, "get", "namespace", "team", *form)]


def test_a_namespace_that_is_being_deleted_loses_the_workloads_that_keep_it():
    """Pods of a group that its owner deletes stay until Kueue has no workload of theirs."""
    going = {"metadata": {**OURS["metadata"], "deletionTimestamp": "2026-11-28T00:00:00Z"}}
    fake = Fake(resources=[*KNOWN, *map(namespace, ("alpha", "beta", "gamma"))])
    live = {"alpha": going, "beta": OURS, "gamma": going}
    found = recover(
        fake,  # type: ignore[arg-type]
        lambda _: lambda one: live[one.place[1]],
        freeing=lambda _: lambda one: "Forbidden" if one.place[1] == "gamma" else "",
    )
    assert found.actions == (
        "Namespace alpha is being deleted: its workloads are deleted, with their pods",
        "Namespace gamma is being deleted: its workloads could not be deleted: Forbidden",
    )


def test_workloads_are_left_alone_where_the_cluster_cannot_be_seen():
    def unseen(_: object) -> None:
        raise EnvironmentMissing("no cluster")

    fake = Fake(resources=[*KNOWN, namespace()])
    assert recover(fake, lambda _: unseen).actions == ()  # type: ignore[arg-type, return-value]


def test_workloads_are_deleted_with_the_kubeconfig_of_the_stack(monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []

    def change(*words: Any) -> str:
        asked.append(words)
        return "said"

    monkeypatch.setattr(creations, "run_mutating_kubectl", change)
    one = creations.preview_creations(Fake([namespace()]))[0]  # type: ignore[arg-type]
    assert creations.quota_releaser({"resources": KNOWN})(one) == "said"
    what = ("delete", "workloads.kueue.x-k8s.io", "--all", "-n", "team", "--wait=false")
    assert asked == [(None, "blue", *what)]


def test_fields_in_a_namespace_of_somebody_else_are_not_taken_over():
    """They are written again at the next `up`: nothing was made that could be ours."""
    inputs = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}}
    one = Creation("urn:pulumi:dev::trial::kubernetes:core/v1:NamespacePatch::old", inputs=inputs)
    assert (one.is_patch, one.is_object) == (True, False)
    whole = Creation("urn:pulumi:dev::trial::kubernetes:core/v1:Namespace::old", inputs=inputs)
    assert (whole.is_patch, whole.is_object) == (False, True)


def test_what_cannot_be_seen_is_not_what_is_not_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(creations, "run_kubectl", lambda *_: None)
    live = creations.kubectl_of({"resources": KNOWN})
    with pytest.raises(EnvironmentMissing, match="kubectl cannot query the cluster of cluster, so"):
        live(creations.preview_creations(Fake([namespace()]))[0])  # type: ignore[arg-type]


# ── the engine ──


@pytest.fixture
def engine(tmp_path: Path) -> PulumiStack:
    """A stack whose engine is a script that prints its arguments, or fails when it is told to."""
    program = tmp_path / "pulumi"
    program.write_text(
        "#!/bin/sh\n"
        '[ "$1" = whoami ] && { echo "{\\"url\\": \\"$WHERE\\"}"; exit 0; }\n'
        '[ "$1" = stack ] && { echo "{\\"deployment\\": {\\"resources\\": []}}"; exit 0; }\n'
        'echo "$@"; echo "warning" >&2; [ "$1" != fails ]\n'
    )
    program.chmod(0o755)
    (tmp_path / "Pulumi.yaml").write_text("name: trial\n")
    (tmp_path / "below").mkdir()
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "WHERE": "file:///states?metadata=skip"}
    return PulumiStack("dev", tmp_path / "below", env)


def test_commands_are_about_the_stack_and_answer_with_what_they_print(engine: PulumiStack):
    assert engine.query("import", "--yes") == (
        "import --yes --stack dev --non-interactive --color never\n"
    )
    assert engine.state() == {"resources": []}
    with pytest.raises(EnvironmentMissing) as caught:
        engine.query("fails")
    assert str(caught.value) == (
        "pulumi fails: fails --stack dev --non-interactive --color never\nwarning"
    )


def test_what_reads_the_configuration_is_told_where_it_is(engine: PulumiStack):
    file = engine.folder / "prod.yaml"
    told = replace(engine, config_file=file)
    for command in ("import", "preview", "refresh"):
        assert f"--config-file {file} " in told.query(command, "--yes")
        assert "--config-file" not in engine.query(command, "--yes")
    assert "--config-file" not in told.query("cancel", "--yes"), "it knows no such option"
    assert told.state() == {"resources": []}


def test_the_project_is_that_of_the_folder_or_above(engine: PulumiStack, tmp_path: Path):
    assert engine.project == "trial"
    (tmp_path / "Pulumi.yaml").unlink()
    with pytest.raises(EnvironmentMissing, match=r"no Pulumi\.yaml in .*below or its parents"):
        _ = engine.project


def test_a_backend_of_files_is_where_the_environment_or_the_engine_says(engine: PulumiStack):
    assert engine.files == Path("/states")
    elsewhere = PulumiStack(
        "dev", engine.folder, {**engine.env, "PULUMI_BACKEND_URL": "s3://states"}
    )
    assert elsewhere.files is None
    nowhere = PulumiStack("dev", engine.folder, {"PATH": "/nowhere"})
    with pytest.raises(EnvironmentMissing) as lacking:
        nowhere.query("up")
    assert str(lacking.value) == (
        "no `pulumi` on PATH: put the Pulumi CLI that deploys the stack on PATH and retry; for a "
        "stack that `make up` deployed, run this in `make shell STACK=dev`"
    )
    with pytest.raises(EnvironmentMissing, match="no `pulumi` on PATH"):
        _ = nowhere.files


def test_a_secret_is_read_as_what_it_is():
    assert plaintext_value({"plaintext": '"text"'}) == "text"
    assert [plaintext_value(one) for one in ("text", "", None, {"ciphertext": "x"}, 1)] == [
        "text",
        *[None] * 4,
    ]
