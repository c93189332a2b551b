"""Node images, row by row, and against the operator's chart and EC2's names."""

from datetime import UTC, datetime

import pytest
import yaml

from gpuyard_core.catalogue.software.images import (
    DEPLOY_LABEL,
    IMAGES,
    ComponentOwner,
    SoftwarePart,
    find_image,
    images_of,
)
from gpuyard_core.catalogue.software.pins import PINS
from gpuyard_core.catalogue.software.versions import parse_version
from kit.levels import upstream

ROWS = [pytest.param(image, id=name) for name, image in IMAGES.items()]
EKS_AMI_TYPES = [
    "CUSTOM",
    "AL2023_x86_64_NVIDIA",
    "AL2023_ARM_64_NVIDIA",
    "BOTTLEROCKET_ARM_64_NVIDIA",
    "BOTTLEROCKET_x86_64_NVIDIA",
    "BOTTLEROCKET_ARM_64_NVIDIA_FIPS",
    "BOTTLEROCKET_x86_64_NVIDIA_FIPS",
]
"""amiType of EKS for NVIDIA GPUs (botocore 1.44.5)."""
GKE_IMAGE_TYPES = ("COS_CONTAINERD", "UBUNTU_CONTAINERD")


@pytest.mark.parametrize("image", ROWS)
def test_an_image_is_whole_and_says_where_its_facts_come_from(image):
    assert IMAGES[image.name] is image
    assert image.name == image.name.lower()
    assert set(image.owners) == set(SoftwarePart)
    assert "none" in image.sharing
    assert image.source.title
    assert image.source.checked_on <= datetime.now(UTC).date()


@pytest.mark.parametrize("image", ROWS)
def test_a_driver_inside_has_a_version_and_one_that_others_bring_has_none(image):
    if image.owners[SoftwarePart.DRIVER] is ComponentOwner.IMAGE:
        assert parse_version("driver", image.driver).numbers >= (535,)
    else:
        assert image.driver is None
        assert image.cloud != "aws" or not image.fractions


@pytest.mark.parametrize("image", ROWS)
def test_an_image_that_cannot_share_in_every_way_says_why(image):
    every = {"none", "time-slicing", "mps", "mig", "mig+time-slicing", "dra"}
    assert image.sharing <= every
    assert bool(image.unsupported_reason) == (image.sharing != every)
    if image.sharing != every:
        assert image.owners[SoftwarePart.DEVICE_PLUGIN] is not ComponentOwner.OPERATOR


@pytest.mark.parametrize("image", ROWS)
def test_the_cloud_has_a_name_for_each_architecture(image):
    names = set(image.variants.values())
    known = {"aws": EKS_AMI_TYPES, "gcp": GKE_IMAGE_TYPES, "none": ()}[image.cloud]
    assert names <= set(known)
    assert bool(names) == (image.cloud != "none")
    assert set(image.variants) <= {"amd64", "arm64"}
    for arch, name in image.variants.items():
        assert ("ARM" in name) == (arch == "arm64" and "CUSTOM" not in name and "COS" not in name)


def test_the_names_of_eks_are_all_there():
    ours = {v for image in images_of("aws") for v in image.variants.values()}
    assert ours == set(EKS_AMI_TYPES)


@pytest.mark.parametrize("image", ROWS)
def test_whoever_has_a_plugin_of_its_own_keeps_the_others_off(image):
    plugin = image.owners[SoftwarePart.DEVICE_PLUGIN]
    if image.cloud == "gcp":
        ours = plugin is ComponentOwner.OPERATOR
        assert ("gke-no-default-nvidia-gpu-device-plugin" in image.node_labels) == ours
        assert ("nvidia.com/gpu.deploy.operands" in image.node_labels) == (
            plugin is ComponentOwner.GKE
        )
    else:
        assert image.node_labels == {}


@pytest.mark.repeats("tests/spec/test_partial_spec.py")
@pytest.mark.parametrize("image", ROWS)
def test_every_setting_is_one_of_the_operators_chart(image):
    chart = yaml.safe_load(upstream("values", "gpu-operator.yaml").read_text(encoding="utf-8"))
    for path, value in image.settings.items():
        at = chart
        for word in path.partition(".env.")[0].split("."):
            assert word in at, path
            at = at[word]
        if ".env." in path:
            at = at["env"]
            assert at == [], "ours would replace what is in it"
        assert at != value, f"{path} is the chart's default already"
    assert bool(image.settings) <= image.uses_operator


def test_every_part_is_a_switch_of_the_operators_chart():
    chart = yaml.safe_load(upstream("values", "gpu-operator.yaml").read_text(encoding="utf-8"))
    assert all(chart[part.value]["enabled"] is True for part in SoftwarePart)
    assert chart["driver"]["version"] == PINS["driver"].version
    assert set(DEPLOY_LABEL) == set(SoftwarePart)
    assert len(set(DEPLOY_LABEL.values())) == len(SoftwarePart)


@pytest.mark.parametrize(
    ("spelling", "cloud", "name", "arch"),
    [
        ("al2023-nvidia", "aws", "al2023-nvidia", None),
        ("AL2023-NVIDIA", "aws", "al2023-nvidia", None),
        ("AL2023_x86_64_NVIDIA", "aws", "al2023-nvidia", "amd64"),
        ("AL2023_ARM_64_NVIDIA", "aws", "al2023-nvidia", "arm64"),
        ("BOTTLEROCKET_x86_64_NVIDIA_FIPS", "aws", "bottlerocket-nvidia-fips", "amd64"),
        ("CUSTOM", "aws", "ubuntu-eks", None),
        ("COS_CONTAINERD", "gcp", "cos", None),
        ("cos-gke", "gcp", "cos-gke", None),
        ("UBUNTU_CONTAINERD", "gcp", "ubuntu-gke", "amd64"),
        ("own-driver", "none", "own-driver", None),
    ],
)
def test_an_image_is_found_by_our_name_and_by_the_clouds(spelling, cloud, name, arch):
    assert find_image(spelling, images_of(cloud)) == (IMAGES[name], arch)


@pytest.mark.parametrize(
    ("spelling", "cloud"),
    [("cos", "aws"), ("al2023-nvidia", "gcp"), ("own", "aws"), ("", "none"), ("cos", "simulated")],
)
def test_an_image_of_another_cloud_is_not_found(spelling, cloud):
    assert find_image(spelling, images_of(cloud)) is None


def test_the_clouds_own_image_with_a_driver_comes_first():
    assert [images_of(cloud)[0].name for cloud in ("aws", "gcp", "none")] == [
        "al2023-nvidia",
        "cos",
        "own",
    ]
    assert images_of("simulated") == ()
