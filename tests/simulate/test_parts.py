"""Folders, ports, processes and manifests of the simulated cluster, without starting one."""

import base64
import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from gpuyard_core.errors import EnvironmentMissing, UsageError
from gpuyard_simulate import crds, credentials, processes, state
from gpuyard_simulate.api import ApiObject, connect, path_of
from gpuyard_simulate.kueue import certificates as kueue_certificates
from gpuyard_simulate.kueue import manager as kueue_manager
from gpuyard_simulate.parts import PARTS, STAGES, Place
from gpuyard_simulate.tools import PROGRAMS, Tools, find_tools
from kit.waiting import SHORTER

PORTS = {name: 20000 + number for number, name in enumerate(state.PORT_NAMES)}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUYARD_SIM_HOME", str(tmp_path / "sim"))
    return tmp_path / "sim"


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """Programs that are there and do nothing."""
    found = Tools(tmp_path / ".testbed" / "bin")
    (found.share / "kueue" / "crds").mkdir(parents=True)
    found.bin.mkdir()
    for name in PROGRAMS:
        (found.bin / name).touch(mode=0o755)
    return found


def crd(kind: str, group: str = "of.its.own") -> ApiObject:
    names = {"kind": kind}
    return {"kind": "CustomResourceDefinition", "spec": {"group": group, "names": names}}


def shipped(root: Path, where: tuple[str, str], made: ApiObject) -> None:
    folder = root / where[0]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / where[1]).write_text(json.dumps(made))


def place(tools: Tools) -> Place:
    return Place(state.folder_of("local"), state.ClusterSettings("token", PORTS), tools)


# ── parts ──


def test_a_caller_that_has_the_memory_says_when_garbage_is_collected(
    monkeypatch: pytest.MonkeyPatch,
):
    """The rest of a part's variables are its own."""
    parts = {part.name: part for part in PARTS}
    monkeypatch.delenv("GOGC", raising=False)
    monkeypatch.setenv("POD_NAMESPACE", "default")
    assert parts["kueue"].environment() == {"POD_NAMESPACE": "kueue-system", "GOGC": "50"}
    monkeypatch.setenv("GOGC", "200")
    assert parts["kueue"].environment() == {"POD_NAMESPACE": "kueue-system", "GOGC": "200"}
    assert parts["etcd"].environment() == {}, "it keeps its own way"


# ── tools ──


