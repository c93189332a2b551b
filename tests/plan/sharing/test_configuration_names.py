"""Names of configurations: another one exactly where node agents are to do another thing."""

import pytest

from gpuyard.render.gpu_operator import mig_parted_config, plugin_config
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool

ONE = {"mig": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}}


def planned(sharing=None, **rest):
    given = {} if sharing is None else {"sharing": sharing}
    return plan_of(platform([cut_pool(**given, **rest)], cloud="simulated"))


def names(sharing=None, **rest):
    found = planned(sharing, **rest).pools[0]
    return found.mig_config, found.plugin_config


@pytest.mark.parametrize(
    "same",
    [
        {"mig": {"3g.20gb": 1, "1g.5gb": 2, "2g.10gb": 1}},
        {"mig": [{"gpus": "0-7", **ONE["mig"]}]},
        {"mig": [{"gpus": "4-7", **ONE["mig"]}, {"gpus": "0-3", **ONE["mig"]}]},
    ],
    ids=["another order", "all by number", "two groups"],
)
def test_a_layout_that_stays_keeps_its_name(same):
    assert names(same) == names(ONE)
    assert names(ONE, nodes=3, labels={"tier": "gold"}) == names(ONE)


@pytest.mark.parametrize(
    ("other", "agents"),
    [
        ({"mig": {"1g.5gb": 7}}, "both"),
        ({"mig": [{"gpus": "0-3", **ONE["mig"]}]}, "both"),
        ({"mig": [{"gpus": "4-7", **ONE["mig"]}]}, "the manager"),
        ({**ONE, "time_slicing": 2}, "the plugin"),
        ({"time_slicing": 2}, "both"),
        ({"mps": 2}, "both"),
        ({}, "both"),
    ],
)
def test_another_layout_or_another_way_to_share_has_another_name(other, agents):
    before, after = names(ONE), names(other)
    if other.get("mig") == [{"gpus": "4-7", **ONE["mig"]}]:
        before = names({"mig": [{"gpus": "0-3", **ONE["mig"]}]})  # as many of each, elsewhere
    assert [a != b for a, b in zip(before, after, strict=True)] == [
        agents in {"both", "the manager"},
        agents in {"both", "the plugin"},
    ]


def test_shares_are_told_apart_by_number_and_by_kind():
    found = {
        names(sharing)[1] for sharing in ({"time_slicing": 2}, {"time_slicing": 4}, {"mps": 4})
    }
    assert len(found) == 3
    assert names({})[1] == "serve"


def test_every_name_stands_in_the_configuration_that_the_agent_reads():
    plan = plan_of(platform([pool(), cut_pool(), shared_pool()], cloud="simulated"))
    assert set(mig_parted_config(plan)["mig-configs"]) == {"all-disabled", plan.pools[1].mig_config}
    for each in plan.pools:
        assert each.labels["nvidia.com/device-plugin.config"] == each.plugin_config
        assert each.labels.get("nvidia.com/mig.config") == each.mig_config
        assert plugin_config(each)["version"] == "v1"
        assert len(each.plugin_config) <= 63


def test_no_two_pools_have_one_name():
    first = planned().pools[0]
    other = str(first.mig_config).replace(".", "-")
    both = plan_of(platform([cut_pool(), cut_pool(other)], cloud="simulated")).pools
    assert len({each.mig_config for each in both} | {each.plugin_config for each in both}) == 4
