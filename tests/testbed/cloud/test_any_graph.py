"""Any machine in any configuration: a finding with the reason, or a graph that fakes and clouds' models accept."""

import os

import pytest
from testbed.plugins.cloud.account import Account
from testbed.plugins.cloud.judging import judged
from testbed.plugins.cloud.opinions.walk import said_against
from testbed.plugins.cloud.shapes import Place

from gpuyard.plan import plan
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.gcp.graph import gcp_graph
from gpuyard.spec.region import Region
from gpuyard_core.findings import Severity
from kit.generated.clouds import REGIONS, platform_in_a_cloud
from kit.searches import numbers
from kit.stacks import spec_of

NUMBERS = numbers(os.environ.get("GPUYARD_GRAPHS", "40"))
"""`make campaign NAME=graphs` has more of them."""
GRAPHS = {"aws": aws_graph, "gcp": gcp_graph}


def said_of(raw):
    """Errors of a platform's graph; None if a finding rejects the platform."""
    cloud, region = raw["cloud"], REGIONS[raw["cloud"]]
    found, findings = plan(spec_of(raw), region=Region(region, f"{cloud}:region"))
    if found is None:
        assert [each for each in findings if each.severity is Severity.ERROR and each.fix], raw
        return None
    account = Account()
    said = judged(GRAPHS[cloud](found), Place(cloud, region=region, project="lab-1"), account)
    for each in account.all():
        said += [f"{each.kind}: {one}" for one in said_against(each.kind, dict(each.inputs))]
    return said


@pytest.mark.repeats("tests/render and tests/testbed/cloud/test_second_opinions.py")
def test_a_platform_is_refused_with_a_fix_or_taken_by_all_who_judge_it():
    bad, taken = {}, 0
    for number in NUMBERS:
        said = said_of(platform_in_a_cloud(number))
        taken += said is not None
        if said:
            bad[number] = said
    assert bad == {}
    assert taken > len(NUMBERS) / 4
