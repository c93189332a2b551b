"""`gpuyard get`: one effective value, bare, for scripts."""

import json

import pytest

from kit.stacks import SYSTEM, cut_pool, platform, pool, shape, team

STACK = platform(
    [pool(nodes="0..4", machine="p5.48xlarge"), cut_pool()],
    [team(guarantee={"train": 16}, groups=["a", "b"])],
    cloud="aws",
    shapes=[shape("big", nodes=2, gpus_per_node=8)],
)


@pytest.fixture
def get(gpuyard, write):
    path = write(STACK)
    return lambda *args: gpuyard("get", path, *args)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", "lab"),
        ("pools.train.nodes", "0..4"),
        ("pools[0].nodes", "0..4"),
        ("pools.train.machine.gpu.name", "H100"),
        ("pools.train.gpus_per_node", "8"),
        ("pools.serve.labels.nvidia.com/mig.config", "serve.04e903"),
        ("pools.serve.layouts[0].counts.1g.5gb", "2"),
        ("pools.serve.advertised.nvidia.com/mig-3g.20gb.gpu_share", "3/7"),
        ("pools.train.mig_config", "null"),
        ("shapes.big.scales_from_zero", "true"),
        ("bill.simulated", "false"),
        ("bill.lines.train.usd_per_node", "55.04"),
        ("teams.vision.groups", "a\nb"),
        ("spec.pools.train.machine", "p5.48xlarge"),
        ("cluster_name.late", "cluster.name"),
        ("validation", "null"),
    ],
)
def test_a_value_is_printed_bare(get, path, value):
    ended = get(path)
    assert (ended.code, ended.out, ended.err) == (0, f"{value}\n", "")


def test_a_value_has_no_binary_noise(get):
    assert get("bill.maximum_usd_per_hour").out == "243.1208\n"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("pools.tran.nodes", "Did you mean pools.train?"),
        ("pols", "Did you mean pools?"),
        ("pools[7]", "Available: train, serve"),
        ("name.x", "no 'x' below name: name is a single value"),
        ("pools.train", "pools.train is not a single value: it has name, stable_name"),
        ("", "the plan is not a single value"),
        (
            "pools.train.zones.x",
            "no 'x' below pools.train.zones: pools.train.zones is a single value",
        ),
    ],
)
def test_an_unknown_path_is_answered_with_what_there_is(get, path, says):
    ended = get(path)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_a_tree_is_given_as_json(get):
    document = json.loads(get("pools.serve.layouts", "--format", "json").out)
    assert document["path"] == "pools.serve.layouts"
    assert document["value"][0]["counts"] == {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}


def test_a_refused_stack_has_no_values(gpuyard, write):
    path = write(platform([pool(machine="p9")]))
    ended = gpuyard("get", path, "name")
    assert (ended.code, ended.out) == (3, "")
    assert "pool.machine_unknown" in ended.err
    ended = gpuyard("get", path, "name", "--format", "json")
    assert (ended.code, json.loads(ended.out)["value"]) == (3, None)


def test_money_of_which_a_part_is_unknown_is_no_number(gpuyard, write):
    """A script that compares it with a limit must not take it for nothing."""
    path = write(platform([pool(machine="p5e.48xlarge")], cloud="aws", system=SYSTEM))
    for figure in ("bill.maximum_usd_per_hour", "bill.minimum.usd", "bill.expected_usd_per_hour"):
        assert gpuyard("get", path, figure).out == "null\n"
    assert gpuyard("get", path, "bill.maximum.known_usd").out == "1.0032\n"
    assert gpuyard("get", path, "bill.maximum.unknown").out == "train\n"
    document = json.loads(gpuyard("check", path, "--format", "json").out)["platform"]
    assert (document["maximum_usd_per_hour"], document["known_maximum_usd_per_hour"]) == (
        None,
        1.0032,
    )
