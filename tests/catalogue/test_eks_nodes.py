"""Nodes of EKS: releases, disks and repairs, each with its source."""

from datetime import date

from gpuyard_core.catalogue.kubernetes.eks_nodes import (
    AL2023_RELEASES,
    DATA_DISKS,
    GPU_REPAIRS,
    RELEASES_SOURCE,
    UBUNTU_PARAMETER,
    arch_of,
)
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.images import images_of
from gpuyard_core.catalogue.software.pins import KUBERNETES_MINORS
from gpuyard_core.catalogue.sources import find_source, source_ids

OTHERS = [m for m in MACHINES.values() if m.cloud == "aws" and not m.is_gpu_machine]


def test_every_fact_has_a_source_that_was_looked_at():
    found = [find_source(each) for each in source_ids() if each.startswith("eks-nodes.")]
    assert len(found) == 7
    assert all(source.title and source.checked_on <= date(2026, 11, 28) for source in found)


def test_a_release_is_of_its_minor_and_supported_ones_are_of_the_day_of_the_source():
    day = f"{RELEASES_SOURCE.as_of:%Y%m%d}"
    for minor, release in AL2023_RELEASES.items():
        patch, _, built = release.partition("-")
        assert patch.rpartition(".")[0] == minor
        assert minor not in KUBERNETES_MINORS or built == day
    assert set(KUBERNETES_MINORS) - AL2023_RELEASES.keys() == {"1.37"}, "no release was seen"


def test_every_image_of_the_cloud_has_a_disk_for_images():
    variants = {variant for image in images_of("aws") for variant in image.variants.values()}
    assert {variant.partition("_")[0] for variant in variants} == DATA_DISKS.keys()


def test_a_reason_stands_once_and_is_repaired_in_a_way_that_eks_has():
    assert len({each.reason for each in GPU_REPAIRS}) == len(GPU_REPAIRS)
    assert {each.action for each in GPU_REPAIRS} <= {"Replace", "Reboot", "NoAction"}
    assert min(each.minutes for each in GPU_REPAIRS) >= 1


def test_the_name_of_a_machine_without_gpus_says_its_architecture():
    assert OTHERS
    assert {m.name: arch_of(m.name) for m in OTHERS} == {m.name: m.arch for m in OTHERS}
    assert arch_of("im4gn.large") == arch_of("x2gd.medium") == "arm64"
    assert arch_of("u-6tb1.metal") == arch_of("inf2.xlarge") == "amd64"


def test_the_parameter_of_ubuntu_is_asked_for_by_minor_and_architecture():
    assert "{minor}" in UBUNTU_PARAMETER
    assert "{arch}" in UBUNTU_PARAMETER
