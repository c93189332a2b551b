"""From any stack to any other and back: nothing is rendered that the next `up` cannot apply.

`GPUYARD_WALKS` says which stacks are walked through, one after the other; a campaign takes hundreds.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuyard.plan.records import PlatformPlan
from gpuyard_core.names import TEAM_LABEL
from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api, connect
from kit.cluster.lab import delete
from kit.cluster.walks import Walker
from kit.generated.stacks import NAME, stack
from kit.searches import numbers
from kit.stacks import plan_of, platform, pool, team

pytestmark = [pytest.mark.cluster]
WALKS = numbers(os.environ.get("GPUYARD_WALKS") or "4")


@pytest.fixture(scope="module")
def kept(started: cluster.Outcome) -> Iterator[None]:
    """Namespaces stay from walk to walk, and go in the end."""
    yield
    api = connect(Path(started.status.kubeconfig))
    teams = f"/api/v1/namespaces?labelSelector=gpuyard.dev/platform={NAME},{TEAM_LABEL}"
    for each in api.call("GET", teams)["items"]:
        delete(api, f"/api/v1/namespaces/{each['metadata']['name']}")


@pytest.fixture
def walker(started: cluster.Outcome, api: Api, kept: None) -> Iterator[Walker]:
    """Nothing deployed, and nothing that refuses to go in the end."""
    one = Walker.on(Path(started.status.kubeconfig))
    yield one
    assert one.up(None) == []


def guaranteed(gpus: int, **rest: object) -> PlatformPlan:
    """16 GPUs, of which one team is guaranteed so many."""
    teams = [team("walker", guarantee={"train": gpus})]
    return plan_of(platform([pool(nodes=2)], teams, name=NAME, **rest))


PLAIN = {"queueing": {"fair_sharing": False}}


@pytest.mark.parametrize("rest", [{}, PLAIN], ids=["fair", "plain"])
def test_a_guarantee_takes_the_last_gpu_and_gives_it_back(walker: Walker, rest: dict[str, object]):
    """The cohort's quota goes from something to nothing and back, made with either."""
    for gpus in (8, 16, 8, 16):
        assert walker.up(guaranteed(gpus, **rest)) == []
    assert walker.up(None) == []
    for gpus in (16, 8):
        assert walker.up(guaranteed(gpus, **rest)) == []


@pytest.mark.timeout(7200)
def test_from_any_stack_to_any_other_and_back(walker: Walker):
    refused = {}
    for number in WALKS:
        for which in (number, number + 1, number):
            if said := walker.up(stack(which)):
                refused[number, which] = said
    assert refused == {}
