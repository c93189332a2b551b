"""Up, mend, side by side, down: the processes and files of a simulated cluster."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_core.names import KUEUE_CONFIG_KEY, KUEUE_CONFIGMAP, KUEUE_NAMESPACE
from gpuyard_simulate import cluster, processes, state
from gpuyard_simulate.api import Api, connect
from gpuyard_simulate.parts import PARTS
from kit.cluster.lab import slack
from kit.cluster.queues import kill

pytestmark = [pytest.mark.cluster]

MOST_MIB = 900
MOST_SECONDS_TO_READY = 15
MOST_SECONDS_UNCHANGED = 1
NAMES = [part.name for part in PARTS]


def name_of(started: cluster.Outcome) -> str:
    return started.status.name


def pids(found: cluster.Status) -> dict[str, int | None]:
    return {part.name: part.pid for part in found.parts if part.alive is not None}


def test_a_new_cluster_is_ready_within_its_time(
    first_start: tuple[cluster.Outcome, float],
):
    started, slack_then = first_start
    assert started.status.ready
    assert started.says.startswith(f"cluster {name_of(started)} is up after ")
    assert [part.name for part in started.status.parts if part.alive] == NAMES
    assert started.seconds <= MOST_SECONDS_TO_READY * slack_then


def test_up_on_a_running_cluster_changes_nothing_and_says_so(api: Api, started: cluster.Outcome):
    before = cluster.status(name_of(started))
    looks = [cluster.up(name_of(started)) for _ in range(3)]
    for again in looks:
        assert not again.changed
        assert again.says == f"cluster {name_of(started)} is already up; nothing changed"
        assert pids(again.status) == pids(before)
    quickest = min(again.seconds for again in looks)  # a hiccup of the machine is not a slow `up`
    assert quickest < MOST_SECONDS_UNCHANGED * slack()


@pytest.mark.parametrize("part", NAMES)
def test_a_killed_part_is_reported_and_mended(part: str, api: Api, started: cluster.Outcome):
    name = name_of(started)
    kept = {"metadata": {"name": f"kept-{part}", "namespace": "default"}}
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", **kept})
    before = pids(cluster.status(name))
    kill(name, part)
    broken = cluster.status(name)
    assert not broken.ready
    assert [p.state for p in broken.parts if p.name == part] == ["dead"]
    mended = cluster.up(name)
    assert mended.status.ready
    assert mended.says == f"repaired cluster {name}: started {part}"
    after = pids(mended.status)
    assert after.pop(part) != before.pop(part)
    assert after == before, "parts that ran were left alone"
    assert api.get(f"/api/v1/namespaces/default/configmaps/kept-{part}"), "nothing stored is lost"


def test_kueue_is_started_anew_whoever_changes_its_configuration(
    api: Api, started: cluster.Outcome, until: Callable[..., Any]
):
    """As a chart's checksum rolls its pods: `pulumi up` is enough, no second command is needed."""
    name = name_of(started)
    before = pids(cluster.status(name))
    with kueue_configured(api):
        after = until(lambda: cluster.status(name), lambda now: pids(now) != before and now.ready)
        assert {part for part, pid in pids(after).items() if pid != before[part]} == {"kueue"}
        text = (state.folder_of(name).path / "kueue" / "configuration.yaml").read_text()
        assert "manageJobsWithoutQueueName: true" in text
        again = cluster.up(name)
        assert again.says == f"cluster {name} is already up; nothing changed"
    until(lambda: pids(cluster.status(name)), lambda now: now["kueue"] != pids(after)["kueue"])
    until(lambda: cluster.status(name).ready)


@contextmanager
def kueue_configured(api: Api) -> Iterator[None]:
    """A platform's own configuration, which goes with it."""
    configuration = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
    configuration += "manageJobsWithoutQueueName: true\n"
    metadata = {"name": KUEUE_CONFIGMAP, "namespace": KUEUE_NAMESPACE}
    data = {KUEUE_CONFIG_KEY: configuration}
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    try:
        yield
    finally:
        api.call("DELETE", f"/api/v1/namespaces/{KUEUE_NAMESPACE}/configmaps/{KUEUE_CONFIGMAP}")


def test_a_process_without_a_record_is_replaced(api: Api, started: cluster.Outcome):
    """As after a `kill -9` of `up` between starting a part and writing its record."""
    folder = state.folder_of(name_of(started))
    lost = folder.read_process("kwok")
    assert lost
    (folder.path / "parts" / "kwok.json").unlink()
    assert cluster.up(folder.name).status.ready
    assert not lost.alive
    assert folder.read_process("kwok") != lost


def test_two_clusters_stand_side_by_side_and_one_goes_without_the_other(
    api: Api, started: cluster.Outcome, monkeypatch: pytest.MonkeyPatch
):
    """The second one in the memory that a cluster has by default."""
    first, second = name_of(started), f"{name_of(started)}-second"
    monkeypatch.delenv("GOGC")
    other = cluster.up(second)
    assert other.status.ready
    assert 0 < other.status.rss_mib <= MOST_MIB
    mine, theirs = (state.folder_of(name).settings() for name in (first, second))
    assert mine
    assert theirs
    assert not set(mine.ports.values()) & set(theirs.ports.values())
    connect(Path(other.status.kubeconfig)).apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "only-here"}}
    )
    assert api.get("/api/v1/namespaces/only-here") is None
    down_cleans_up(second, theirs, other.status)
    assert cluster.status(first).ready


def down_cleans_up(name: str, settings: state.ClusterSettings, status: cluster.Status) -> None:
    """`down` finds everything, also when parts were killed and all records are gone."""
    for part in ("etcd", "kueue"):
        os.kill(pids(status)[part] or 0, signal.SIGKILL)
    folder = state.folder_of(name)
    (folder.path / "cluster.json").unlink()
    for record in (folder.path / "parts").iterdir():
        record.unlink()
    assert cluster.down(name)
    assert not folder.path.exists()
    assert processes.marked_processes(f"{folder.path}:") == []
    for port in settings.ports.values():
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0, f"somebody still listens on {port}"
    assert not cluster.down(name), "a second down finds nothing"


def test_reset_empties_the_cluster_under_the_same_kubeconfig(api: Api, started: cluster.Outcome):
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a-team"}})
    before = Path(started.status.kubeconfig).read_bytes()
    assert cluster.reset(name_of(started)).status.ready
    assert api.get("/api/v1/namespaces/a-team") is None
    assert Path(started.status.kubeconfig).read_bytes() == before


def test_reset_of_a_cluster_that_is_not_there_says_how_to_start_it(sim_home: Path):
    with pytest.raises(
        EnvironmentMissing,
        match="simulated cluster nothing-here does not exist; run `python -m gpuyard_simulate up --name",
    ):
        cluster.reset("nothing-here")


def test_nobody_else_can_read_the_token(started: cluster.Outcome):
    folder = state.folder_of(name_of(started)).path
    for name in ("kubeconfig", "cluster.json", "pki/tokens.csv", "pki/service-accounts.key"):
        assert (folder / name).stat().st_mode & 0o077 == 0, name
