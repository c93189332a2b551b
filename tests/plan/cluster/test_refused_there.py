"""Labels, freezes and disks: `check` refuses what the fakes of the clouds refuse, and nothing else."""

from datetime import date, timedelta

from testbed.plugins.cloud.checking import refusals
from testbed.plugins.cloud.rules import aws_service, gcp_service

from gpuyard.provider import provider_of
from gpuyard_core.catalogue.cluster.disks import fitting_sizes
from gpuyard_core.findings import Severity
from kit.every import every
from kit.stacks import findings, platform, pool

GPUS = {"aws": "p5.48xlarge", "gcp": "a2-highgpu-8g"}
POOL = "gcp:container/nodePool:NodePool"
BEGINS = date(2027, 1, 1)


def refused(raw, area):
    found = [f for f in findings(raw) if f.severity is Severity.ERROR]
    assert all(f.id.startswith(area) for f in found), [str(f) for f in found]
    return bool(found)


def on(cloud, cluster=None, **rest):
    return platform([pool(machine=GPUS[cloud], **rest)], cloud=cloud, cluster=cluster)


@every(
    ("cloud", "key"),
    [
        (cloud, key)
        for cloud in GPUS
        for key in (
            "tier",
            "example.org/tier",
            "eks.amazonaws.com/tier",
            "team.eks.amazonaws.com/tier",
            "amazonaws.com/tier",
            "cloud.google.com/tier",
            "my.cloud.google.com/x",
            "google.com/x",
            "notk8s.io/x",
            "x.k8s.io/x",
            "node-role.kubernetes.io/gpu",
        )
    ],
)
def test_labels(cloud, key):
    there = {
        "aws": lambda: aws_service.node_labels({"labels": {key: "x"}}),
        "gcp": lambda: gcp_service.node_labels({"nodeConfig": {"labels": {key: "x"}}}),
    }[cloud]
    assert refused(on(cloud, labels={key: "x"}), "pool.label") == bool(list(there()))


def test_a_class_of_the_users_own_is_not_one_that_ours_could_be_beside():
    """GKE takes the label, and a node pool has one class: it is ours where the pool scales."""
    labels = {"cloud.google.com/compute-class": "x"}
    assert refused(on("gcp", labels=labels), "pool.label")
    assert not list(gcp_service.node_labels({"nodeConfig": {"labels": labels}}))


@every("lengths", [[1], [30], [31], [89], [90], [91], [365], [0], [5, 5, 5], [5, 5, 5, 5], [5, 91]])
def test_freezes(lengths):
    freezes = [
        {"name": f"freeze-{n}", "start": BEGINS, "end": BEGINS + timedelta(days=days)}
        for n, days in enumerate(lengths)
    ]
    sent = [
        {
            "exclusionName": each["name"],
            "startTime": f"{each['start']}T00:00:00Z",
            "endTime": f"{each['end']}T00:00:00Z",
            "exclusionOptions": {"scope": "NO_UPGRADES"},
        }
        for each in freezes
    ]
    there = gcp_service.exclusions({"maintenancePolicy": {"maintenanceExclusions": sent}})
    raw = on("gcp", {"maintenance": {"freezes": freezes}, "endpoint": {"dns": True}})
    assert refused(raw, "cluster.") == bool(list(there))


@every("size", [1, 9, 10, 11, 20, 200, 65_536])
def test_disks_of_gke(size):
    there = refusals(POOL, {"cluster": "c", "nodeConfig": {"diskSizeGb": size}})
    assert refused(on("gcp", disk_gib=size), "pool.disk_size") == any(
        "diskSizeGb" in s for s in there
    )


@every(
    ("cloud", "image", "least", "most"),
    [
        ("aws", "al2023-nvidia", 20, 65_536),
        ("aws", "bottlerocket-nvidia", 1, 65_536),
        ("aws", None, 1, 65_536),
        ("gcp", "cos", 10, None),
    ],
)
def test_bounds_are_of_the_cloud_and_the_image(cloud, image, least, most):
    bounds = fitting_sizes(provider_of(cloud).disk_sizes, image)
    assert (bounds.least, bounds.most) == (least, most)


def test_a_disk_that_we_do_not_make_has_no_bounds():
    assert provider_of("none").disk_sizes is None
    assert provider_of("simulated").disk_sizes is None
