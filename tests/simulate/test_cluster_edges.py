"""Starting, mending and taking down when something goes wrong; parts are small programs."""

import base64
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_simulate import cluster, processes, state
from gpuyard_simulate.api import ApiError, Unreachable
from gpuyard_simulate.kueue import certificates as kueue_certificates
from gpuyard_simulate.kueue import manager as kueue_manager
from gpuyard_simulate.parts import PARTS, ClusterProcess, Place
from gpuyard_simulate.processes import Process
from gpuyard_simulate.tools import Tools
from kit.waiting import SHORTER

PORTS = {name: 20000 + number for number, name in enumerate(state.PORT_NAMES)}
SLEEPS = "import time; time.sleep(60)"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUYARD_SIM_HOME", str(tmp_path / "sim"))
    return tmp_path / "sim"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = state.folder_of("local")
    settings = state.ClusterSettings("token", PORTS)
    folder.write_settings(settings)
    return Place(folder, settings, Tools(tmp_path / ".testbed" / "bin"))


def part(name: str, code: str) -> ClusterProcess:
    return ClusterProcess(name, lambda _place: [sys.executable, "-c", code])


def ended(folder: state.Folder, name: str, code: str) -> None:
    """A part that was started and has ended."""
    process = processes.start(
        [sys.executable, "-c", code], mark=f"{folder.path}:{name}", log=folder.log(name)
    )
    folder.record(name, process)
    deadline = time.monotonic() + SHORTER
    while process.alive and time.monotonic() < deadline:
        processes.reap()
        time.sleep(0.01)
    assert not process.alive


class Answers:
    """An API server of answers by path; what is not listed is not there."""

    def __init__(self, **objects: Any) -> None:
        self.objects = objects
        self.raises: Exception | None = None
        self.sent: list[tuple[str, str]] = []

    def get(self, path: str) -> Any:
        if self.raises:
            raise self.raises
        return self.objects.get(path.rpartition("/")[2])

    def call(self, method: str, path: str, _body: object = None) -> Any:
        self.sent.append((method, path))
        if self.raises:
            raise self.raises
        return {}


# ── a part that does not start ──


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('reading'); print('bind: address already in use')", "bind: address already in use"),
        ("import sys; sys.exit('no such flag: --x')", "no such flag: --x"),
        ("", "no output"),
        ("print('x' * 1000)", "x" * 300),
        (r"import sys; sys.stdout.buffer.write(b'\xff bad\n\n\n')", "\ufffd bad"),
    ],
)
def test_a_part_that_ends_while_it_is_waited_for_says_its_last_words(code: str, words: str):
    folder = state.folder_of("local")
    ended(folder, "etcd", code)
    with pytest.raises(EnvironmentMissing) as caught:
        cluster._fail_if_dead(folder, "kube-apiserver", "etcd")
    assert str(caught.value) == (
        f"etcd ended while starting: {words}; see {folder.log('etcd')};"
        " run `python -m gpuyard_simulate down --name local`, then `up`, for a new cluster"
    )


def test_a_part_whose_log_is_gone_said_nothing():
    folder = state.folder_of("local")
    folder.record("etcd", Process(2**22 + 1, "boot:1"))
    with pytest.raises(EnvironmentMissing, match="etcd ended while starting: no output;"):
        cluster._fail_if_dead(folder, "etcd")


def test_waiting_goes_on_for_parts_that_run_or_were_never_started():
    folder = state.folder_of("local")
    folder.record("etcd", Process(os.getpid(), processes.start_of(os.getpid()) or ""))
    assert cluster._fail_if_dead(folder, "etcd", "kube-apiserver") is None


def test_an_api_server_that_ends_stops_the_wait_before_its_time(place: Place):
    ended(place.folder, "kube-apiserver", "print('no etcd')")
    began = time.monotonic()
    with pytest.raises(EnvironmentMissing, match="kube-apiserver ended while starting: no etcd;"):
        cluster._ready_api(place)
    assert time.monotonic() - began < cluster.START_SECONDS / 10


TOO_MUCH = (Unreachable("read timed out"), ApiError(500, "etcdserver: request timed out"))


class Busy:
    """An API server that answers the first of each request too late, or that it cannot."""

    def __init__(self, problem: Exception = TOO_MUCH[0]) -> None:
        self.asked: list[str] = []
        self.problem = problem

    def apply(self, manifest: Any) -> None:
        name = manifest["metadata"]["name"]
        self.asked.append(name)
        if self.asked.count(name) == 1:
            raise self.problem


