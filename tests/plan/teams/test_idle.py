"""Idle reclaim in a plan: for whom, by which Prometheus, in which image."""

import pytest

from gpuyard.plan.records import IdleTeam
from gpuyard_core.catalogue.metrics import ACTIVITY, Measured, dcgm_default
from gpuyard_core.catalogue.software.programs import PYTHON, ProgramImage
from kit.stacks import cut_pool, findings, ids, plan_of, platform, pool, shared_pool, team

MEASURED = {"observability": {"prometheus": "existing"}}


def asks(name="vision", **idle):
    return team(name, guarantee={"train": 8}, idle=idle)


def test_without_a_team_that_asks_there_is_nothing():
    assert plan_of(platform(teams=[team(guarantee={"train": 8})], **MEASURED)).idle is None


def test_each_team_that_asks_has_what_it_says_and_the_defaults():
    other = asks("c", after_minutes=120, grace_minutes=60, below_percent=1.5, dry_run=True)
    plan = plan_of(platform(teams=[asks(), team("b"), other], **MEASURED))
    assert plan.idle.teams == (
        IdleTeam(
            team="vision",
            label="vision",
            namespace="vision",
            after_minutes=60,
            grace_minutes=30,
            below_percent=5,
            dry_run=False,
        ),
        IdleTeam(
            team="c",
            label="c",
            namespace="c",
            after_minutes=120,
            grace_minutes=60,
            below_percent=1.5,
            dry_run=True,
        ),
    )


def test_a_renamed_team_is_looked_at_in_the_namespace_it_kept():
    plan = plan_of(platform(teams=[asks() | {"previous_names": ["eyes"]}], **MEASURED))
    assert [(t.team, t.namespace) for t in plan.idle.teams] == [("vision", "eyes")]


@pytest.mark.parametrize(
    ("observability", "address"),
    [
        ({}, "http://prometheus-operated.monitoring.svc:9090"),
        ({"prometheus_address": "https://m.example.org/p"}, "https://m.example.org/p"),
    ],
)
def test_prometheus_is_where_its_operator_puts_it_unless_the_stack_file_knows_better(
    observability, address
):
    raw = platform(teams=[asks()], observability={"prometheus": "existing", **observability})
    assert plan_of(raw).idle.prometheus == address


@pytest.mark.parametrize(
    ("mirror", "image"),
    [
        (None, "python:3.13-slim@sha256:"),
        ({"images": "mirror.example.org/all"}, "mirror.example.org/all/library/python:3.13-slim@"),
    ],
)
def test_the_image_is_had_by_digest_and_from_the_mirror_where_there_is_one(mirror, image):
    assert plan_of(platform(teams=[asks()], mirror=mirror, **MEASURED)).idle.image.startswith(image)


def test_an_image_that_is_not_official_has_its_whole_path():
    made = ProgramImage("team/tool", "1", "sha256:0", PYTHON.source)
    assert made.image_reference(None) == "team/tool:1@sha256:0"
    assert made.image_reference("m.example.org/") == "m.example.org/team/tool:1@sha256:0"
    assert len(PYTHON.digest) == len("sha256:") + 64
    assert not PYTHON.source.verified, "no registry was asked for it: say so until one is"


def test_all_that_pods_can_hold_of_a_gpu_counts():
    pools = [pool(), cut_pool(), shared_pool()]
    plan = plan_of(platform(pools, [asks()], **MEASURED))
    assert plan.idle.resources == (
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.5gb",
        "nvidia.com/mig-2g.10gb",
        "nvidia.com/mig-3g.20gb",
        "nvidia.com/gpu.shared",
    )


def test_what_is_asked_of_prometheus_is_what_the_exporter_serves():
    assert set(ACTIVITY) <= set(dcgm_default())
    assert [name for name in ACTIVITY if dcgm_default()[name].mig is not Measured.NOTHING], (
        "slices would never be idle"
    )


@pytest.mark.parametrize("cloud", ["none", "simulated"])
def test_on_simulated_nodes_the_schedule_is_paused(cloud):
    raw = platform(teams=[asks()], cloud=cloud, **MEASURED)
    simulated = cloud == "simulated"
    assert plan_of(raw).idle.paused is simulated
    assert ("idle.simulated" in ids(raw)) is simulated


def test_idle_time_is_no_longer_a_word_that_nothing_is_made_of():
    said = [f for f in findings(platform(teams=[asks()], **MEASURED)) if f.id == "section.deferred"]
    assert said == []


def test_both_kinds_of_blindness_are_said_together():
    pools = [shared_pool(), pool("claims", sharing="dra")]
    both = team(guarantee={"dev/shared": 4}, borrow={"claims": 8}, idle={})
    found = [f for f in findings(platform(pools, [both], **MEASURED)) if f.id == "idle.blind"]
    assert [f.problem for f in found] == [
        (
            "in dev a GPU is measured for all pods that share it, so vision's pods count as busy "
            "while any of them is; in claims GPUs are allocated by claims, so no workload of vision "
            "is suspended"
        )
    ]
