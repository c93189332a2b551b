"""The pins: each exact, with its source, above the floors; and what upstream's own files name."""

import re

import pytest
import yaml

from gpuyard_core.catalogue.cves import (
    branch_of,
    is_branch_maintained,
    known_vulnerabilities,
    minimum_fixed_version,
)
from gpuyard_core.catalogue.software.pins import GPU_OPERATOR, PINS
from gpuyard_core.catalogue.software.support import OperatorStatus, operator_status
from gpuyard_core.catalogue.software.versions import parse_version
from kit.every import every
from kit.levels import upstream
from kit.upstream_pins import PARTS_BEHIND

EVERY = [pytest.param(pin, id=name) for name, pin in PINS.items()]


@every("pin", EVERY)
def test_a_pin_is_one_exact_version_that_its_source_names(pin):
    assert re.fullmatch(r"\d+(\.\d+)+(-\d+(\.\d+)*)?", pin.version)
    assert parse_version(pin.bulletin_component, pin.version).released
    assert pin.version in pin.source.title
    assert pin.source.verified


@every("pin", EVERY)
def test_no_pin_is_below_its_floor(pin):
    assert known_vulnerabilities(pin.bulletin_component, pin.version) == ()
    lowest = minimum_fixed_version(
        pin.bulletin_component, branch_of(pin.bulletin_component, pin.version)
    )
    assert lowest is None or lowest.is_fixed(pin.version)


def test_floors_are_known_for_what_bulletins_speak_of():
    advised = {
        pin.bulletin_component
        for pin in PINS.values()
        if minimum_fixed_version(pin.bulletin_component)
    }
    assert advised == {
        "container-toolkit",
        "dcgm",
        "dcgm-exporter",
        "device-plugin",
        "gpu-operator",
        "mig-manager",
    }
    drivers = [pin for pin in PINS.values() if pin.bulletin_component == "driver"]
    assert {p.name: is_branch_maintained(branch_of("driver", p.version)) for p in drivers} == {
        "driver": True,
        "driver-610": True,
        "driver-580": True,
    }


def test_a_name_is_pinned_once():
    assert len(PINS) == 48
    assert PINS["gpu-operator"] is GPU_OPERATOR


def test_the_pinned_operator_is_supported():
    assert operator_status(GPU_OPERATOR.version) is OperatorStatus.SUPPORTED


OPERATOR_KEYS = {
    "driver": ("driver",),
    "driver-manager": ("driver", "manager"),
    "container-toolkit": ("toolkit",),
    "device-plugin": ("devicePlugin",),
    "gpu-feature-discovery": ("gfd",),
    "mig-manager": ("migManager",),
    "dcgm": ("dcgm",),
    "dcgm-exporter": ("dcgmExporter",),
    "gdrcopy": ("gdrcopy",),
    "gds": ("gds",),
}


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize(("name", "keys"), OPERATOR_KEYS.items())
def test_a_part_is_what_the_operators_own_values_name(name, keys):
    values = yaml.safe_load(upstream("values", "gpu-operator.yaml").read_text(encoding="utf-8"))
    for key in keys:
        values = values[key]
    named = re.match(r"v?([\d.]+(-[\d.]+)?)", values["version"])[1]
    assert named == PARTS_BEHIND.get(name, PINS[name].version)


@pytest.mark.parametrize(
    ("name", "file", "pattern"),
    [
        ("kube-prometheus-stack", "kube-prometheus-stack.Chart.yaml", r"^version: {}$"),
        ("prometheus-operator", "kube-prometheus-stack.Chart.yaml", r"^appVersion: v{}$"),
        ("opencost", "opencost.yaml", r'tag: "{}@sha256:'),
        ("dra-driver", "gpu-operator.yaml", r"image: dra-driver-nvidia-gpu\s+version: v{}$"),
    ],
)
def test_a_chart_is_what_its_own_file_names(name, file, pattern):
    text = upstream("values", file).read_text(encoding="utf-8")
    assert re.search(pattern.format(re.escape(PINS[name].version)), text, re.MULTILINE)


KNOWN_BEHIND = {
    "NVIDIA/gpu-operator": "26.7.0",
    "NVIDIA/mig-parted": "0.15.0",
    "kubeflow/mpi-operator": "0.8.0",
    "prometheus-operator/prometheus-operator": "0.93.0",
    "NVIDIA/dcgm-exporter": "4.5.3-4.8.2",
    "kedacore/keda": "2.20.2",
}
"""Releases whose files upstream/ keeps, where the pin is a later patch with the same interface; KEDA 2.21.0
has the same ScaledObject as 2.20.2."""


@pytest.mark.repeats("none: it runs no line that is measured")
@pytest.mark.parametrize(
    ("repository", "name"),
    [
        ("NVIDIA/gpu-operator", "gpu-operator"),
        ("kubernetes-sigs/kueue", "kueue"),
        ("kubernetes-sigs/karpenter", "karpenter"),
        ("aws/karpenter-provider-aws", "karpenter-aws"),
        ("kedacore/keda", "keda"),
        ("volcano-sh/volcano", "volcano"),
        ("kubernetes-sigs/jobset", "jobset"),
        ("NVIDIA/mig-parted", "mig-manager"),
        ("kubeflow/mpi-operator", "mpi-operator"),
        ("prometheus-operator/prometheus-operator", "prometheus-operator"),
        ("NVIDIA/dcgm-exporter", "dcgm-exporter"),
    ],
)
def test_schemas_are_those_of_the_pinned_release(repository, name):
    manifest = yaml.safe_load(upstream("manifest.json").read_text(encoding="utf-8"))
    refs = {
        entry["ref"].removeprefix("v") for entry in manifest if entry["repository"] == repository
    }
    assert refs == {KNOWN_BEHIND.get(repository, PINS[name].version)}
