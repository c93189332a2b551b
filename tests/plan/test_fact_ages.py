"""Each kind of facts that a platform uses has its own limit of age; what it does not use is not counted."""

from datetime import date

import pytest

from gpuyard.plan.fact_ages import AGE_WARNINGS
from gpuyard.plan.platform import plan
from gpuyard_core.catalogue.kubernetes import eks_nodes
from gpuyard_core.findings import Severity
from kit.stacks import SYSTEM, platform, pool, spec_of

LATER = date(2027, 3, 1)
GCE_SYSTEM = {"machine": "e2-standard-4", "nodes": 1}


def aged(raw, day=LATER):
    """The warnings about old facts, by id."""
    _, findings = plan(spec_of(raw), day)
    return {f.id: f for f in findings if f.id in AGE_WARNINGS}


def old_pins(raw):
    """The names in the warning about pins."""
    found = aged(raw).get("pins.old")
    return found.problem.partition(": ")[2].partition(";")[0].split(", ") if found else []


def test_a_warning_has_the_kind_the_rows_the_oldest_day_the_limit_and_the_fix():
    found = aged(platform(), date(2026, 11, 28))
    assert {f.severity for f in found.values()} == {Severity.WARNING}
    assert str(found["prices.old"]) == (
        "prices: prices older than 90 days (1): p5.48xlarge; current prices may differ\n  given: "
        "the oldest is from 2026-07-20, 131 days ago\n  allowed: at most 90 days old\n  fix: write "
        "what you pay under `prices`, or upgrade gpuyard"
    )
    assert str(found["bulletins.old"]) == (
        "software: bulletins older than 45 days (1): NVIDIA's security bulletins; later "
        "vulnerabilities are not reported\n  given: the oldest is from 2026-09-30, 59 days ago\n  "
        "allowed: at most 45 days old\n  fix: upgrade gpuyard; until then read NVIDIA's security "
        "bulletins published since"
    )
    assert found["pins.old"].fix.message == (
        "upgrade gpuyard, or write newer versions under `software`"
    )


def test_without_a_day_no_fact_is_old():
    assert aged(platform(), None) == {}


@pytest.mark.parametrize(
    ("raw", "names"),
    [
        (platform(), ["kueue", "gpu-operator"]),
        (platform(queueing={"install": False}), ["gpu-operator"]),
        (platform(gpu_operator={"install": False}), ["kueue"]),
        (platform(software={"kueue": "0.19.2"}), ["gpu-operator"]),
        (
            platform([pool(nodes="0..4", scaling="karpenter")], cloud="aws", system=SYSTEM),
            [
                "kueue",
                "gpu-operator",
                "karpenter-aws",
                "efa-device-plugin",
                "the AL2023 node image",
            ],
        ),
        (
            platform(
                [pool(machine="g6.12xlarge", nodes="0..4", scaling="autoscaler")],
                cloud="aws",
                system=SYSTEM,
            ),
            [
                "kueue",
                "gpu-operator",
                "cluster-autoscaler",
                "cluster-autoscaler-chart",
                "efa-device-plugin",
                "the AL2023 node image",
            ],
        ),
        (
            platform([pool(machine="a2-highgpu-8g")], cloud="gcp", system=GCE_SYSTEM),
            ["kueue", "gpu-operator"],
        ),
        (platform(cloud="simulated"), []),
    ],
)
def test_a_pin_counts_where_the_platform_installs_it(raw, names):
    assert old_pins(raw) == names


def test_nodes_of_an_existing_cluster_get_no_image_of_the_catalogue():
    made = platform(cloud="aws", system=SYSTEM)
    there = platform(cloud="aws", cluster={"existing": "lab"})
    assert "the AL2023 node image" in old_pins(made)
    assert "the AL2023 node image" not in old_pins(there)
    assert eks_nodes.RELEASES_SOURCE.as_of == date(2026, 9, 30)


def test_a_minor_without_a_support_window_has_none_that_is_old():
    day = date(2027, 2, 18)
    raw = platform([pool(machine="a2-highgpu-8g")], cloud="gcp", system=GCE_SYSTEM)
    assert "windows.old" in aged(raw, day)
    assert "windows.old" not in aged(raw | {"kubernetes": "1.37"}, day)


def test_commitments_and_fees_count_by_their_own_days():
    machine = "g6e.48xlarge"
    prices = {
        "machines": {machine: 20, SYSTEM["machine"]: 0.2},
        "commitments": [{"machine": machine, "nodes": 1, "years": years} for years in (1, 3)],
    }
    raw = platform([pool(machine=machine)], cloud="aws", system=SYSTEM, prices=prices)
    assert aged(raw)["prices.old"].problem == (
        "prices older than 90 days (3): g6e.48xlarge for 1 year, g6e.48xlarge for 3 years, the EKS cluster;"
        " current prices may differ"
    )
