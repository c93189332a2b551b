"""A check stays quick however large the platform is: in lines that are run, whoever else is at work."""

import importlib.util
import json
import string
import sys
import time

import pytest

import sizes
from gpuyard.plan import plan
from kit.stacks import platform, pool, shape, spec_of, team

SLIPS = str.maketrans("", "", string.ascii_letters + "-")
"""Takes the letters from the name of a pool, and leaves its number."""


@pytest.fixture(scope="module")
def bench():
    """The benchmark, whose platforms and clocks these are."""
    path = sizes.ROOT / "benchmarks" / "check_scale.py"
    found = importlib.util.spec_from_file_location("check_scale", path)
    module = importlib.util.module_from_spec(found)
    sys.modules["check_scale"] = module
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("pools", "teams"), [(1, 1), (3, 7), (200, 100)])
def test_the_large_platforms_are_sound_ones(bench, pools, teams):
    found, findings = plan(spec_of(bench.large_platform(pools, teams)))
    assert found is not None, [str(f) for f in findings]
    assert (len(found.pools), len(found.teams)) == (pools, teams)


@pytest.mark.timed
@pytest.mark.timeout(600)
def test_two_hundred_pools_and_a_hundred_teams_are_checked_at_once(bench):
    """From cold in starts of Python, by turns: a busy machine lengthens both. The benchmark holds seconds."""
    assert bench.work_lines(bench.POOLS, bench.TEAMS) < bench.LINES
    size = bench.POOLS, bench.TEAMS
    rounds = [(bench.cold_seconds(*size, 0), bench.bare_seconds(0)) for _ in "1234"]
    cold, bare = (min(each) for each in zip(*rounds, strict=True))
    assert cold < bench.BARE * bare


@pytest.mark.timed
@pytest.mark.timeout(600)
def test_four_times_the_pools_or_ten_times_the_teams_cost_no_more_than_their_number(bench):
    small, large, crowded = (bench.work_lines(*size) for size in ((100, 50), (400, 50), (400, 500)))
    assert large < bench.LINES_GROW * small
    assert crowded < bench.LINES_GROW * large


@pytest.mark.timed
@pytest.mark.timeout(600)
def test_a_thousand_slips_among_a_thousand_pools_are_named_in_bounded_time_and_space(
    gpuyard, write
):
    pools = [pool(f"pool-{i}") for i in range(1000)]
    teams = [team(f"t{i}", guarantee={f"pol-{i}": 1, f"poolx-{i}": 1}) for i in range(1000)]
    shapes = [shape(f"s{i}", pool=f"pool{i}", gpus_per_node=1) for i in range(1000)]
    path = write(
        json.dumps({"config": {"gpuyard:platform": platform(pools, teams, shapes=shapes)}})
    )
    started = time.process_time()
    ended = gpuyard("check", path, "--format", "json")
    # cores that others use make CPU time up to three times as long
    assert time.process_time() - started < 20
    found = json.loads(ended.out)["findings"]
    assert len(found) == 3000
    assert max(len(f["allowed"]) for f in found) < 300
    wanted = {f["given"].translate(SLIPS): f["fix"]["message"].split()[-1] for f in found}
    assert {k: v for k, v in wanted.items() if v != f"pool-{k}"} == {}