@pytest.mark.parametrize("problem", TOO_MUCH)
def test_objects_are_sent_again_where_the_api_server_is_too_busy(problem: Exception):
    busy: Any = Busy(problem)
    objects = [{"metadata": {"name": name}} for name in ("a", "b")]
    cluster._apply_all(busy, state.folder_of("local"), objects)
    assert sorted(busy.asked) == ["a", "a", "b", "b"]


def test_what_is_refused_is_sent_once():
    busy: Any = Busy(ApiError(422, "no such field"))
    with pytest.raises(ApiError, match="422: no such field"):
        cluster._apply_all(busy, state.folder_of("local"), [{"metadata": {"name": "a"}}])
    assert busy.asked == ["a"]


def test_nothing_is_sent_again_to_an_api_server_that_has_ended(place: Place):
    ended(place.folder, "kube-apiserver", "print('no etcd')")
    busy: Any = Busy()
    with pytest.raises(EnvironmentMissing, match="kube-apiserver ended while starting: no etcd;"):
        cluster._apply_all(busy, place.folder, [{"metadata": {"name": "a"}}])
    assert busy.asked == ["a"]


def test_what_stays_too_busy_is_given_up_in_its_own_words(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cluster, "START_SECONDS", 0.0)
    with pytest.raises(Unreachable, match="read timed out"):
        cluster._apply_all(Busy(), state.folder_of("local"), [{"metadata": {"name": "a"}}])  # type: ignore[arg-type]


def test_an_api_server_that_never_answers_is_given_up_with_its_log(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cluster, "START_SECONDS", 0.0)
    monkeypatch.setattr(cluster, "connect", lambda _path: object())
    monkeypatch.setattr(cluster, "wait_until_ready", lambda _api, _seconds: False)
    certificate = place.folder.path / "pki" / "apiserver.crt"
    state.write_private(certificate, "certificate")
    with pytest.raises(EnvironmentMissing) as caught:
        cluster._ready_api(place)
    log = place.folder.log("kube-apiserver")
    assert str(caught.value) == f"the API server is not ready after 0 s; see {log}"
    assert place.folder.kubeconfig.exists()


def test_kueue_that_never_answers_is_given_up_with_its_log(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cluster, "START_SECONDS", -1.0)
    monkeypatch.setattr(kueue_manager, "is_listening", lambda _place: False)
    with pytest.raises(EnvironmentMissing, match=r"Kueue is not ready after .*/logs/kueue\.log"):
        cluster._finish_kueue(Answers(), place)  # type: ignore[arg-type]


