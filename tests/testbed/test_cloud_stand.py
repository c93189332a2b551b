"""`make up STACK=…` without an engine: the copied project, stand-ins of charts, and the final job."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from testbed.plugins import environment
from testbed.plugins.cloud.account import CALLER
from testbed.plugins.cloud.motion import pace
from testbed.plugins.cloud.service import reservations
from testbed.yard import charts, cloud, demo, down, first, shell, up
from testbed.yard import engine as local

from gpuyard_core.errors import EnvironmentMissing, SpecError, UsageError
from gpuyard_core.names import KUEUE_CONFIG_KEY
from gpuyard_simulate import cluster
from gpuyard_simulate import state as sim_state
from gpuyard_simulate.tools import Tools
from kit.stacks import plan_of, platform, pool, team

STACKS = ("aws-training", "aws-inference", "gcp-training", "gcp-inference", "existing")
ENDED = "The control plane, the fake account and the stack's state are removed."


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(local, "STATE", tmp_path / "stacks")
    monkeypatch.setenv("GPUYARD_SIM_HOME", str(tmp_path / "sim"))
    return tmp_path


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_of_a_cloud_is_accepted_and_ends_with_a_job_of_two_nodes(stack):
    plan = cloud.Stand(stack).plan()
    assert plan.name == stack
    assert cloud.gangs(plan)[0].pods == 2


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        (
            (0, 2),
            [
                "a job of the shape second: vision/second (2 × 8 GPUs)",
                "  all 2 pods run, on a, b",
            ],
        ),
        (
            (0, 1),
            [
                f"not run: a job of the shape {name}: an autoscaler starts its nodes, which the"
                " fake does not run"
                for name in ("first", "second")
            ],
        ),
    ],
)
def test_a_job_is_tried_on_nodes_that_run_and_no_autoscaler_is_waited_for(
    monkeypatch, starts, said
):
    pools = [
        pool(name, machine="p5.48xlarge", nodes=f"{start}..4")
        for name, start in zip(("one", "two"), starts, strict=True)
    ]
    shapes = [
        {"name": name, "pool": where, "nodes": 2, "gpus_per_node": 8}
        for name, where in (("first", "one"), ("second", "two"))
    ]
    teams = [team("vision", guarantee={"one": 16, "two": 16})]
    plan = plan_of(platform(pools, teams, cloud="aws", shapes=shapes))
    monkeypatch.setattr(cloud, "run_gang", lambda _api, _gang: ["a", "b"])
    heard = []
    cloud.try_gang(SimpleNamespace(), plan, heard.append)
    assert heard == said


def test_the_copied_stack_file_differs_in_one_word(state):
    stand = cloud.Stand("aws-training")
    stand.write()
    copy = state / "clouds" / "aws-training" / "project" / "Pulumi.aws-training.yaml"
    written, given = (yaml.safe_load(each.read_text()) for each in (copy, stand.file))
    queueing = written["config"]["gpuyard:platform"].pop("queueing")
    assert queueing == {**given["config"]["gpuyard:platform"].pop("queueing"), "install": False}
    assert written == given
    copy.write_text(f"{copy.read_text()}\nencryptionsalt: v1:salt\n")
    stand.write()
    assert yaml.safe_load(copy.read_text())["encryptionsalt"] == "v1:salt"


def test_a_stack_file_that_is_refused_is_not_played(monkeypatch, tmp_path):
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.x.yaml").write_text("config: {gpuyard:platform: {x: 1}}\n")
    monkeypatch.setattr(local, "ROOT", tmp_path)
    with pytest.raises(SpecError):
        cloud.Stand("x").plan()


def test_nodes_of_a_stack_take_their_time_at_the_pace_that_is_asked(state):
    stand = cloud.Stand("aws-training")
    said = "New nodes take 0.05 times as long as the plan says (PACE)."
    assert cloud.set_pace(stand, "0.05") == said
    assert pace.read(stand.account) == pace.Pace(factor=0.05)
    cloud.set_pace(stand, "0")
    assert pace.read(stand.account) == pace.Pace()


@pytest.mark.parametrize("asked", ["fast", "-1", "nan", "inf"])
def test_a_pace_that_nothing_can_have_is_refused(asked):
    refused = f"PACE must be a number such as 0.05, not {asked!r}; with 0 nodes start at once"
    with pytest.raises(UsageError, match=refused):
        cloud.set_pace(cloud.Stand("aws-training"), asked)
    assert not cloud.Stand("aws-training").account.exists()


def test_a_stack_that_names_a_reservation_is_played_in_an_account_that_holds_it(state, tmp_path):
    stand, file = cloud.Stand("aws-training"), tmp_path / "held.json"
    one = {"id": "cr-0a", "instanceType": "g6.xlarge", "availabilityZone": "a", "instanceCount": 1}
    file.write_text(json.dumps({"aws": [one]}))
    assert cloud.set_reserved(stand, file) == "The fake account has 1 reservations (RESERVED)."
    assert reservations.read(stand.account, "aws") == [one]
    for text in ("{", '{"azure": []}', '{"gcp": [{"name": "held"}]}'):
        file.write_text(text)
        with pytest.raises(UsageError, match="RESERVED must name a file of reservations: "):
            cloud.set_reserved(stand, file)
    with pytest.raises(UsageError, match="No such file"):
        cloud.set_reserved(stand, tmp_path / "none.json")
    assert reservations.read(stand.account, "aws") == [one]


def test_the_reservations_that_the_documentation_shows_are_taken(tmp_path):
    page = (local.ROOT / "docs" / "get-started" / "local-platform.md").read_text()
    file = tmp_path / "held.json"
    file.write_text("{" + page.partition("```text\n{")[2].partition("```")[0])
    said = cloud.set_reserved(cloud.Stand("aws-training"), file)
    assert said == "The fake account has 2 reservations (RESERVED)."


def test_a_pace_for_the_local_stack_or_one_that_is_refused_ends_up_before_anything_is_made(
    monkeypatch, capsys
):
    monkeypatch.setenv("PACE", "fast")
    monkeypatch.setattr(up, "show_plan", lambda: None)
    for stack, said in (
        ("local", "up: PACE needs a fake cloud: `make up STACK=aws-training PACE=0.05`\n"),
        (
            "aws-training",
            "up: PACE must be a number such as 0.05, not 'fast'; with 0 nodes start at once\n",
        ),
    ):
        monkeypatch.setattr(up, "STACK", stack)
        assert up.main() == UsageError.exit_code
        assert capsys.readouterr().err.endswith(said)


def test_fakes_of_clouds_need_our_engine(monkeypatch):
    stand = cloud.Stand("aws-training")
    for found, said in (
        (None, "no Pulumi engine"),
        (SimpleNamespace(needs_our_plugins=False, path="/usr/bin/pulumi"), "is an official one"),
    ):
        monkeypatch.setattr(environment, "find", lambda found=found: found)
        with pytest.raises(EnvironmentMissing, match=said):
            stand.engine(Path("kubeconfig"))


def test_charts_are_played_with_the_values_of_the_plan():
    aws = {each["kind"]: each for each in charts.objects(cloud.Stand("aws-training").plan())}
    assert KUEUE_CONFIG_KEY in aws["ConfigMap"]["data"]
    assert "labels" not in aws["ConfigMap"]["metadata"]
    policy = aws["ClusterPolicy"]["spec"]
    assert policy["driver"] == {"enabled": False}
    assert policy["devicePlugin"]["enabled"] is True
    assert policy["devicePlugin"]["config"]["name"] == "gpuyard-device-plugin"


@pytest.mark.parametrize(("cluster_", "played"), [({"existing": "blue"}, True), ({}, False)])
def test_googles_installer_is_played_where_the_cluster_is_anothers(cluster_, played):
    raw = platform([pool(machine="a3-highgpu-8g")], cloud="gcp", cluster=cluster_)
    made = [each for each in charts.objects(plan_of(raw)) if each["kind"] == "DaemonSet"]
    names = [{"name": "nvidia-driver-installer", "namespace": "kube-system"}]
    assert [each["metadata"] for each in made] == (names if played else [])


def test_charts_are_applied_as_one_owner():
    api = Nodes()
    said = charts.play(api, cloud.Stand("gcp-training").plan())
    assert said == "kueue-manager-config, cluster-policy, the kinds of prometheus-operator"
    *charts_objects, monitor, rule, receivers = api.applied
    assert (monitor, rule, receivers) == ("ServiceMonitor", "PrometheusRule", "AlertmanagerConfig")
    assert len(charts_objects) == 2
    assert all(each.endswith("?fieldManager=gpuyard-sim&force=true") for each in charts_objects)


class Nodes:
    """An API server of nodes that records applied objects."""

    def __init__(self, *names):
        self.names, self.applied = set(names), []

    def call(self, method, path, body=None, *_more):
        if method == "GET":
            return {"items": [{"metadata": {"name": name}} for name in sorted(self.names)]}
        if method == "POST":
            self.names.add(body["metadata"]["name"])
            assert body["metadata"]["labels"]["karpenter.sh/nodepool"] == "chat"
        elif method == "DELETE":
            self.names.remove(path.rpartition("/")[2])
        else:
            self.applied.append(path)
        return None

    def apply(self, manifest):
        self.applied.append(manifest["spec"]["names"]["kind"])


def test_pools_of_karpenter_have_their_kinds_and_first_nodes(monkeypatch):
    def play(api, nodes):
        chat = pool("chat", nodes=nodes, scaling="karpenter")
        return charts.play(api, plan_of(platform([chat], cloud="aws")))

    monkeypatch.setattr(charts, "find_tools", lambda: Tools(Path("/none")))
    monkeypatch.delenv("GPUYARD_UPSTREAM", raising=False)
    api = Nodes("chat-000", "chat-007")
    said = play(api, "2..4")
    assert said.endswith(", Karpenter with 2 nodes, and no autoscaling")
    assert api.names == {"chat-000", "chat-001"}
    assert api.applied[-4:] == ["EC2NodeClass", "NodePool", "NodeClaim", "NodeOverlay"]
    play(api, "0..4")
    assert api.names == set()


# ── the first of two stacks ───────────────────────────────────────────────────────────────────────
def test_a_cluster_that_exists_is_another_stack_of_another_project():
    stand = cloud.Stand("existing")
    folder = stand.write_first()
    second = stand.content()["config"]
    written = yaml.safe_load((folder / f"Pulumi.{first.STACK}.yaml").read_text())["config"]
    platform_ = written.pop("gpuyard:platform")
    assert written == {"aws:region": second["aws:region"]}
    assert platform_ == {
        "name": "ml-prod",
        "cloud": "aws",
        "kubernetes": second["gpuyard:platform"]["kubernetes"],
        "system": {"machine": "m7i.xlarge", "nodes": 2},
        "pools": second["gpuyard:platform"]["pools"],
    }
    assert yaml.safe_load((folder / "Pulumi.yaml").read_text())["name"] != local.PROJECT
    assert "EksCluster(" in (folder / "__main__.py").read_text()
    file = folder / f"Pulumi.{first.STACK}.yaml"
    file.write_text(f"{file.read_text()}\nencryptionsalt: v1:salt\n")
    stand.write_first()
    assert yaml.safe_load(file.read_text())["encryptionsalt"] == "v1:salt"


@pytest.mark.parametrize(
    ("raw", "made"),
    [
        ({"cloud": "aws"}, None),
        ({"cloud": "aws", "cluster": {"protect": False}}, None),
        ({"cloud": "none", "cluster": {"existing": "context"}}, None),
        (
            {"cloud": "gcp", "cluster": {"existing": "blue", "protect": False, "network": {}}},
            {
                "name": "blue",
                "cloud": "gcp",
                "system": {"machine": "e2-standard-4", "nodes": 2},
                "cluster": {"protect": False},
            },
        ),
        (
            {"cloud": "aws", "cluster": {"existing": "blue"}, "system": {"nodes": 3}},
            {"name": "blue", "cloud": "aws", "system": {"nodes": 3}},
        ),
    ],
)
def test_only_a_cluster_of_a_cloud_that_exists_has_a_first_stack(raw, made):
    found = first.first_of_two(raw)
    assert found == made
    full = platform(**raw)
    assert (first.first_of_two(full) is None) == (made is None)


def test_a_stack_that_makes_its_cluster_has_no_first():
    assert cloud.Stand("gcp-training").write_first() is None


class Engine:
    """An engine that records its commands, folders, and users."""

    def __init__(self, env, project, ran):
        self.env, self.project, self._ran = env, project, ran

    def ask(self, *words):
        if words[:2] == ("stack", "ls"):
            return [{"name": "existing"}]
        return [{"resourceChanges": {"same": 3}}] if "history" in words else None

    def run(self, *words):
        self._ran.append((self.project.name, words[words.index("--stack") + 1]))
        return int(self.env.get("FAILS") == self.project.name)


@pytest.mark.parametrize(
    ("fails", "ran"),
    [
        ("", [("first", "cluster"), ("project", "existing")]),
        ("first", [("first", "cluster")]),
    ],
)
def test_the_first_stack_comes_up_before_the_second(monkeypatch, fails, ran):
    done, said = [], []
    monkeypatch.setattr(cloud, "CloudEngine", lambda env, project: Engine(env, project, done))
    stand = cloud.Stand("existing")
    engine = Engine({"FAILS": fails}, stand.project, done)
    if fails:
        with pytest.raises(cloud.UpFailed):
            cloud.deploy(stand, engine, said.append)
    else:
        assert cloud.deploy(stand, engine, said.append) is False
        assert said[-1] == "pulumi up"
    assert done == ran
    assert "the cluster that the second refers to by name" in said[0]


def test_the_deploying_user_is_the_first_of_the_administrators(monkeypatch, tmp_path):
    (tmp_path / "kubeconfig").touch()
    monkeypatch.setattr(
        environment, "find", lambda: SimpleNamespace(needs_our_plugins=True, path="pulumi")
    )
    monkeypatch.setattr(environment, "variables", lambda *_, **__: {"PATH": "/bin"})
    monkeypatch.setattr(cloud.installing, "install", lambda *_: {})
    monkeypatch.setattr(cloud.control_plane, "put", lambda *_: {})
    monkeypatch.delenv(CALLER, raising=False)
    (admin,) = cloud.Stand("aws-training").content()["config"]["gpuyard:platform"]["cluster"][
        "admins"
    ]
    env = cloud.Stand("aws-training").engine(tmp_path / "kubeconfig").env
    assert env[CALLER] == admin
    assert CALLER not in cloud.Stand("gcp-training").engine(tmp_path / "kubeconfig").env


# ── down ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("stack", "there", "code", "said"),
    [
        ("aws-training", ["aws-training"], 0, ENDED),
        ("aws-training", [], 0, "Nothing was up."),
        (
            "aws-training",
            ["gcp-training"],
            0,
            "Nothing was up; up are `make down STACK=gcp-training`.",
        ),
        (
            "aws-trainning",
            ["aws-training"],
            2,
            "down: there is no stack aws-trainning; up are `make down STACK=aws-training`",
        ),
        ("my-own", ["my-own"], 0, ENDED),
        ("local", ["existing"], 0, "Nothing was up; up are `make down STACK=existing`."),
    ],
)
def test_down_takes_a_stack_with_its_account_and_says_what_else_is_up(
    state, monkeypatch, capsys, stack, there, code, said
):
    for name in there:
        (state / "clouds" / name / "account").mkdir(parents=True)
    monkeypatch.setattr(down, "STACK", stack)
    monkeypatch.setattr(down, "STATE", state / "stacks")
    monkeypatch.setattr(cluster, "down", lambda _: False)
    monkeypatch.setattr(cluster, "status", lambda _: SimpleNamespace(ready=False))
    assert down.main() == code
    assert capsys.readouterr().err == f"{said}\n"
    assert [each.name for each in (state / "clouds").glob("*")] == [n for n in there if n != stack]


# ── two checkouts on one machine ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("stack", ["local", "aws-training"])
@pytest.mark.parametrize("command", [up, down, shell, demo])
def test_a_command_leaves_the_cluster_of_another_checkout_alone(
    state, monkeypatch, capsys, command, stack
):
    name = "local" if command is demo else stack
    ports = dict.fromkeys(sim_state.PORT_NAMES, 1)
    sim_state.folder_of(name).write_settings(sim_state.ClusterSettings("t", ports, "/clone"))
    (state / "clouds" / stack).mkdir(parents=True)
    monkeypatch.setattr(command, "STACK", stack, raising=False)
    monkeypatch.setattr("sys.argv", ["x"])
    assert command.main() == 4
    (said,) = capsys.readouterr().err.splitlines()
    assert said.endswith(
        f": cluster {name} belongs to the checkout /clone: run `make` there, or add NAME=another-name"
        f" here for a cluster of this checkout; `python -m gpuyard_simulate down --name {name}` removes it"
    )
    assert (state / "clouds" / stack).exists()
    assert sim_state.folder_of(name).settings() is not None


@pytest.mark.parametrize(
    ("words", "env", "given"),
    [
        (["NAME=ci"], {}, "ci"),
        ([], {"NAME": "LAPTOP-7"}, ""),
        ([], {"GPUYARD_SIM_NAME": "ci"}, "ci"),
        (["NAME=mine"], {"GPUYARD_SIM_NAME": "ci"}, "mine"),
    ],
)
def test_make_takes_the_name_of_the_cluster_from_its_command_line(tmp_path, words, env, given):
    """Some systems set a variable NAME for each shell."""
    (tmp_path / "scripts").mkdir()
    for script, text in (("bootstrap", "true"), ("yard", 'echo "name=$GPUYARD_SIM_NAME"')):
        (tmp_path / "scripts" / script).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "scripts" / script).chmod(0o755)
    done = subprocess.run(
        ["make", "-f", str(local.ROOT / "Makefile"), "up", *words],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"name={given}\n"


@pytest.mark.parametrize(
    ("env", "state_folder", "command"),
    [
        ({}, "stacks", "make up"),
        ({"GPUYARD_SIM_NAME": "local"}, "stacks", "make up"),
        ({"GPUYARD_SIM_NAME": "ci"}, "clusters/ci/stacks", "make up NAME=ci"),
        (
            {"GPUYARD_SIM_NAME": "ci", "STACK": "acme"},
            "clusters/ci/stacks-acme",
            "make up STACK=acme NAME=ci",
        ),
    ],
)
def test_a_cluster_of_another_name_has_a_state_of_its_own(tmp_path, env, state_folder, command):
    code = "from testbed.yard.engine import *; print(STATE, make('up', STACK), sep='\\n')"
    done = subprocess.run(
        [local.ROOT / ".venv" / "bin" / "python", "-c", code],
        cwd=local.ROOT,
        env={"PATH": os.environ["PATH"], "GPUYARD_YARD_STATE": str(tmp_path / "stacks"), **env},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [str(tmp_path / state_folder), command]


# ── the shell ─────────────────────────────────────────────────────────────────────────────────────
def test_pulumi_in_the_shell_reads_the_stack_file_as_it_is_now(state, tmp_path, monkeypatch):
    program = tmp_path / "pulumi"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    stand = cloud.Stand("aws-training")
    folder = shell.write_pulumi(stand, str(tmp_path))
    env = {**os.environ, "STACK": stand.stack, "GPUYARD_YARD_STATE": str(local.STATE)}

    def said(*words):
        command = [folder / "pulumi", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout

    assert said("stack", "ls") == "stack ls\n"
    assert not stand.copy.exists()
    assert said("preview", "--diff") == f"preview --diff --config-file {stand.copy}\n"
    assert (
        yaml.safe_load(stand.copy.read_text())["config"]["gpuyard:platform"]["queueing"]["install"]
        is False
    )
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.aws-training.yaml").write_text("config: {}\n")
    monkeypatch.setattr(local, "ROOT", tmp_path)
    monkeypatch.setattr(shell, "STACK", stand.stack)
    monkeypatch.setattr("sys.argv", ["shell", shell.COPY])
    assert shell.main() == SpecError.exit_code


def test_down_that_is_interrupted_says_how_to_go_on(monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(down, "STACK", "aws-training")
    monkeypatch.setattr(cluster, "down", interrupted)
    assert down.main() == 130
    assert "run `make down STACK=aws-training` again to continue" in capsys.readouterr().err


def test_the_claim_driver_stand_in_follows_the_values_of_its_chart():
    """For machines of a rack it also serves claims of compute domains."""
    for machine, containers, classes in (
        ("g2-standard-48", ["gpus"], 2),
        ("a4x-highgpu-4g", ["gpus", "compute-domains"], 4),
    ):
        raw = platform(
            [
                pool(
                    machine=machine,
                    nodes=1,
                    zones=["us-central1-a"],
                    sharing="dra",
                    capacity=[{"reserved": "held", "nodes": 1}],
                )
            ],
            cloud="gcp",
        )
        *made, daemon_set = charts.claim_driver(plan_of(raw))
        assert [each["kind"] for each in made] == ["DeviceClass"] * classes
        assert daemon_set["metadata"]["namespace"] == "gpu-operator"
        spec = daemon_set["spec"]["template"]["spec"]
        assert [each["name"] for each in spec["containers"]] == containers
        assert {each["image"].partition(":")[0] for each in spec["containers"]} == {
            "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu"
        }
        assert spec["nodeSelector"] == {"nvidia.com/gpu.deploy.operands": "false"}
    assert (
        charts.claim_driver(plan_of(platform(cloud="gcp", pools=[pool(machine="a3-megagpu-8g")])))
        == []
    )
