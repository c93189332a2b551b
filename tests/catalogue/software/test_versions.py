"""Versions are compared as their makers count, whatever they are wrapped in."""

import pytest

from gpuyard_core.catalogue.software.versions import parse_version


@pytest.mark.parametrize(
    ("component", "older", "newer"),
    [
        ("driver", "580.95.05", "580.126.09"),
        ("driver", "580.159.03", "580.159.04"),
        ("driver", "535.309.01", "580.82.07"),
        ("container-toolkit", "v1.9.0", "v1.20.0"),
        ("container-toolkit", "1.20.0-rc.1", "1.20.0"),
        ("container-toolkit", "1.20.0rc1", "v1.20.0"),
        ("container-toolkit", "1.19.9", "1.20.0-rc.1"),
        ("gpu-operator", "25.10.1", "26.3.0"),
        ("gpu-operator", "v26.3.2", "26.7.0"),
        ("dcgm", "4.5.3-1", "4.6.0-1"),
        ("dcgm-exporter", "4.6.1-4.8.2", "4.5.3-4.8.3"),
        ("dcgm-exporter", "4.8.2", "4.6.0-4.8.3-distroless"),
    ],
)
def test_one_version_is_older_than_another(component, older, newer):
    assert parse_version(component, older) < parse_version(component, newer)


@pytest.mark.parametrize(
    ("component", "one", "other"),
    [
        ("container-toolkit", "v1.17", "1.17.0"),
        ("container-toolkit", "1.19.1-1", "v1.19.1"),
        ("container-toolkit", "v1.20.0", "1.20.0-ubuntu24.04"),
        ("dcgm", "4.6.0-1-ubuntu24.04", "4.6.0"),
        ("dcgm-exporter", "4.6.0-4.8.3-distroless", "4.8.3"),
        ("gpu-operator", "0", "0.0.0"),
    ],
)
def test_two_spellings_are_one_version(component, one, other):
    assert parse_version(component, one) == parse_version(component, other)


def test_the_second_number_of_dcgm_is_its_packaging():
    assert parse_version("dcgm", "4.6.0-4.8.3") == parse_version("dcgm", "4.6.0")


@pytest.mark.parametrize(
    "text", ["", "latest", "v", "1.", ".1", "1..2", "v1.x", "sha256:abc", "1 2"]
)
def test_what_is_no_version_is_an_error(text):
    with pytest.raises(ValueError, match="is not a version of driver"):
        parse_version("driver", text)
