"""A program in a cloud costs what one written by hand costs, and eight times the pools less than ten times the CPU."""

import importlib.util
import sys

import pytest

import sizes

TRIES = 8


@pytest.fixture(scope="module")
def bench():
    """The benchmark, whose programs and clocks these are."""
    path = sizes.ROOT / "benchmarks" / "cloud_program.py"
    found = importlib.util.spec_from_file_location("cloud_program", path)
    module = importlib.util.module_from_spec(found)
    sys.modules["cloud_program"] = module
    found.loader.exec_module(module)
    return module


@pytest.mark.timed
@pytest.mark.timeout(600)
def test_a_training_stack_on_aws_costs_what_one_written_by_hand_costs(bench, tmp_path):
    """In one of some pairs: cores that others use add to either."""
    pair, tried = bench.Pair("aws-training", tmp_path), []
    for _ in range(TRIES):
        ours, theirs = pair.compared(1)
        tried.append(ours / theirs)
        if tried[-1] <= bench.BY_HAND_LIMIT:
            return
    pytest.fail(f"{tried} times the CPU; {bench.BY_HAND_LIMIT} is the limit")


@pytest.mark.timed
@pytest.mark.timeout(600)
def test_forty_pools_cost_no_more_than_ten_times_what_five_do(bench):
    few, many = (
        bench.measured("aws-training", pools, bench.DELAY)["after"]
        for pools in (bench.FEW, bench.MANY)
    )
    assert many <= bench.GROWTH_LIMIT * few
