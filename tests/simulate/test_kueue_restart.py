"""Kueue is restarted when its configuration has changed and its queues no longer change."""

import threading
from typing import Any

import pytest

from gpuyard_core.errors import EnvironmentMissing
from gpuyard_simulate.agents import kueue_restart as module
from gpuyard_simulate.agents.kueue_restart import KueueRestart
from gpuyard_simulate.api import ApiError, Unreachable

MAP = "kueue-manager-config"


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    one = Clock()
    monkeypatch.setattr(module, "time", one)
    return one


class Api:
    """Queues that are made until a moment."""

    def __init__(self, clock: Clock, until: float = 0.0, fails: Exception | None = None) -> None:
        self.clock, self.until, self.fails = clock, until, fails

    def call(self, _method: str, path: str) -> Any:
        if self.fails:
            problem, self.fails = self.fails, None
            raise problem
        made = range(int(min(self.clock.now, self.until)))
        return {"items": [{"metadata": {"uid": f"{path}{i}", "generation": 1}} for i in made]}


def restart(api: Api, renew: Any = lambda: True) -> tuple[KueueRestart, list[str]]:
    said: list[str] = []
    return KueueRestart(api, renew, said.append), said  # type: ignore[arg-type]


def test_it_waits_until_queues_have_been_made_and_a_while_longer(clock: Clock):
    one, said = restart(Api(clock, until=20))
    one.once()
    assert clock.now == 20 + module.QUIET_SECONDS
    assert said == ["kueue: the configuration changed; restarted"]


def test_the_same_configuration_is_none_to_speak_of(clock: Clock):
    one, said = restart(Api(clock), lambda: False)
    one.once()
    assert said == []


@pytest.mark.parametrize(
    "problem",
    [ApiError(500, "busy"), Unreachable("away"), EnvironmentMissing("no tools"), OSError("x")],
)
def test_what_fails_is_tried_again(clock: Clock, problem: Exception):
    one, said = restart(Api(clock, fails=problem))
    one.once()
    assert said == [f"kueue: again in 5 s: {problem}"]
    assert one._changed.is_set()


@pytest.mark.parametrize(("name", "looks"), [(None, True), (MAP, True), ("another", False)])
def test_only_its_own_configuration_is_looked_at(clock: Clock, name: str | None, looks: bool):
    one, _ = restart(Api(clock))
    one._notice(name)
    assert one._changed.is_set() is looks


def test_a_change_ends_in_a_restart_in_a_thread_of_its_own(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    renewed = threading.Event()

    def renew() -> bool:
        renewed.set()
        return True

    one, _ = restart(Api(clock), renew)
    monkeypatch.setattr(one._maps, "start", lambda: one._notice(MAP))
    one.start()
    assert renewed.wait(60)