def test_tools_are_found_here_and_from_below(tools: Tools, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GPUYARD_TOOLS", raising=False)
    below = tools.bin.parent.parent / "a" / "b"
    below.mkdir(parents=True)
    assert find_tools(below) == tools


def test_a_named_folder_goes_first(tools: Tools, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GPUYARD_TOOLS", str(tools.bin))
    assert find_tools(Path("/")) == tools


def test_missing_tools_name_the_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GPUYARD_TOOLS", str(tmp_path / "none"))
    with pytest.raises(
        EnvironmentMissing,
        match=r"GPUYARD_TOOLS=.* is not a folder; run `make tools` to build them",
    ):
        find_tools()
    monkeypatch.delenv("GPUYARD_TOOLS")
    with pytest.raises(EnvironmentMissing, match=r"have no \.testbed/bin; run `make tools`"):
        find_tools(tmp_path)


def test_half_built_tools_say_what_is_missing(tools: Tools, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GPUYARD_TOOLS", str(tools.bin))
    (tools.bin / "kueue").unlink()
    (tools.share / "kueue" / "crds").rmdir()
    with pytest.raises(EnvironmentMissing, match="lacks kueue, share/kueue; run `make tools`"):
        find_tools()


# ── state ──


@pytest.mark.parametrize("name", ["", "Local", "a b", "-a", "a-", "../x", "a" * 41])
def test_a_name_that_is_no_folder_is_refused(name: str):
    with pytest.raises(UsageError, match="lowercase letters, digits and dashes"):
        state.folder_of(name)


def test_the_home_follows_the_desktop_convention(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GPUYARD_SIM_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "/x")
    assert state.home() == Path("/x/gpuyard/sim")
    monkeypatch.delenv("XDG_STATE_HOME")
    assert state.home() == Path("~/.local/state/gpuyard/sim").expanduser()


def test_two_clusters_share_no_port(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state, "is_free", lambda _port: True)
    first = state.new_settings(state.folder_of("one"))
    state.folder_of("one").write_settings(first)
    second = state.new_settings(state.folder_of("one"), Path("/clone"))
    assert (first.checkout, second.checkout) == (None, "/clone")
    assert not set(first.ports.values()) & set(second.ports.values())
    assert first.token != second.token
    assert state.folder_of("one").settings() == first


def test_a_machine_without_free_ports_is_told_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state, "is_free", lambda _port: False)
    with pytest.raises(EnvironmentMissing, match="no 7 free ports from 20000 to 32000"):
        state.new_settings(state.folder_of("local"))


def test_a_checkout_acts_only_on_clusters_of_its_own(home: Path):
    mine, other = Path("/home/me/gpuyard"), Path("/home/me/second-clone")
    state.require_own("local", mine)
    assert not home.exists(), "to look changes nothing"
    folder = state.folder_of("local")
    folder.write_settings(state.ClusterSettings("t", PORTS))
    state.require_own("local", mine)
    folder.write_settings(state.ClusterSettings("t", PORTS, str(other)))
    state.require_own("local", other)
    with pytest.raises(EnvironmentMissing) as caught:
        state.require_own("local", mine)
    assert str(caught.value) == (
        "cluster local belongs to the checkout /home/me/second-clone: run `make` there, or add"
        " NAME=another-name here for a cluster of this checkout; `python -m gpuyard_simulate down --name local` removes it"
    )
    state.require_own("ci", mine)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"token": "x", "ports": {}}', '{"ports": 1}'])
def test_unreadable_settings_are_no_cluster(text: str):
    folder = state.folder_of("local")
    folder.path.mkdir(parents=True)
    (folder.path / "cluster.json").write_text(text)
    assert folder.settings() is None
    (folder.path / "parts").mkdir()
    (folder.path / "parts" / "kwok.json").write_text(text)
    assert folder.read_process("kwok") is None


def test_removing_a_cluster_leaves_nothing(home: Path):
    folder = state.folder_of("local")
    folder.write_settings(state.ClusterSettings("t", PORTS))
    folder.remove()
    assert not home.exists()


def test_a_lock_whose_folder_was_removed_meanwhile_is_taken_anew():
    folder = state.folder_of("local")
    with state.locked(folder):
        inside = folder.path.stat().st_ino
        assert not state._is_same(os.open(folder.path.parent, os.O_RDONLY), folder.path)
    with state.locked(folder):
        assert folder.path.stat().st_ino == inside


# ── processes ──


def test_a_process_is_known_by_id_and_start():
    me = processes.Process(os.getpid(), processes.start_of(os.getpid()) or "")
    assert me.alive
    assert not processes.Process(me.pid, "another start").alive
    assert processes.start_of(2**22 + 1) is None
    assert processes.rss_mib(os.getpid()) > 5
    assert processes.rss_mib(2**22 + 1) == 0


def test_a_process_is_started_found_by_its_mark_and_stopped(tmp_path: Path):
    log = tmp_path / "logs" / "sleeper.log"
    code = "import time; print('hello', flush=True); time.sleep(60)"
    mark = f"{tmp_path}:sleeper"
    process = processes.start([sys.executable, "-c", code], mark=mark, log=log)
    deadline = time.monotonic() + SHORTER
    while (
        not log.read_text() or not processes.marked_processes(mark)
    ) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes.marked_processes(f"{tmp_path}:") == [process]
    assert os.getsid(process.pid) == process.pid, "Ctrl-C in the terminal does not reach it"
    processes.stop([process])
    assert not process.alive
    assert log.read_text() == "hello\n"
    processes.stop([process])  # a second time is nothing


def test_a_process_that_does_not_listen_is_ended_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.3)
    log = tmp_path / "logs" / "deaf.log"
    code = "import signal,time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    process = processes.start([sys.executable, "-c", code], mark=f"{tmp_path}:deaf", log=log)
    while not log.read_text():
        time.sleep(0.02)
    processes.stop([process])
    assert not process.alive


# ── parts ──


def test_every_part_listens_on_this_machine_only_and_on_ports_of_its_own(tools: Tools):
    ports = [port for part in PARTS for port in part.ports]
    assert sorted(ports) == sorted(state.PORT_NAMES)
    for part in PARTS:
        text = " ".join(part.command(place(tools)))
        assert "0.0.0.0" not in text  # noqa: S104  that it is absent
        assert "token" not in text.replace("--token-auth-file", "").replace("tokens.csv", ""), (
            part.name
        )


def test_the_stages_are_yaml_with_distinct_names():
    stages = list(yaml.safe_load_all(STAGES.read_text()))
    names = [stage["metadata"]["name"] for stage in stages]
    assert names == [
        "node-ready",
        "node-heartbeat",
        "pod-starts",
        "pod-succeeds",
        "pod-fails",
        "pod-ends",
        "pod-goes",
    ]


