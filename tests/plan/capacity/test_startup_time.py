"""From nothing to GPUs that can be used: by cloud, machine and who brings the driver."""

from dataclasses import replace

from gpuyard.plan.capacity.capacity_options import StartupTime, startup_time, startup_time_range
from kit.every import every
from kit.stacks import plan_of, platform, pool

GKE = {"machine": "a3-highgpu-8g", "image": "cos-gke"}


def _pool(cloud, **rest):
    return plan_of(platform([pool(**rest)], cloud=cloud)).pools[0]


@every(
    ("cloud", "rest", "says"),
    [
        ("aws", {}, "1 to 7 minutes"),
        ("aws", {"image": "ubuntu-eks"}, "6 to 21 minutes"),
        ("gcp", GKE, "3 to 10 minutes"),
        ("gcp", {"machine": "a2-highgpu-8g"}, "6 to 21 minutes"),
        ("simulated", {}, "None"),
        ("none", {}, "None"),
    ],
)
def test_whole_minutes_of_nodes_that_a_cloud_sells(cloud, rest, says):
    assert str(startup_time(_pool(cloud, **rest))) == says


def test_where_the_driver_comes_from_somewhere_unknown_nobody_is_told_a_time():
    known = _pool("aws")
    software = replace(known.node_software, owners={"driver": "the host"})
    unknown = replace(known, node_software=software)
    assert startup_time(unknown) is None
    assert startup_time_range([known, unknown]) is None
    assert startup_time_range([]) is None


def test_several_pools_are_there_with_the_last_of_their_nodes():
    found = startup_time_range([_pool("aws"), _pool("aws", image="ubuntu-eks")])
    assert found == StartupTime(min_minutes=1, max_minutes=21)
