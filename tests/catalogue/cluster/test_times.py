"""How long clouds take: every row has a source, and none of them says what another denies."""

from gpuyard_core.catalogue.cluster.times import (
    CONTROL_PLANES,
    COUNTED,
    EACH_GPU,
    GB_PULLED,
    JOINS,
    startup_durations,
)
from gpuyard_core.catalogue.kubernetes.autoscalers import NODE_MINUTES
from gpuyard_core.catalogue.software.images import IMAGES, ComponentOwner, SoftwarePart
from kit.every import every

ROWS = [*CONTROL_PLANES.values(), *JOINS.values(), *COUNTED.values(), EACH_GPU, GB_PULLED]


def test_each_row_is_a_range_and_nobody_here_has_measured_it():
    for row in ROWS:
        assert 0 < row.least <= row.most
        assert not row.source.verified


def test_a_machine_with_gpus_comes_no_sooner_than_one_without():
    for cloud in ("aws", "gcp"):
        plain, gpus = JOINS[cloud, False], JOINS[cloud, True]
        assert (plain.least, plain.most) <= (gpus.least, gpus.most)


def test_whoever_brings_a_driver_to_a_clouds_nodes_has_a_row():
    brought = {i.owners[SoftwarePart.DRIVER] for i in IMAGES.values() if i.cloud in {"aws", "gcp"}}
    assert brought == set(COUNTED)


def test_autoscalers_wait_as_long_as_a_node_of_a_cloud_takes_to_join():
    """Whoever gives a node up sooner than it can come never gets one."""
    assert all(each.most < NODE_MINUTES * 60 for each in JOINS.values())


@every(
    ("cloud", "gpus", "driver", "steps"),
    [
        ("aws", 0, None, [(39, 100)]),
        ("aws", 8, ComponentOwner.IMAGE, [(70, 270), (39, 122)]),
        ("aws", 1, ComponentOwner.IMAGE, [(70, 270), (18, 94)]),
        ("gcp", 8, ComponentOwner.GKE, [(120, 270), (84, 302)]),
        ("gcp", 8, ComponentOwner.DAEMONSET, [(120, 270), (294, 932)]),
        ("aws", 4, ComponentOwner.OPERATOR, [(70, 270), (282, 916)]),
        ("aws", 8, ComponentOwner.HOST, []),
        ("none", 8, ComponentOwner.OPERATOR, []),
    ],
)
def test_a_node_joins_and_then_its_gpus_are_counted(cloud, gpus, driver, steps):
    assert [(s.least, s.most) for s in startup_durations(cloud, gpus, driver)] == steps
