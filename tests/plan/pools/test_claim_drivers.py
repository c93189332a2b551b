"""Pinned drivers before claims, where no driver serves all pools either."""

from gpuyard.plan import plan
from kit.stacks import platform, pool, spec_of


def machine(gpu):
    return {"gpu": gpu, "gpus": 8, "cpu": 96, "memory_gib": 768}


def said(*pools):
    raw = platform(list(pools), software={"driver": "570.211.01"})
    return {found.id: found for found in plan(spec_of(raw))[1]}


def test_where_no_driver_serves_all_pools_the_claims_are_what_can_go():
    found = said(
        pool(machine=machine("V100-16"), sharing="dra"), pool("new", machine=machine("RTX4500"))
    )
    assert found["dra.driver"].fix.message == "remove `sharing: dra` of train"
    assert found["dra.driver"].fix.at is None


def test_an_old_gpu_gets_the_driver_that_it_can_have():
    found = said(pool(machine=machine("V100-16"), sharing="dra"))
    assert found["dra.driver"].fix.value == "580.178.04"


def test_what_is_no_version_is_refused_as_such():
    raw = platform([pool(sharing="dra")], software={"driver": "newest"})
    assert {one.id for one in plan(spec_of(raw))[1]} & {"dra.driver", "software.version"} == {
        "software.version"
    }
