"""What `explain` says is what a real Kueue and a real scheduler then do, on made-up platforms.

`GPUYARD_REALITY=20:60` compares the platforms of these numbers instead of the few of every run.
"""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from gpuyard_simulate import cluster
from gpuyard_simulate.api import Api
from kit.cluster import lab as reality
from kit.cluster.queues import kueue_as_rendered
from kit.generated.small_platforms import small_platform

pytestmark = [pytest.mark.cluster]

JOBS = 7
FEW = (340, 255)
"""Platforms on which jobs run, wait, find no node, are refused, and evict others."""
FEW_TREES = (4, 19)
"""Trees of cohorts on which limits bind, and jobs are evicted across cohorts."""
FEW_UNFAIR_TREES = (4,)


def numbers(few: tuple[int, ...]) -> list[int]:
    first, _, last = os.environ.get("GPUYARD_REALITY", "").partition(":")
    return list(range(int(first), int(last))) if last else list(few)


@pytest.fixture(scope="module", params=[True, False], ids=["fair", "first-come"])
def configured(
    request: pytest.FixtureRequest, started: cluster.Outcome
) -> Iterator[tuple[Api, bool]]:
    """The cluster with Kueue set up as a platform sets it up, with and without fair sharing."""
    fair: bool = request.param
    raw = small_platform(FEW[0], fair=fair)
    with kueue_as_rendered(started.status.name, raw) as api:
        yield api, fair


def compared(api: Api, few: tuple[int, ...], *, fair: bool, tree: bool) -> Counter[str]:
    """What was seen, how often; fails when anything else was said."""
    wrong: list[str] = []
    seen: Counter[str] = Counter()
    for number in numbers(few):
        for job, _, found, why in reality.compare(api, number, JOBS, fair=fair, tree=tree):
            seen[found.what] += 1
            seen["evicts"] += bool(found.evicted)
            if why:
                wrong.append(f"platform {number}, {job['kind']} {job['metadata']['name']}: {why}")
    assert wrong == []
    print(dict(seen))  # noqa: T201  the figures of a longer run
    return seen


def test_what_is_said_is_what_happens(configured: tuple[Api, bool]):
    api, fair = configured
    if not fair and numbers(FEW) == list(FEW):
        pytest.skip("a longer run alone compares these without fair sharing")
    seen = compared(api, FEW, fair=fair, tree=False)
    assert all(seen[what] for what in ("runs", "waits", "stuck", "refused", "evicts")), seen


def test_what_is_said_of_a_tree_of_cohorts_is_what_happens(configured: tuple[Api, bool]):
    api, fair = configured
    few = FEW_TREES if fair else FEW_UNFAIR_TREES
    seen = compared(api, few, fair=fair, tree=True)
    assert all(seen[what] for what in ("runs", "waits")), seen
