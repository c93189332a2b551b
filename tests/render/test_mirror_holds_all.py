"""Nothing that is rendered comes from past a mirror: every image and chart of every stack, found in the text.

What a stack file names itself is its own affair, and so is what is on a node's disk before any pod.
"""

import re
from functools import lru_cache

import pytest

from gpuyard.plan import plan_or_raise
from gpuyard.render.charts import Release
from gpuyard.render.files import render_files
from gpuyard.render.platform import releases
from gpuyard.render.supply.images import pulled_images
from gpuyard.render.supply.mirror_scripts import Copier, copy_script, pulled_charts
from gpuyard.spec.sections import Mirror
from gpuyard_core.catalogue.gke.nodes import INSTALLER_IMAGE
from kit.stacks import plan_of, platform, pool, team
from render.test_golden import PLANNED, spec

PLACE = "mirror.example/gpu"
IMAGE = re.compile(r"^\s*(?:- )?image: [\"']?([^\s\"'{]+)[\"']?$", re.MULTILINE)
OWN = {INSTALLER_IMAGE}
MADE = {
    "karpenter and groups on EKS": platform(
        [pool(nodes="0..4", scaling="karpenter"), pool("b", nodes="0..4")],
        [team("a", guarantee={"train": 8}, idle={})],
        cloud="aws",
        system={"machine": "m7i.xlarge", "nodes": 2},
        observability={"prometheus": "existing"},
    ),
    "Google's driver": platform([pool(machine="a3-highgpu-8g", image="cos")], cloud="gcp"),
    "a hall": platform([pool(fabric={"kind": "roce", "hcas": ["mlx5_0"]})]),
    "claims": platform([pool(sharing="dra", image="own-driver")]),
}


@lru_cache
def plans():
    found = {name: plan_or_raise(mirrored(spec(name))) for name in PLANNED}
    for name, raw in MADE.items():
        found[name] = plan_of({**raw, "mirror": {"images": PLACE, "prepull": ["a.example/b:1"]}})
    return found


def mirrored(given):
    return given.model_copy(update={"mirror": Mirror(images=PLACE)})


def named(plan):
    """Images that the stack file itself says."""
    asked = plan.validation
    ahead = plan.spec.mirror.prepull if plan.spec.mirror else ()
    return {*ahead, *([asked.image] if asked is not None and asked.image else [])}


def references(value):
    """Whatever in values of a chart is an image's place: `repository`, at any depth."""
    if isinstance(value, dict):
        held = value.get("repository")
        inner = [place for each in value.values() for place in references(each)]
        return [held, *inner] if isinstance(held, str) else inner
    return [p for each in value for p in references(each)] if isinstance(value, list) else []


class Later(dict):
    """Any value that only a running cluster knows."""

    def __contains__(self, _):
        return True

    def __missing__(self, _):
        return "later"


EVERY = [*PLANNED, *MADE]


@pytest.mark.parametrize("name", EVERY)
def test_every_image_of_every_object_is_in_the_mirror(name):
    plan = plans()[name]
    texts = [t for file, t in render_files(plan, Later()).items() if "/" not in file]
    images = {image for text in texts for image in IMAGE.findall(text)} - OWN - named(plan)
    assert {image for image in images if not image.startswith(f"{PLACE}/")} == set()


@pytest.mark.parametrize("name", EVERY)
def test_every_chart_and_what_it_starts_is_in_the_mirror(name):
    charts: list[Release] = list(releases(plans()[name]).values())
    for release in charts:
        assert release.chart.startswith(f"oci://{PLACE}/"), release.name
        assert release.repository == ""
        places = references(dict(release.values))
        assert {place for place in places if not place.startswith(f"{PLACE}/")} == set()
        if release.name != "karpenter-crd":
            assert places, release.name


@pytest.mark.parametrize("name", EVERY)
def test_what_nodes_are_told_is_what_is_listed_and_copied(name):
    plan = plans()[name]
    listed = {image.repository for image in pulled_images(plan)} - {
        image.partition("@")[0].rpartition(":")[0] for image in named(plan)
    }
    assert {place for place in listed if not place.startswith(f"{PLACE}/")} == set()
    script = copy_script(plan, Copier.SKOPEO)
    assert all(f"docker://{place}:" in script for place in listed)
    assert script.count("helm pull ") == len(pulled_charts(plan))


def test_the_made_platforms_have_all_that_is_ever_installed():
    charts = {each.name for plan in plans().values() for each in pulled_charts(plan)}
    assert charts == {
        *("kueue", "gpu-operator", "dra-driver-nvidia-gpu"),
        *("karpenter", "karpenter-crd", "cluster-autoscaler"),
    }
    of = {image.component for plan in plans().values() for image in pulled_images(plan)}
    assert of >= {
        *("Kueue", "GPU Operator", "Karpenter", "Cluster Autoscaler"),
        *("EFA's device plugin", "Google's driver installer", "the RDMA device plugin"),
        *("image pre-pull", "idle reclaim and requeueing"),
    }
