"""One object that the program cannot read or change costs the others of its team nothing."""

import pytest

from idle.test_run import WARNED_LONG_AGO, look, notebook
from kit.cluster import idle

pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.fixture
def world():
    return idle.World()


def test_an_object_that_cannot_be_read_is_left_out_alone(world):
    world.run_job("odd", warned=WARNED_LONG_AGO)
    del world.one("workloads")["metadata"]["resourceVersion"]
    world.run_job(warned=WARNED_LONG_AGO)
    line = look(world)
    assert line["problems"] == ["team vision: cannot read job-odd: KeyError('resourceVersion')"]
    assert line["steps"] == {"suspend": 1}


@pytest.mark.parametrize("digits", [7, 4301])
def test_a_number_of_replicas_that_somebody_wrote_stops_nothing_for_the_others(world, digits):
    world.run_job(warned=WARNED_LONG_AGO)
    notebook(world)
    world.one("deployments")["metadata"].setdefault("annotations", {})[
        "gpuyard.dev/idle-replicas"
    ] = "9" * digits
    line = look(world)
    assert (line["problems"], line["steps"]) == ([], {"suspend": 1, "warn": 1})


def test_an_object_that_the_server_refuses_to_change_is_left_out_alone(world):
    world.run_job("other", warned=WARNED_LONG_AGO)
    world.run_job(warned=WARNED_LONG_AGO)
    world.fails["PATCH .*other"] = (422, "too long")
    line = look(world)
    assert line["problems"] == ["team vision: job/other: 422: too long"]
    assert line["steps"] == {"refused": 1, "suspend": 1}