@pytest.fixture
def running(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A cluster whose parts all run, as far as its folder records."""
    mine = Process(os.getpid(), processes.start_of(os.getpid()) or "")
    for one in PARTS:
        place.folder.record(one.name, mine)
    monkeypatch.setattr(cluster, "find_tools", lambda: place.tools)
    monkeypatch.setattr(cluster, "_start_missing", lambda _place, _say: [])
    return place


def test_what_is_up_without_answering_is_not_ready_and_says_so(
    running: Place, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as hasty:
        hasty.setattr(cluster, "START_SECONDS", 0.0)
        with pytest.raises(EnvironmentMissing, match="the API server or Kueue does not answer"):
            cluster.up("local")
    looks = iter([False, True])
    with monkeypatch.context() as slow:
        slow.setattr(cluster, "_answers", lambda _folder: next(looks))
        assert cluster.up("local").status.ready, "one look may miss what answers"
    running.folder.record("kwok", Process(2**22 + 1, "boot:1"))
    with pytest.raises(EnvironmentMissing, match=r"cluster local did not become ready \(kwok\)"):
        cluster.up("local")


@pytest.mark.usefixtures("running")
def test_a_cluster_belongs_to_the_first_checkout_that_deploys_to_it(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(cluster, "_answers", lambda _folder: True)
    assert cluster.up("local").status.checkout is None
    assert cluster.up("local", checkout=Path("/one")).status.checkout == "/one"
    assert cluster.up("local", checkout=Path("/one")).status.checkout == "/one"
    with pytest.raises(EnvironmentMissing, match="cluster local belongs to the checkout /one: "):
        cluster.up("local", checkout=Path("/two"))
    assert cluster.up("local").status.checkout == "/one"


# ── a port that somebody else was quicker to take ──

TAKEN = "print('listen tcp 127.0.0.1:20000: bind: address already in use')"


class Starts:
    """Starts of a new cluster, at the first of which a part ends with these words, or after them."""

    def __init__(self, folder: state.Folder, code: str, *, lost: int, at_once: bool = True) -> None:
        self.folder, self.code, self.lost, self.at_once = folder, code, lost, at_once
        self.settings: list[state.ClusterSettings | None] = []

    def __call__(self, _place: Place, _say: object) -> list[str]:
        self.settings.append(self.folder.settings())
        for one in PARTS:
            mine = Process(os.getpid(), processes.start_of(os.getpid()) or "")
            self.folder.record(one.name, mine)
        if len(self.settings) <= self.lost:
            ended(self.folder, "kwok", self.code)
            if self.at_once:
                cluster._fail_if_dead(self.folder, "kwok")
        return ["etcd"]


@pytest.fixture
def begun(place: Place, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Bring a new cluster up by such starts: what was said, the starts, and the outcome."""

    def run(code: str, **how: Any) -> tuple[list[str], Starts, cluster.Outcome]:
        said: list[str] = []
        starts = Starts(state.folder_of("new"), code, **how)
        monkeypatch.setattr(state, "is_free", lambda _port: True)
        monkeypatch.setattr(cluster, "find_tools", lambda: place.tools)
        monkeypatch.setattr(cluster, "_start_missing", starts)
        monkeypatch.setattr(cluster, "_answers", lambda _folder: True)
        monkeypatch.setattr(cluster, "_stop_all", lambda _folder: said.append("stopped"))
        return said, starts, cluster.up("new", said.append)

    return run


@pytest.mark.parametrize("at_once", [True, False], ids=["while it starts", "when all are started"])
def test_a_new_cluster_whose_port_was_taken_is_started_anew_with_others(begun: Any, at_once: bool):
    said, starts, outcome = begun(TAKEN, lost=2, at_once=at_once)
    again = "another process took a port of kwok; restarting with other ports"
    assert said == [again, "stopped"] * 2
    assert len({found.token for found in starts.settings if found}) == 3
    assert outcome.status.ready
    assert not starts.folder.log("kwok").exists(), "nothing of the starts before is left"


@pytest.mark.parametrize(("code", "tries"), [(TAKEN, cluster.STARTS), ("print('no etcd')", 1)])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_part_that_ends_each_time_or_for_another_reason_is_named(
    begun: Any, code: str, tries: int, at_once: bool
):
    with pytest.raises(
        EnvironmentMissing, match=r"kwok ended while starting|become ready \(kwok\)"
    ):
        begun(code, lost=tries, at_once=at_once)
    assert state.folder_of("new").settings()


# ── status and down ──


def test_the_status_tells_a_dead_part_from_one_that_was_never_started(place: Place):
    mine = Process(os.getpid(), processes.start_of(os.getpid()) or "")
    place.folder.record("etcd", mine)
    place.folder.record("kwok", Process(mine.pid, "of an earlier boot:1"))
    found = {one.name: one for one in cluster.status("local").parts}
    assert (found["etcd"].state, found["etcd"].port) == ("running", PORTS["etcd"])
    assert found["etcd"].rss_mib > 5
    assert (found["kwok"].state, found["kwok"].alive, found["kwok"].rss_mib) == ("dead", False, 0)
    assert (found["kueue"].state, found["kueue"].pid) == ("not started", None)


def test_the_note_about_the_operators_kind_is_a_part_without_a_process(place: Place):
    (place.folder.path / "cluster-policy").write_text("a stand-in\n", encoding="utf-8")
    note = cluster.status("local").parts[-1]
    assert (note.name, note.alive, note.state) == ("cluster-policy", None, "a stand-in")


def test_down_ends_what_no_record_knows_and_leaves_other_clusters_alone(tmp_path: Path):
    folders = [state.folder_of(name) for name in ("local", "local-2")]
    ours, other = (
        processes.start(
            [sys.executable, "-c", SLEEPS],
            mark=f"{folder.path}:etcd",
            log=tmp_path / folder.name / "logs" / "etcd.log",
        )
        for folder in folders
    )
    try:
        deadline = time.monotonic() + SHORTER
        while not processes.marked_processes(f"{folders[0].path}:") and time.monotonic() < deadline:
            time.sleep(0.01)
        assert cluster.down("local") is True
        assert (ours.alive, other.alive) == (False, True)
        assert cluster.down("local") is False
    finally:
        processes.stop([ours, other])


def test_an_unrecorded_process_is_stopped_before_its_part_is_started_again(place: Place):
    stray, known = (
        processes.start(
            [sys.executable, "-c", SLEEPS],
            mark=f"{place.folder.path}:{name}",
            log=place.folder.log(name),
        )
        for name in ("etcd", "kwok")
    )
    place.folder.record("kwok", known)
    try:
        deadline = time.monotonic() + SHORTER
        while (
            len(processes.marked_processes(f"{place.folder.path}:")) < 2
            and time.monotonic() < deadline
        ):
            time.sleep(0.01)
        cluster._stop_unrecorded(place)
        assert (stray.alive, known.alive) == (False, True)
    finally:
        processes.stop([stray, known])


def test_a_started_part_is_announced_marked_and_recorded(place: Place):
    said: list[str] = []
    cluster._start(place, part("etcd", SLEEPS), said.append)
    process = place.folder.read_process("etcd")
    assert process is not None
    try:
        assert said == ["starting etcd"]
        assert process.alive
        assert cluster._runs(place.folder, part("etcd", ""))
    finally:
        processes.stop([process])
    assert not cluster._runs(place.folder, part("etcd", ""))


def test_a_cluster_that_is_not_there_cannot_be_emptied(home: Path):
    with pytest.raises(
        EnvironmentMissing,
        match="simulated cluster demo does not exist; run `python -m gpuyard_simulate",
    ):
        cluster.reset("demo")
    assert not home.exists()


# ── processes ──


def test_variables_of_a_part_reach_it_beside_its_mark(tmp_path: Path):
    log = tmp_path / "logs" / "env.log"
    code = "import os; print(os.environ['GOGC'], os.environ['GPUYARD_SIM_PART'], os.getcwd())"
    process = processes.start(
        [sys.executable, "-c", code], mark="m:env", log=log, env={"GOGC": "50"}
    )
    processes._wait_for_end([process], SHORTER)
    assert log.read_text().split() == ["50", "m:env", str(tmp_path)]


def test_a_log_is_continued_over_restarts(tmp_path: Path):
    log = tmp_path / "logs" / "a.log"
    for word in ("first", "second"):
        process = processes.start([sys.executable, "-c", f"print('{word}')"], mark="m:a", log=log)
        assert processes._wait_for_end([process], SHORTER) == []
    assert log.read_text() == "first\nsecond\n"


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ("7 (a) b) R 1 " + "0 " * 15 + "1 0 4242 0", "4242"),
        ("7 (etcd) S 1 " + "0 " * 15 + "9 0 4242 0", "4242"),
        ("7 (etcd) Z 1 " + "0 " * 15 + "1 0 4242 0", None),
        ("7 (etcd) Z 1 " + "0 " * 15 + "4 0 4242 0", "4242"),
        ("7 (etcd) X 1 " + "0 " * 15 + "0 0 4242 0", None),
    ],
    ids=["odd name", "threads", "zombie", "zombie whose threads still end", "dead"],
)
def test_the_start_is_read_whatever_the_name_and_a_zombie_is_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, started: str | None
):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text(text)
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    assert processes.start_of(7) == (started and f"boot:{started}")


