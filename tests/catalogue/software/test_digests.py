"""Digests: every image that a platform may install has one, or says why none."""

import re

import pytest

from gpuyard.render.workloads.runtimes import RUNTIME_IMAGES
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.catalogue.software.charts import (
    AUTOSCALER_CHART,
    EFA_PLUGIN,
    GPU_OPERATOR_CHART,
    KARPENTER_CHART,
    KUEUE_CHART,
    MONITORING_IMAGES,
    NFD_IMAGE,
    OPERATOR_IMAGES,
    RDMA_PLUGIN,
    VOLCANO_CHART,
    VOLCANO_IMAGES,
)
from gpuyard_core.catalogue.software.compatibility import AUTOSCALERS
from gpuyard_core.catalogue.software.digests import (
    BY_TAG,
    PUBLISHED,
    digest_of,
    pinned_image_reference,
)
from gpuyard_core.catalogue.software.pins import PINS
from kit.levels import upstream


def installed():
    """Repository and tag of every image that a chart or an object of ours can bring."""
    for chart, pin in ((KUEUE_CHART, "kueue"), (KARPENTER_CHART, KARPENTER_CHART.pin)):
        yield f"{chart.registry}/{chart.image}", chart.tag.format(PINS[pin].version)
    for pin in AUTOSCALERS.values():
        home = f"{AUTOSCALER_CHART.registry}/{AUTOSCALER_CHART.image}"
        yield home, AUTOSCALER_CHART.tag.format(pin.version)
    for image in OPERATOR_IMAGES:
        tag = image.tag if image.pin else GPU_OPERATOR_CHART.tag
        if image.pin != "dcgm":  # never started: the exporter has its own
            yield image.home, tag.format(PINS[image.pin or GPU_OPERATOR_CHART.name].version)
    yield NFD_IMAGE, f"v{PINS['node-feature-discovery'].version}"
    yield from ((image.home, image.tag) for image in MONITORING_IMAGES)
    for addon in addon_facts().values():
        for image in (image for chart in addon.charts for image in chart.images):
            yield image.home, image.tag.format(PINS[image.pin].version)
    for image in RUNTIME_IMAGES:
        repository, _, tag = image.rpartition(":")
        yield repository, tag
    for path in (VOLCANO_CHART.image, *VOLCANO_IMAGES):
        yield f"{VOLCANO_CHART.registry}/{path}", VOLCANO_CHART.tag.format(PINS["volcano"].version)
    yield RDMA_PLUGIN.image, RDMA_PLUGIN.tag
    yield EFA_PLUGIN.image, EFA_PLUGIN.tag.format(PINS[EFA_PLUGIN.pin].version)


@pytest.mark.parametrize(("repository", "tag"), sorted(set(installed())))
def test_each_image_has_a_digest_or_a_reason(repository, tag):
    assert (digest_of(repository, tag) == "") is (repository in BY_TAG)


def test_no_reason_is_left_over():
    assert set(BY_TAG) == {repository for repository, _ in installed()} & set(BY_TAG)


def test_a_digest_is_one_and_each_artifact_has_its_own():
    digests = [each.digest for each in PUBLISHED.values()]
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", each) for each in digests)
    assert len(set(digests)) == len(digests)
    assert all(each.source.title for each in PUBLISHED.values())


def test_a_tag_stays_for_people_beside_the_digest_that_counts():
    known = "registry.k8s.io/kueue/kueue"
    assert pinned_image_reference(known, "v0.19.2") == f"v0.19.2@{digest_of(known, 'v0.19.2')}"
    assert pinned_image_reference(known, "v0.1.0") == "v0.1.0"
    assert pinned_image_reference("example.org/kueue", "v0.19.2") == "v0.19.2"


def test_karpenters_digest_is_the_one_of_its_own_chart():
    """The chart is of another version than ours: both are known."""
    text = upstream("values", "karpenter.yaml").read_text(encoding="utf-8")
    tag = re.search(r"^ +tag: (1\.\S+)$", text, re.MULTILINE)[1]
    digest = re.search(r"^ +digest: (sha256:\S+)$", text, re.MULTILINE)[1]
    assert digest_of("public.ecr.aws/karpenter/controller", tag) == digest
