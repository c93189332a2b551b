"""`gpuyard plan`: what a stack file means, on one screen."""

import json

import pytest

from kit.stacks import cut_pool, platform, pool, shape, shared_pool, team

WHOLE = platform(
    [
        pool(
            nodes="0..4", zones=["us-east-1a"], capacity=[{"reserved": "cr-1", "nodes": 2}, "spot"]
        ),
        cut_pool(),
        shared_pool(),
    ],
    [
        team(guarantee={"train": 8, "serve/3g.20gb": 2}, borrow={"train": 8, "dev/shared": 4}),
        *(team(name, guarantee={"dev/shared": 2}) for name in ("b", "c", "d")),
    ],
    cloud="aws",
    shapes=[
        shape("big", nodes=2, gpus_per_node=8),
        shape("small", per_pod={"shares": 1}),
        shape("embed", per_pod={"slice": "3g.20gb"}),
    ],
)


@pytest.fixture
def lines(gpuyard, write):
    ended = gpuyard("plan", write(WHOLE))
    assert ended.code == 0, ended
    return [" ".join(line.split()) for line in ended.out.splitlines()]


@pytest.mark.parametrize(
    "line",
    [
        "Pools 12 GPUs initially, 44 maximum",
        "train 0..4 p5.48xlarge 8 × H100 whole GPUs",
        "train reserved cr-1 (2 nodes), then spot",
        "serve 1 p4d.24xlarge 8 × A100-40 MIG",
        "dev 1 g6.12xlarge 4 × L4 time-slicing × 4",
        "8 nvidia.com/mig-3g.20gb 3/7 of a GPU",
        "vision 8 train 8 train 28,643 -",
        "vision vision lab-vision shared 1",
        "big train 2 nodes × 8 GPUs 2 nodes first vision",
        "small dev 1 share at once vision, b, c and 1 more",
        "embed serve 1 × 3g.20gb at once vision",
        "not requested",
    ],
)
def test_the_plan_says(lines, line):
    assert line in lines


def test_the_plan_says_who_is_suspended_when_idle(gpuyard, write):
    idle = {"after_minutes": 120, "below_percent": 2.5, "dry_run": True}
    teams = [
        *(team(name, guarantee={"train": 1}, idle={}) for name in "abcd"),
        team("e", guarantee={"train": 1}, idle=idle),
    ]
    raw = platform(teams=teams, observability={"prometheus": "existing"})
    said = [" ".join(line.split()) for line in gpuyard("plan", write(raw)).out.splitlines()]
    where = next(n for n, line in enumerate(said) if line.startswith("idle "))
    assert " ".join(said[where : where + 4]).startswith(
        "idle a, b, c and 1 more: warned after 60 minutes at 5 % or less, suspended 30 minutes later"
        " idle e: warned after 120 minutes at 2.5 % or less, suspended 30 minutes later: dry run"
    )


def test_nodes_of_ones_own_are_not_bought_but_found_by_their_labels(gpuyard, write):
    pools = [pool(select={"a.example/row": "1", "b": "c"}), pool("new")]
    said = gpuyard("plan", write(platform(pools))).out
    assert (
        "Capacity  your own nodes, selected by their labels\n"
        "  pool   labels\n"
        "  train  a.example/row=1\n"
        "         b=c\n"
        "  new    gpuyard.dev/pool=new\n"
    ) in said
    assert "pool   capacity options" not in said


def test_findings_stand_beside_the_plan_on_stderr(gpuyard, write):
    ended = gpuyard("plan", write(WHOLE))
    assert "quota.nodes_to_start" in ended.err
    assert "quota.nodes_to_start" not in ended.out


def test_a_refused_plan_writes_nothing_but_why(gpuyard, write):
    ended = gpuyard("plan", write(platform([pool(machine="p9")])))
    assert (ended.code, ended.out) == (3, "")
    assert "pool.machine_unknown" in ended.err
    assert "1 error" in ended.err


def test_a_refused_plan_as_a_document_has_findings_and_no_plan(gpuyard, write):
    ended = gpuyard("plan", write(platform([pool(machine="p9")])), "--format", "json")
    document = json.loads(ended.out)
    assert (ended.code, document["plan"]) == (3, None)
    assert [f["id"] for f in document["findings"]] == ["pool.machine_unknown"]


