"""Paths into a tree: every way to name a step, and what is said when there is no such step."""

import pytest

from gpuyard.cli.views.paths import find, plain_value
from gpuyard_core.errors import UsageError

TREE = {
    "name": "lab",
    "count": 0,
    "on": False,
    "price": 1.5,
    "none": None,
    "empty": {},
    "nobody": [],
    "labels": {
        "nvidia.com": "short",
        "nvidia.com/mig.config": "cut",
        "nvidia.com/mig": {"config": "tree"},
        "a b": "blank",
    },
    "pools": [
        {"name": "train", "nodes": 4, "zones": ["a", "b"]},
        {"name": "train.big", "nodes": 8},
        {"pool": "by-pool", "nodes": 1},
        {"profile": "1g.5gb", "resource": "nvidia.com/mig-1g.5gb", "nodes": 2},
        {"key": "gpu", "nodes": 3},
        {"name": 7, "key": "numbered", "nodes": 5},
    ],
    "layouts": [{"counts": {"1g.5gb": 7}}, {"counts": {}}],
    "grid": [[1, 2], [3]],
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("", TREE),
        ("count", 0),
        ("none", None),
        ("pools.train.nodes", 4),
        ("pools[0].nodes", 4),
        ("pools.[0].nodes", 4),
        ("pools.train.big.nodes", 8),
        ("pools.by-pool.nodes", 1),
        ("pools.1g.5gb.nodes", 2),
        ("pools.gpu.nodes", 3),
        ("pools.numbered.nodes", 5),
        ("pools[5].name", 7),
        ("pools.train.zones[1]", "b"),
        ("labels.nvidia.com", "short"),
        ("labels.nvidia.com/mig.config", "cut"),
        ("labels.a b", "blank"),
        ("layouts[0].counts.1g.5gb", 7),
        ("grid[0][1]", 2),
    ],
)
def test_a_step_is_a_key_a_name_or_a_place_and_the_longest_that_fits(path, value):
    assert find(TREE, path) == value


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("pool", "no 'pool' in the plan. Available: name, count, on,"),
        ("pool", "Did you mean pools?"),
        ("pools.trian.nodes", "no 'trian.nodes' below pools. Available: train, train.big, by-pool"),
        ("pools.trian.nodes", "Did you mean pools.train?"),
        ("pools.train.node", "Did you mean pools.train.nodes?"),
        ("pools[6]", "no '[6]' below pools."),
        ("pools[-1]", "no '[-1]' below pools."),
        ("pools[x]", "no '[x]' below pools."),
        ("pools.trai", "no 'trai' below pools."),
        ("pools.1g", "no '1g' below pools."),
        ("layouts[2]", "no '[2]' below layouts. Available: [0], [1]."),
        ("layouts.counts", "no 'counts' below layouts. Available: [0], [1]."),
        ("grid[0][2]", "no '[2]' below grid[0]. Available: [0], [1]."),
        ("name.length", "no 'length' below name: name is a single value. Remove 'length'."),
        ("none.x", "no 'x' below none: none is a single value. Remove 'x'."),
        ("pools.train.zones.a", "no 'a' below pools.train.zones. Available: [0], [1]."),
        (".name", "no '.name' in the plan."),
    ],
)
def test_a_step_that_is_not_there_is_answered_with_those_that_are(path, says):
    with pytest.raises(UsageError) as caught:
        find(TREE, path)
    assert says in str(caught.value)


def test_a_place_that_nothing_resembles_gets_no_hint():
    with pytest.raises(UsageError) as caught:
        find(TREE, "zzzzzzzz")
    assert "Did you mean" not in str(caught.value)


def test_of_very_many_steps_the_first_are_shown():
    tree = {f"key{number:03}": number for number in range(50)}
    with pytest.raises(UsageError) as caught:
        find(tree, "none such")
    assert "key019, …." in str(caught.value)
    assert "key020" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("lab", "lab"),
        (0, "0"),
        (1.5, "1.5"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ("", ""),
        ([], ""),
        (["a", 1, None, True], "a\n1\nnull\ntrue"),
        ("two\nlines", "two\\nlines"),
        (["a\x1b[31m"], "a\\x1b[31m"),
    ],
)
def test_a_scalar_is_bare_a_list_of_them_a_line_each_and_nothing_drives_the_terminal(value, text):
    assert plain_value(value, "x") == text


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "the plan is not a single value: it has name, count, on,"),
        ("pools", "pools is not a single value: it has train, train.big, by-pool, 1g.5gb, gpu,"),
        ("layouts", "layouts is not a single value: it has [0], [1]. Select one of them, or"),
        ("grid", "grid is not a single value: it has [0], [1]. Select one of them, or print all"),
        ("empty", "empty is not a single value: it is empty. Print it with --format json."),
    ],
)
def test_a_tree_has_no_bare_form_and_says_what_it_has(path, says):
    with pytest.raises(UsageError) as caught:
        plain_value(find(TREE, path), path)
    assert str(caught.value).startswith(says)
    assert str(caught.value).endswith("with --format json.")