def test_the_signing_key_is_a_key_openssl_reads(tmp_path: Path):
    (tmp_path / "key").write_text(credentials.signing_key())
    assert credentials.signing_key() != credentials.signing_key()
    with contextlib.suppress(FileNotFoundError):
        command = ["openssl", "ec", "-in", str(tmp_path / "key"), "-noout", "-text"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "prime256v1" in said


def test_the_kubeconfig_is_read_back_and_a_broken_one_named(tmp_path: Path):
    folder = state.folder_of("local")
    settings = state.ClusterSettings("secret", PORTS)
    assert not credentials.has_certificate(folder)
    for text in ("", "certificate"):
        state.write_private(credentials.serving_certificate(folder), text)
        assert credentials.has_certificate(folder) is bool(text)
    credentials.write_kubeconfig(folder, settings)
    written = yaml.safe_load(folder.kubeconfig.read_text())
    assert written["current-context"] == "gpuyard-local"
    assert (
        base64.b64decode(written["clusters"][0]["cluster"]["certificate-authority-data"])
        == b"certificate"
    )
    assert folder.kubeconfig.stat().st_mode & 0o077 == 0
    (tmp_path / "broken").write_text("a: b")
    with pytest.raises(EnvironmentMissing, match="is not the kubeconfig of a simulated cluster"):
        connect(tmp_path / "broken")


# ── Kueue and the ClusterPolicy ──


def test_a_platforms_configuration_keeps_its_values_and_gets_our_ports(tmp_path: Path):
    wanted = {
        "fairSharing": {},
        "featureGates": {"ReclaimablePods": False},
        "metrics": {"enableClusterQueueResources": True},
        "webhook": {"port": 9443},
    }
    made = kueue_manager.configuration(wanted, PORTS, tmp_path)
    assert made["fairSharing"] == {}
    assert made["featureGates"] == {"ReclaimablePods": False, "VisibilityOnDemand": False}
    assert made["webhook"] == {
        "host": "127.0.0.1",
        "port": PORTS["kueue-webhook"],
        "certDir": str(tmp_path),
    }
    assert made["metrics"]["bindAddress"] == f"127.0.0.1:{PORTS['kueue-metrics']}"
    assert made["metrics"]["enableClusterQueueResources"] is True


def test_only_crds_that_kueue_converts_get_the_conversion_stanza():
    def crd(plural: str) -> ApiObject:
        versions: list[ApiObject] = [{}, {}]
        return {"metadata": {"name": f"{plural}.kueue.x-k8s.io"}, "spec": {"versions": versions}}

    for plural in ("resourceflavors", "workloadpriorityclasses", "topologies"):
        assert kueue_manager.with_conversion(crd(plural), 1) == crd(plural)
    conversion = kueue_manager.with_conversion(crd("workloads"), 9)["spec"]["conversion"]
    assert conversion["strategy"] == "Webhook"
    assert conversion["webhook"]["clientConfig"]["service"]["port"] == 9


def test_webhooks_lead_to_our_port_and_spare_the_system():
    def hook(name: str, group: str) -> dict[str, object]:
        service = {"name": "webhook-service", "namespace": "system", "path": f"/{name}"}
        return {
            "name": name,
            "clientConfig": {"service": service},
            "rules": [{"apiGroups": [group]}],
        }

    given = {
        "metadata": {"name": "x"},
        "webhooks": [hook("pod", ""), hook("queue", "kueue.x-k8s.io")],
    }
    made = kueue_manager.with_port(given, 9)
    assert made["metadata"]["name"] == "kueue-x"
    pod, queue = made["webhooks"]
    assert pod["clientConfig"]["service"] == {
        "name": "kueue-webhook-service",
        "namespace": "kueue-system",
        "port": 9,
        "path": "/pod",
    }
    assert pod["namespaceSelector"]["matchExpressions"][0]["values"] == [
        "kube-system",
        "kueue-system",
    ]
    assert "namespaceSelector" not in queue


def test_the_operators_own_crd_goes_before_a_stand_in(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("GPUYARD_UPSTREAM", raising=False)
    assert crds.cluster_policy(tools) == (crds.stand_in(), crds.STAND_IN_NOTE)
    own = crd("ClusterPolicy")
    shipped(tmp_path / "upstream" / "crds", crds.CLUSTER_POLICIES, own)
    shipped(tmp_path / "upstream" / "crds", ("gpu-operator", "others.yaml"), crd("GPUCluster"))
    monkeypatch.setenv("GPUYARD_UPSTREAM", str(tmp_path / "upstream"))
    assert crds.cluster_policy(tools) == (own, None)


def test_a_kind_that_nobody_defines_is_left_out_and_has_no_stand_in(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("GPUYARD_UPSTREAM", raising=False)
    assert crds.provisioning_request_crds(tools) == []
    own = crd("ProvisioningRequest")
    shipped(tmp_path / "upstream" / "crds", crds.PROVISIONING_REQUESTS, own)
    monkeypatch.setenv("GPUYARD_UPSTREAM", str(tmp_path / "upstream"))
    assert crds.provisioning_request_crds(tools) == [own]


def test_karpenters_kinds_have_stand_ins_where_nothing_defines_them(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("GPUYARD_UPSTREAM", raising=False)
    assert [each["metadata"]["name"] for each in crds.karpenter_crds(tools)] == [
        "ec2nodeclasses.karpenter.k8s.aws",
        "nodepools.karpenter.sh",
        "nodeclaims.karpenter.sh",
        "nodeoverlays.karpenter.sh",
    ]
    own = crd("EC2NodeClass")
    where = ("karpenter", "karpenter.k8s.aws_ec2nodeclasses.yaml")
    shipped(tmp_path / "upstream" / "crds", where, own)
    monkeypatch.setenv("GPUYARD_UPSTREAM", str(tmp_path / "upstream"))
    assert crds.karpenter_crds(tools)[0] == own


def test_what_lies_beside_the_programs_goes_before_the_folder_of_the_environment(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    project, file = crds.CLUSTER_POLICIES
    shipped(tmp_path / "upstream" / "crds", (project, file), crd("ClusterPolicy", "environment"))
    monkeypatch.setenv("GPUYARD_UPSTREAM", str(tmp_path / "upstream"))
    beside = crd("ClusterPolicy", "beside")
    folder = tools.share / project / "crds"
    folder.mkdir(parents=True)
    (folder / file).write_text(json.dumps(beside))
    assert crds.find_crd(tools, project, file) == beside


@pytest.mark.parametrize(
    ("manifest", "path"),
    [
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}, "/api/v1/nodes/a"),
        (
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}},
            "/api/v1/namespaces/b/secrets/a",
        ),
        (
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "a"},
            },
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a",
        ),
    ],
)
def test_paths(manifest: dict[str, object], path: str):
    assert path_of(manifest) == path


