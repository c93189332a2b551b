"""Pools of a plan as their metrics show them."""

import pytest

from gpuyard.render.observability.scope import MeteredPool, metered_pools
from gpuyard_core.catalogue.metrics import metrics
from gpuyard_core.catalogue.sharing import SharingMethod
from kit.stacks import plan_of


def test_pools_with_gpus_have_their_sharing_mode_and_what_their_gpus_support():
    pools = [
        {"name": "train", "machine": "p5.48xlarge", "nodes": 1},
        {"name": "dev", "machine": "g6.12xlarge", "nodes": 1, "sharing": {"time_slicing": 4}},
    ]
    plan = plan_of({"name": "lab", "cloud": "none", "kubernetes": "1.36", "pools": pools})
    train, dev = metered_pools(plan.pools)
    assert (train.name, train.sharing, train.products) == (
        "train",
        SharingMethod.NONE,
        {"profiling", "nvlink", "ecc"},
    )
    assert (dev.name, dev.sharing, dev.products) == (
        "dev",
        SharingMethod.TIME_SLICING,
        {"profiling", "ecc"},
    )


@pytest.mark.parametrize(
    ("sharing", "modes", "lacking"),
    [
        ("none", set(), False),
        ("dra", {"dra"}, False),
        ("mps", {"shared"}, False),
        ("mig", {"mig"}, True),
        ("mig+time-slicing", {"mig", "shared"}, True),
    ],
)
def test_gpus_in_mig_mode_lack_utilisation(sharing, modes, lacking):
    pool = MeteredPool("a", SharingMethod(sharing))
    assert (pool.modes, pool.lacks(metrics()["DCGM_FI_DEV_GPU_UTIL"])) == (modes, lacking)
