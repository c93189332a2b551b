"""What `explain` says is what a real Kueue and a real scheduler then do, on made-up platforms.

`GPUYARD_REALITY=20:60` compares the platforms of these numbers instead of the few of every run.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import reality
from builders import plan_of
from gpuyard.render.kueue_configuration import kueue_configuration_object
from gpuyard.simulate import cluster, kueue_manager
from gpuyard.simulate.api import Api, connect

pytestmark = [pytest.mark.cluster]

JOBS = 7
FEW = (340, 255)
"""Platforms on which jobs run, wait, find no node, are refused, and evict others."""


def numbers() -> list[int]:
    first, _, last = os.environ.get("GPUYARD_REALITY", "").partition(":")
    return list(range(int(first), int(last))) if last else list(FEW)


@pytest.fixture(scope="module")
def configured(started: cluster.Outcome) -> Iterator[Api]:
    """The cluster with Kueue set up as a platform sets it up."""
    cluster.up(started.status.name)
    api = connect(Path(started.status.kubeconfig))
    plan = plan_of(reality.small_platform(FEW[0], fair=True))
    config = kueue_configuration_object(plan)
    kept = {k: v for k, v in config["metadata"].items() if k in {"name", "namespace"}}
    reality.apply(api, {**config, "metadata": kept})
    cluster.up(started.status.name)
    yield api
    api.call("DELETE", kueue_manager.CONFIG_MAP)
    cluster.up(started.status.name)


@pytest.mark.timeout(600)
def test_what_is_said_is_what_happens(configured: Api):
    wrong: list[str] = []
    seen: Counter[str] = Counter()
    for number in numbers():
        for job, _, found, why in reality.compare(configured, number, JOBS, fair=True):
            seen[found.what] += 1
            seen["evicts"] += bool(found.evicted)
            if why:
                wrong.append(f"platform {number}, {job['kind']} {job['metadata']['name']}: {why}")
    assert wrong == []
    assert all(seen[what] for what in ("runs", "waits", "stuck", "refused", "evicts")), seen
    print(dict(seen))  # noqa: T201  the figures of a longer run
