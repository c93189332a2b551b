"""The pack adds little to a preview: beside the bare server, so that a slow machine changes nothing."""

import importlib.util
import sys

import pytest

import sizes


@pytest.fixture(scope="module")
def bench():
    path = sizes.ROOT / "benchmarks" / "pack.py"
    spec = importlib.util.spec_from_file_location("bench_pack", path)
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    known = sys.modules.pop("lint", None)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
        sys.modules.pop("lint", None)
        if known is not None:
            sys.modules["lint"] = known
    return module


@pytest.mark.parametrize("mixed", [True, False])
def test_the_pack_costs_little_beside_the_server_that_asks_it(bench, mixed):
    """Two and a half times at most when it was written; milliseconds are the benchmark's."""
    whole, alone = bench.milliseconds(bench.requests(100, mixed=mixed))
    assert alone < whole < 5 * alone


def test_what_is_measured_is_as_many_resources_of_six_kinds(bench):
    asked = bench.requests(20, mixed=True)
    assert (len(asked), len({request.type for request in asked})) == (20, 6)
    assert [policy.name for policy in bench.nothing()] == ["a", "b"]
