"""What `gpuyard plan` says about node images and who brings the GPU software."""

import json

import pytest

from kit.stacks import cut_pool, platform, pool

AWS = platform(
    [
        pool(),
        pool("new", machine="g7.12xlarge"),
        cut_pool(),
        pool("rocket", image="bottlerocket-nvidia"),
    ],
    cloud="aws",
)
GCP = platform(
    [pool(machine="a2-highgpu-8g"), pool("plain", machine="g2-standard-48", image="cos-gke")],
    cloud="gcp",
)
OWN = platform([pool(), pool("dgx", image="own-driver-toolkit")])


def section(gpuyard, path, *more):
    """The lines under `Node software`, as words."""
    _, found, rest = gpuyard("plan", path, *more).out.partition("\nNode software\n")
    assert found
    return [line.split() for line in rest.split("\n\n")[0].splitlines()]


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (
            AWS,
            [
                "train al2023-nvidia 580.178.04 (image) plugin, MIG manager",
                "serve",
                "new ubuntu-eks 595.91.07 (operator) all",
                "rocket bottlerocket-nvidia 580.159.03 (image) nothing",
            ],
        ),
        (
            platform([pool(), cut_pool()], cloud="aws"),
            ["every pool al2023-nvidia 580.178.04 (image) plugin, MIG manager"],
        ),
        (
            GCP,
            [
                "train cos from Google's DaemonSet toolkit, plugin",
                "plain cos-gke from GKE nothing",
            ],
        ),
        (
            OWN,
            [
                "train own 595.91.07 (operator) all",
                "dgx own-driver-toolkit from the host plugin",
            ],
        ),
    ],
)
def test_a_line_says_what_pools_boot_from_and_what_the_operator_brings(gpuyard, write, raw, lines):
    head, *said = section(gpuyard, write(raw))
    assert " ".join(head) == "pool image driver from the GPU Operator"
    assert [" ".join(words) for words in said] == lines


def test_no_line_is_longer_than_a_narrow_terminal(gpuyard, write):
    text = gpuyard("plan", write(AWS)).out
    assert max(len(line) for line in text.splitlines()) <= 80


def test_simulated_nodes_have_no_such_section(gpuyard, write):
    text = gpuyard("plan", write(platform([pool()], cloud="simulated"))).out
    assert "Node software" not in text


def test_labels_that_keep_a_part_off_are_shown_when_asked_for(gpuyard, write):
    text = gpuyard("plan", write(AWS), "--verbose").out
    assert text.count("nvidia.com/gpu.deploy.driver=false") == 3
    assert text.count("nvidia.com/gpu.deploy.device-plugin=false") == 1


def test_a_document_has_it_whole(gpuyard, write):
    plan = json.loads(gpuyard("plan", write(AWS), "--format", "json").out)["plan"]
    assert plan["operator"] == {
        "enabled": {"driver": True, "toolkit": True, "devicePlugin": True, "migManager": True},
        "driver": "595.91.07",
        "settings": {"migManager.env.WITH_REBOOT": "true"},
        "install": True,
        "namespace": "gpu-operator",
        "kernel_modules": "open",
        "gdrcopy": True,
        "claims": False,
    }
    rocket = plan["pools"][3]["node_software"]
    assert rocket["variant"] == "BOTTLEROCKET_x86_64_NVIDIA"
    assert set(rocket["owners"].values()) == {"image"}
    assert len(rocket["labels"]) == 4
