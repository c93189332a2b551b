"""Fees of managed clusters: what is asked, since when, and by which minors more of it."""

import pytest

from gpuyard.provider import provider_of
from gpuyard.spec.platform import Cloud
from gpuyard_core.catalogue.fees import has_standard_support_ended
from gpuyard_core.catalogue.software.support import WINDOWS
from kit.every import every

CLUSTER_FEES = {cloud: fee for cloud in Cloud if (fee := provider_of(cloud).cluster_fee)}
FEES = [pytest.param(fee, id=cloud) for cloud, fee in CLUSTER_FEES.items()]


@every("fee", FEES)
def test_extended_support_costs_more_than_the_cluster_itself(fee):
    assert 0 < fee.standard < fee.extended < 1
    assert fee.source.title


def test_a_cloud_with_extended_support_has_a_fee_and_no_other():
    extended = {c for c, minors in WINDOWS.items() if any(w.has_extended for w in minors.values())}
    assert extended == set(CLUSTER_FEES)


@pytest.mark.parametrize(
    ("cloud", "minor", "ended"),
    [
        ("aws", "1.33", True),
        ("aws", "1.34", False),  # ten days later
        ("aws", "1.36", False),
        ("gcp", "1.33", True),
        ("gcp", "1.34", False),  # nobody knows
        ("aws", "1.20", False),
        ("none", "1.33", True),
        ("simulated", "1.33", False),
    ],
)
def test_whether_standard_support_had_ended_when_it_was_looked_up(cloud, minor, ended):
    assert has_standard_support_ended(cloud, minor) is ended
