"""Which images of CUDA there are instead of those that are gone."""

import pytest

from gpuyard_core.catalogue.software.cuda_tags import suggested_tag


@pytest.mark.parametrize(
    ("version", "tag", "instead"),
    [
        ((11, 0), "11.0-base", "11.0.3-base-ubuntu20.04"),
        ((11, 1), "11.1-devel-ubuntu18.04", "11.1.1-devel-ubuntu20.04"),
        ((11, 6), "11.6-cudnn8-runtime-ubuntu20.04", "11.6.2-cudnn8-runtime-ubuntu20.04"),
        ((12, 2), "12.2-cudnn8-devel-ubuntu22.04", "12.2.2-cudnn8-devel-ubuntu22.04"),
        ((12, 6), "12.6-cudnn-runtime-rockylinux9", "12.6.3-cudnn-runtime-ubuntu22.04"),
        ((12, 4), "12.4-cudnn", "12.4.1-base-ubuntu22.04"),
        ((13, 0), "13.0-runtime-ubuntu22.04", "13.0.2-runtime-ubuntu22.04"),
        ((13, 0), "13.0", "13.0.2-base-ubuntu24.04"),
        ((10, 2), "10.2-base", None),
        ((12, 7), "12.7-base", None),
    ],
)
def test_a_tag_that_is_gone_has_one_of_its_version_and_kind(version, tag, instead):
    assert suggested_tag(version, tag) == instead
