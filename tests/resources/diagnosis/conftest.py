"""What error hooks say and how long they wait, in a program whose engine knows hooks."""

import asyncio

import pulumi
import pytest

from gpuyard.resources.diagnosis import hooks
from gpuyard.resources.diagnosis.hooks import hooks_of
from gpuyard.resources.diagnosis.kubectl import Kubectl


@pytest.fixture
def said(monkeypatch):
    """What the program says and how long it waits."""
    found = {"info": [], "warn": [], "slept": []}

    async def sleep(seconds):
        found["slept"].append(seconds)

    monkeypatch.setattr(hooks, "monitor_supports_feature", lambda _: True)
    monkeypatch.setattr(pulumi, "ErrorHook", lambda _, callback: callback)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    for level in ("info", "warn"):
        monkeypatch.setattr(pulumi.log, level, found[level].append)
    return found


@pytest.fixture
def again(said):
    """Whether the program tries once more what has failed so."""

    def ask(args: pulumi.ErrorHookArgs) -> bool:
        (hook,) = hooks_of("lab", Kubectl(None, "blue"), set()).on_error
        return asyncio.run(hook(args))

    return ask
