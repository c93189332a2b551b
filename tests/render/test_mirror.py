"""Where a chart and its image come from, with a mirror and without."""

import pytest

from gpuyard.plan.draft import Draft
from gpuyard.plan.queueing.kueue import check_kueue, installs_kueue
from gpuyard.render.mirror import chart_location, mirrored
from gpuyard_core.catalogue.software.charts import KUEUE_CHART
from gpuyard_core.catalogue.software.pins import PINS
from kit.stacks import platform, pool, spec_of

HOST = KUEUE_CHART.registry


def spec(mirror=None, **more):
    return spec_of(platform(mirror=mirror, **more))


@pytest.mark.parametrize(
    ("mirror", "chart", "image"),
    [
        (None, f"oci://{HOST}/kueue/charts/kueue", f"{HOST}/kueue/kueue"),
        (
            {"images": "mirror.example/gpu"},
            "oci://mirror.example/gpu/kueue/charts/kueue",
            "mirror.example/gpu/kueue/kueue",
        ),
        (
            {"images": "mirror.example/gpu/", "charts": "oci://mirror.example/charts/"},
            "oci://mirror.example/charts/kueue",
            "mirror.example/gpu/kueue/kueue",
        ),
        (
            {"images": "mirror.example", "charts": "./charts"},
            "./charts/kueue",
            "mirror.example/kueue/kueue",
        ),
        (
            {"images": "mirror.example", "charts": "/srv/charts"},
            "/srv/charts/kueue",
            "mirror.example/kueue/kueue",
        ),
    ],
)
def test_a_mirror_keeps_the_paths_of_what_it_copies(mirror, chart, image):
    found = spec(mirror)
    assert chart_location(found, KUEUE_CHART) == chart
    assert mirrored(found, f"{HOST}/kueue/kueue") == image


def test_the_chart_has_the_version_of_its_pin():
    assert KUEUE_CHART.pin in PINS
    assert KUEUE_CHART.tag.format(PINS["kueue"].version) == f"v{PINS['kueue'].version}"
    assert KUEUE_CHART.source.title


@pytest.mark.parametrize(
    ("cloud", "said", "installed"),
    [
        ("none", None, True),
        ("none", False, False),
        ("simulated", None, False),
        ("aws", None, True),
        ("aws", True, True),
    ],
)
def test_kueue_is_installed_where_nobody_brings_it(cloud, said, installed):
    queueing = {} if said is None else {"install": said}
    assert installs_kueue(spec(cloud=cloud, queueing=queueing)) is installed


def test_what_another_kueue_needs_depends_on_what_the_platform_uses():
    plain = {"install": False, "fair_sharing": False}
    (short,) = check_kueue(Draft(spec(queueing=plain)))
    assert "fairSharing" not in short.problem
    assert "deviceClassMappings" not in short.problem
    (claims,) = check_kueue(Draft(spec(queueing={"install": False}, pools=[pool(sharing="dra")])))
    assert "resources.deviceClassMappings for gpuyard.dev/gpu-claim" in claims.problem
    assert claims.problem.endswith("fairSharing.preemptionStrategies")


def test_another_kueue_must_be_told_of_slices_and_of_clusters():
    more = {
        "install": False,
        "mig_quota": "slices",
        "clusters": [{"name": "west", "secret": "w"}],
    }
    (found,) = check_kueue(Draft(spec(queueing=more)))
    assert "resources.transformations of MIG profiles to gpuyard.dev/mig-slices" in found.problem
    assert (
        "multiKueue.origin lab, integrations.frameworks with batch/job, pod, deployment only"
        in (found.problem)
    )