def test_kueues_certificates_are_kept_for_the_next_start(tools: Tools):
    made = dict.fromkeys(kueue_certificates.FILES, "eA==")
    assert kueue_certificates.load_certificates(tools) == {}
    kueue_certificates.store_certificates(tools, {"tls.crt": "eA=="})
    assert kueue_certificates.load_certificates(tools) == {}, "half a set is none"
    kueue_certificates.store_certificates(tools, made)
    assert kueue_certificates.load_certificates(tools) == made
    path = tools.bin.parent / "kueue-certificates.json"
    assert path.stat().st_mode & 0o077 == 0
    path.write_text("{")
    assert kueue_certificates.load_certificates(tools) == {}


def test_with_kept_certificates_everything_is_installed_complete(tools: Tools):
    webhook = {"metadata": {"name": "x"}, "webhooks": []}
    (tools.share / "kueue" / "webhooks").mkdir()
    (tools.share / "kueue" / "webhooks" / "manifests.yaml").write_text(json.dumps(webhook))
    version = {"schema": {"openAPIV3Schema": {}}}
    name = {"name": "workloads.kueue.x-k8s.io"}
    crd = {"metadata": name, "spec": {"versions": [version, version]}}
    (tools.share / "kueue" / "crds" / "a.yaml").write_text(json.dumps(crd))
    fresh = {
        item["kind"]: item
        for item in kueue_manager.supporting_objects(place(tools))
        if "kind" in item
    }
    assert "data" not in fresh["Secret"]
    kueue_certificates.store_certificates(tools, dict.fromkeys(kueue_certificates.FILES, "eA=="))
    again = {
        item["kind"]: item
        for item in kueue_manager.supporting_objects(place(tools))
        if "kind" in item
    }
    assert set(again["Secret"]["data"]) == kueue_certificates.FILES
    client = kueue_manager.crds(place(tools))[0]["spec"]["conversion"]["webhook"]["clientConfig"]
    assert client["caBundle"] == "eA=="


def test_kinds_of_services_exist_without_their_controllers():
    names = {crd["metadata"]["name"] for crd in crds.workload_crds()}
    assert names == {
        "scaledobjects.keda.sh",
        "leaderworkersets.leaderworkerset.x-k8s.io",
        "inferenceservices.serving.kserve.io",
    }
    assert {crd["spec"]["scope"] for crd in crds.workload_crds()} == {"Namespaced"}
