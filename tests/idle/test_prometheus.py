"""What a real Prometheus answers to the questions of idle reclaim.

promtool puts measurements into a database as dcgm-exporter would have made them every 15 seconds, and a
Prometheus serves it. What scraping itself does, such as staleness marks, is not in it.
"""

import itertools
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpuyard_agents.agent import read_settings
from gpuyard_agents.client import JsonClient, RequestRejected
from gpuyard_agents.idle.measure import Reading, readings
from gpuyard_agents.idle.run import ReclaimRun
from gpuyard_agents.idle.settings import Settings
from kit.cluster import idle
from kit.levels import require_level

pytestmark = [pytest.mark.engine]

TOOLS = Path(__file__).resolve().parents[2] / ".testbed" / "bin"
MINUTES, EVERY = 60, 15
"""The window, and the seconds between two measurements."""
Value = Callable[[float], float | None]
"""What is measured so many minutes before now; None: nothing is."""


# ── measurements ──────────────────────────────────────────────────────────────────────────────────
def always(value: float) -> Value:
    return lambda _: value


def but(value: float, between: tuple[float, float], otherwise: float | None = 0.0) -> Value:
    """Another value in a part of the time; its ends belong to it."""
    first, last = max(between), min(between)
    return lambda ago: value if last <= ago <= first else otherwise


def absent(first: float, last: float) -> Value:
    """Nothing in a part of the time, idle otherwise."""
    return lambda ago: None if last <= ago <= first else 0.0


class Text:
    """Everything that was measured, as OpenMetrics: all lines of one measurement together."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {idle.ENGINE: [], idle.UTIL: []}
        self._number = itertools.count()

    def gpu(
        self,
        pod: str,
        value: Value,
        *,
        metric: str = idle.ENGINE,
        namespace: str = idle.NAMESPACE,
        exporter: str = "a",
        **labels: str,
    ) -> None:
        """One GPU, slice or share of a pod, for two hours."""
        said = {
            "UUID": f"GPU-{next(self._number)}",
            **labels,
            "instance": f"10.0.0.{exporter}:9400",
            "pod": f"dcgm-exporter-{exporter}",
            "namespace": "gpu-operator",
            "exported_namespace": namespace,
            "exported_pod": pod,
        }
        head = f"{metric}{{{','.join(f'{k}={json.dumps(v)}' for k, v in said.items())}}}"
        for seconds in range(7200, -1, -EVERY):
            if (found := value(seconds / 60)) is not None:
                at = idle.NOW.timestamp() - seconds
                self.lines[metric].append(f"{head} {found} {at:.0f}")

    def node(self, pod: str, *values: Value, **more: Any) -> None:
        """Eight GPUs; those of which nothing is said are idle."""
        for value in (*values, *[always(0.0)] * (8 - len(values))):
            self.gpu(pod, value, **more)

    def __str__(self) -> str:
        parts = [
            line
            for metric, lines in self.lines.items()
            for line in (f"# TYPE {metric} gauge", *lines)
        ]
        return "\n".join([*parts, "# EOF", ""])


def everything() -> str:
    """All pods of this file's tests: one database is enough for them."""
    text = Text()
    text.node("idle")
    text.node("busy", always(0.9))
    text.node("once", but(0.9, (59, 59)))
    text.node("before", but(0.9, (61, 60.25)))
    text.node("gap", absent(40, 20))
    text.node("hiccup", absent(40, 38))
    text.node("new", *[lambda ago: 0.0 if ago < 30 else None] * 8)
    # its exporter was replaced: the same GPUs under another address
    for uuid in range(8):
        text.gpu("replaced", but(0.0, (120, 30), None), UUID=f"GPU-r{uuid}")
        text.gpu("replaced", but(0.0, (29.75, 0), None), UUID=f"GPU-r{uuid}", exporter="b")
    for number in range(7):
        text.gpu("slices", always(0.01), UUID="GPU-cut", GPU_I_ID=str(number))
    for number in range(4):
        text.gpu("shares", always(0.02), UUID="GPU-shared", vgpu=str(number))
    text.node("other", metric=idle.UTIL)
    text.node("both")
    text.node("both", always(60.0), metric=idle.UTIL)
    text.node("unknown", *[always(float("nan"))] * 8)
    text.node("partly", always(float("nan")))
    text.node("a.b")
    text.node("axb", always(1.0))
    text.node("idle-0", always(1.0))
    text.node("idle", always(1.0), namespace="speech")
    return str(text)