def test_labels_taints_and_zones_are_shown_on_demand(gpuyard, write):
    path = write(platform([pool(zones=["a-1"])]))
    assert "taint" not in gpuyard("plan", path).out
    text = gpuyard("plan", path, "--verbose").out
    assert "    label  gpuyard.dev/pool=train\n" in text
    assert "    taint  nvidia.com/gpu=present:NoSchedule\n" in text
    assert "    zone   a-1\n" in text


def test_a_platform_without_teams_says_whose_the_capacity_is(gpuyard, write):
    assert "Teams  none: all capacity is unassigned" in gpuyard("plan", write(platform())).out


def test_a_platform_that_is_given_away_whole_says_so(gpuyard, write):
    text = gpuyard("plan", write(platform(teams=[team(guarantee={"train": 32})]))).out
    assert "none: every GPU is guaranteed to a team" in text


def test_nothing_is_cut_off_however_long_the_names(gpuyard, write):
    name = "a-pool-with-quite-a-long-name-of-forty-c"
    path = write(platform([pool(name, machine=["g6.12xlarge", "g6.24xlarge"], nodes="0..400")]))
    for command in ("plan", "cost"):
        lines = gpuyard(command, path).out.splitlines()
        folded = "".join(line.split()[0] for line in lines if line.startswith("  "))
        assert name in folded
        assert all(len(line) <= 80 for line in lines)


def test_what_is_dedicated_and_what_goes_first_is_said_where_there_is_any(gpuyard, write):
    raw = platform(
        [pool(), pool("vip", owners=["vision"]), pool("full", owners=["vision"], nodes=1)],
        [
            team(guarantee={"vip": 8, "full": 8}, borrow={"vip": 24}, priority="production"),
            team("speech", guarantee={"train": 8}),
        ],
        priorities={"research": 100, "production": 1000},
    )
    lines = [" ".join(line.split()) for line in gpuyard("plan", write(raw)).out.splitlines()]
    assert "pool labels dedicated to" in lines
    assert "train gpuyard.dev/pool=train -" in lines
    assert "vip gpuyard.dev/pool=vip vision" in lines
    text = " ".join(lines)
    assert (
        "priority production 1000 (default of vision), research 100; a job without one has 0"
        in text
    )
    assert (
        "unassigned 24 train, 24 vip; teams may borrow it within their limits, of vip only vision"
        in text
    )


def test_versions_that_the_file_picks_are_said(gpuyard, write):
    out = gpuyard("plan", write(platform(software={"kueue": "0.19.1", "driver": "595.91.07"}))).out
    assert "Versions  set by the stack file; all others are pinned" in out
    assert "kueue 0.19.1, driver 595.91.07" in out
    assert "Versions" not in gpuyard("plan", write(platform())).out


STORED = platform(
    [pool(zones=["us-east-1a"])],
    [team()],
    cloud="aws",
    storage={
        "datasets": [
            {"name": "corpus", "kind": "fsx-lustre", "writers": ["vision"]},
            {"name": "home", "kind": "efs", "writers": ["vision"]},
        ],
        "checkpoints": {"retention_days": 90},
        "protect": False,
    },
)


def test_stores_that_are_made_are_shown_with_what_they_cost(gpuyard, write):
    out = gpuyard("plan", write(STORED)).out
    lines = [" ".join(line.split()) for line in out.splitlines()]

    assert "Storage not protected: a destroy deletes it; not in the bill" in lines
    assert "corpus fsx-lustre 1,200 GiB us-east-1a backups 7 days 174.00" in lines
    assert "home efs as needed - nothing unpriced" in lines
    assert "checkpoints bucket as needed - versions 90 days unpriced" in lines
    assert "home, checkpoints: billed by stored data" in lines
    assert "Storage" not in gpuyard("plan", write(platform())).out


def test_stores_are_in_the_plans_document(gpuyard, write):
    document = json.loads(gpuyard("plan", write(STORED), "--format", "json").out)
    corpus, *_, checkpoints = document["plan"]["storage"]["stores"]

    assert (corpus["kind"], corpus["size_gib"], corpus["zone"], corpus["usd_per_month"]) == (
        "fsx-lustre persistent",
        1200,
        "us-east-1a",
        174.0,
    )
    assert (checkpoints["retention"], checkpoints["protect"], checkpoints["usd_per_month"]) == (
        "versions 90 days",
        False,
        None,
    )