def test_memory_is_told_in_mib_and_a_kernel_thread_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "7").mkdir()
    monkeypatch.setattr(processes, "_PROC", tmp_path)
    (tmp_path / "7" / "status").write_text("Name:\tx\nVmRSS:\t   20480 kB\n")
    assert processes.rss_mib(7) == 20
    (tmp_path / "7" / "status").write_text("Name:\tkthreadd\n")
    assert processes.rss_mib(7) == 0


# ── state ──


def test_a_second_command_waits_for_the_first(place: Place):
    order: list[str] = []
    taken = threading.Event()

    def second() -> None:
        taken.wait()
        with state.locked(place.folder):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with state.locked(place.folder):
        taken.set()
        time.sleep(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_command_that_waited_for_a_down_gets_a_folder_that_is_there(place: Place):
    seen: list[bool] = []
    waiting = threading.Event()

    def second() -> None:
        waiting.set()
        with state.locked(place.folder):
            seen.append(place.folder.path.is_dir())

    with state.locked(place.folder):
        thread = threading.Thread(target=second)
        thread.start()
        waiting.wait()
        time.sleep(0.1)
        place.folder.remove()
    thread.join()
    assert seen == [True]


def test_a_file_is_written_whole_and_for_the_user_alone(tmp_path: Path):
    path = tmp_path / "new" / "secret"
    for text in ("first", "second"):
        state.write_private(path, text)
        assert path.read_text() == text
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    assert [one.name for one in path.parent.iterdir()] == ["secret"]


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_port_somebody_listens_on_is_not_free():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        assert state.is_free(port) is False
    assert state.is_free(port) is True


def test_removing_one_cluster_leaves_its_neighbour(home: Path):
    one, two = (state.folder_of(name) for name in ("one", "two"))
    for folder in (one, two):
        folder.write_settings(state.ClusterSettings("t", PORTS))
    one.remove()
    assert [path.name for path in home.iterdir()] == ["two"]
    assert two.settings() == state.ClusterSettings("t", PORTS)


# ── Kueue ──


def config_map(text: object) -> Answers:
    return Answers(**{"kueue-manager-config": {"data": {kueue_manager.CONFIG_KEY: text}}})


def test_without_a_platforms_configuration_ours_runs_with_what_can_be_queued(place: Place):
    made = yaml.safe_load(kueue_manager.wanted_configuration(Answers(), place))  # type: ignore[arg-type]
    kinds = {"batch/job", "pod", "trainer.kubeflow.org/trainjob", "ray.io/raycluster"}
    assert kinds < set(made["integrations"]["frameworks"])
    assert made["leaderElection"] == {"leaderElect": False}


def test_a_platforms_configuration_replaces_ours(place: Place):
    api = config_map("integrations: {frameworks: [pod]}\nhealth:\n")
    made = yaml.safe_load(kueue_manager.wanted_configuration(api, place))  # type: ignore[arg-type]
    assert made["integrations"] == {"frameworks": ["pod"]}
    assert "fairSharing" not in made
    assert made["health"] == {"healthProbeBindAddress": f"127.0.0.1:{PORTS['kueue-health']}"}


@pytest.mark.parametrize(
    "text", ["a: [", "just words", "- 1", "7", "webhook: everywhere", "metrics: [1]"]
)
def test_a_configuration_that_is_none_names_the_map_and_the_cure(place: Place, text: str):
    with pytest.raises(EnvironmentMissing) as caught:
        kueue_manager.wanted_configuration(config_map(text), place)  # type: ignore[arg-type]
    said = str(caught.value)
    assert said.startswith(
        "ConfigMap kueue-manager-config, key controller_manager_config.yaml, is not a Kueue"
    )
    assert said.endswith("fix or delete it and run `python -m gpuyard_simulate up` again")


def test_certificates_are_copied_as_soon_as_there_are_some_and_kept(place: Place):
    folder = place.folder.path / "kueue" / "certs"
    kueue_manager.copy_certificates(Answers(), place)  # type: ignore[arg-type]
    kueue_manager.copy_certificates(
        Answers(**{kueue_manager.SECRET: {"data": None}}),  # type: ignore[arg-type]
        place,
    )
    assert not folder.exists()
    data = {
        name: base64.b64encode(name.encode()).decode() for name in sorted(kueue_certificates.FILES)
    }
    api = Answers(**{kueue_manager.SECRET: {"data": data}})
    kueue_manager.copy_certificates(api, place)  # type: ignore[arg-type]
    assert {path.name: path.read_text() for path in folder.iterdir()} == {n: n for n in data}
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    assert kueue_certificates.load_certificates(place.tools) == data
    (folder / "tls.crt").write_text("of yesterday")
    kueue_manager.copy_certificates(api, place)  # type: ignore[arg-type]
    assert (folder / "tls.crt").read_text() == "tls.crt"


@pytest.mark.parametrize("problem", [ApiError(500, "no"), Unreachable("gone")])
def test_a_server_that_does_not_answer_costs_another_look_only(place: Place, problem: Exception):
    api = Answers()
    api.raises = problem
    kueue_manager.copy_certificates(api, place)  # type: ignore[arg-type]
    assert not (place.folder.path / "kueue").exists()
    assert kueue_manager.is_ready(api) is False  # type: ignore[arg-type]
    api.raises = None
    assert kueue_manager.is_ready(api) is True  # type: ignore[arg-type]
    assert api.sent[-1] == ("POST", "/apis/kueue.x-k8s.io/v1beta2/resourceflavors?dryRun=All")


def test_a_changed_configuration_is_written_once_and_reported(place: Place):
    api = Answers()
    assert cluster._prepare(api, place, installing=False) is True  # type: ignore[arg-type]
    assert cluster._prepare(api, place, installing=False) is False  # type: ignore[arg-type]
    path = kueue_manager.configuration_path(place)
    api = config_map(json.dumps({"fairSharing": None}))
    assert cluster._prepare(api, place, installing=False) is True  # type: ignore[arg-type]
    assert yaml.safe_load(path.read_text())["fairSharing"] is None