# ── the server ────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Blocks of a database with all measurements."""
    lacking = [name for name in ("prometheus", "promtool") if not os.access(TOOLS / name, os.X_OK)]
    why = f"no {', '.join(lacking)} in {TOOLS}; `scripts/tools prometheus` builds them"
    require_level("engine", not lacking, why)
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "measured").write_text(everything(), encoding="utf-8")
    command = [TOOLS / "promtool", "tsdb", "create-blocks-from", "openmetrics"]
    done = subprocess.run(
        [*command, folder / "measured", folder / "data"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[str]:
    """The address of a Prometheus with this database, which scrapes nothing."""
    (folder / "prometheus.yml").write_text("{}", encoding="utf-8")
    log = folder / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [
                TOOLS / "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--storage.tsdb.retention.time=100y",
                "--web.listen-address=127.0.0.1:0",
                *flags,
            ],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        process.wait(30)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        text = log.read_text(encoding="utf-8")
        found = re.search(r'msg="Listening on".* address=(\S+)', text)
        if found and "ready to receive web requests" in text:
            return f"http://{found[1]}"
        time.sleep(0.05)
    raise AssertionError(log.read_text(encoding="utf-8")[-3000:])


@pytest.fixture(scope="module")
def prometheus(database: Path) -> Iterator[str]:
    with serving(database) as address:
        yield address


def known(address: str, *pods: str, minutes: int = MINUTES) -> dict[str, Reading]:
    """What the program learns of these pods."""
    settings = read_settings(Settings, json.dumps(idle.settings(prometheus=address)))
    with closing(JsonClient(address)) as server:
        return readings(server, settings, idle.NAMESPACE, pods, minutes, idle.NOW)


# ── tests ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("pod", "percent", "devices"),
    [
        pytest.param("idle", 0, 8, id="nothing was done, and all of it was seen"),
        pytest.param("busy", 90, 8, id="one GPU of eight is enough"),
        pytest.param("once", 90, 8, id="one measurement of the window is enough"),
        pytest.param("before", 0, 8, id="what was before the window does not count"),
        pytest.param("gap", 0, 7, id="who was away for a third of it was not seen"),
        pytest.param("hiccup", 0, 8, id="a scrape may fail"),
        pytest.param("new", 0, 0, id="half of the window is not the window"),
        pytest.param("replaced", 0, 8, id="a GPU is the same whoever exports it"),
        pytest.param("slices", 1, 7, id="slices of one GPU are told apart"),
        pytest.param("shares", 2, 4, id="shares of one GPU are told apart"),
        pytest.param("other", 0, 8, id="a GPU without profiling has the other measurement"),
        pytest.param("both", 60, 8, id="either measurement says busy"),
        pytest.param("partly", 0, 8, id="no number beside numbers is passed over"),
        pytest.param("a.b", 0, 8, id="a dot is a dot"),
    ],
)
def test_what_is_known_of_a_pod(prometheus: str, pod: str, percent: float, devices: int):
    assert known(prometheus, pod) == {pod: Reading(percent, devices)}


def test_of_many_pods_each_has_its_own_answer(prometheus: str):
    found = known(prometheus, *(f"nobody-{n}" for n in range(250)), "idle", "busy", "slices")
    assert {pod: (r.percent, r.devices) for pod, r in found.items()} == {
        "idle": (0, 8),
        "busy": (90, 8),
        "slices": (1, 7),
    }


def test_nothing_is_known_of_who_was_not_measured_or_not_in_numbers(prometheus: str):
    assert known(prometheus, "nobody", "unknown") == {}


def test_a_longer_window_than_there_are_measurements_is_not_covered(prometheus: str):
    assert known(prometheus, "idle", minutes=119)["idle"].devices == 8
    assert known(prometheus, "idle", minutes=180)["idle"] == Reading(0, 0)


def test_too_much_at_once_is_an_error_and_not_an_answer(database: Path, prometheus: str):
    """As where `query.max-samples` is lower than usual: nobody is called idle for it."""
    with (
        serving(database, "--query.max-samples=100", "--storage.tsdb.no-lockfile") as small,
        pytest.raises(RequestRejected, match=r"422: .*too many samples"),
    ):
        known(small, "idle")


def test_the_stand_in_of_other_tests_answers_as_the_real_one(prometheus: str):
    world = idle.World()
    world.measure("idle", *[0.0] * 8)
    world.measure("busy", 90.0, *[0.0] * 7)
    world.measure("gap", *[0.0] * 7)
    world.gpus[idle.ENGINE]["gap"].append((0.0, 45))
    world.measure("new", *[0.0] * 8, seen=30)
    world.measure("other", *[0.0] * 8, metric=idle.UTIL)
    pods = ("idle", "busy", "gap", "new", "other", "nobody")
    with idle.served(world) as address:
        assert known(address, *pods) == known(prometheus, *pods)


def test_a_whole_look_warns_who_is_idle_and_no_one_else(prometheus: str):
    world = idle.World()
    for name in ("idle", "busy", "gap", "replaced"):
        world.run_job(name, busy=None)
        world.one("pods", -1)["metadata"]["name"] = name
    with idle.served(world) as address:
        settings = read_settings(Settings, json.dumps(idle.settings(prometheus=prometheus)))
        with closing(JsonClient(address)) as server, closing(JsonClient(prometheus)) as real:
            line = (
                ReclaimRun(settings, server, real, idle.NOW, lambda _: None).run_all_teams().line()
            )
    assert (line["states"], line["steps"]) == (
        {"idle": 2, "busy": 1, "unmeasured": 1},
        {"warn": 2},
    )
    assert sorted(name for name, _ in world.said) == ["idle", "replaced"]
