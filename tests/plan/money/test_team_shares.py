"""Whose the bill is: each part by hand, and nobody's to the last slice."""

import pytest

from kit.stacks import SYSTEM, cut_pool, plan_of, platform, pool, shared_pool, team

P5, A100, L4 = 55.04, 21.957642, 4.6016
OWN = {"gpu": "A100-40", "gpus": 8, "cpu": 96, "memory_gib": 1152}


def shares(pools, teams=(), **rest):
    return {s.team: s for s in plan_of(platform(pools, teams, **rest)).bill.shares}


def case(found, name):
    return {team: getattr(share, name).usd for team, share in found.items()}


def test_without_teams_all_is_nobodys():
    found = shares([pool()])
    assert case(found, "maximum") == {None: pytest.approx(4 * P5)}


def test_a_team_pays_in_each_case_for_what_it_is_guaranteed_of_the_maximum():
    found = shares(
        [pool(nodes="1..4")],
        [team("a", guarantee={"train": 8}), team("b", guarantee={"train": 16})],
        targets={"utilisation_percent": 50},
    )
    assert case(found, "minimum") == pytest.approx({"a": P5 / 4, "b": P5 / 2, None: P5 / 4})
    assert case(found, "expected") == pytest.approx({"a": P5 / 2, "b": P5, None: P5 / 2})
    assert case(found, "maximum") == pytest.approx({"a": P5, "b": 2 * P5, None: P5})


def test_what_a_team_may_borrow_costs_it_nothing():
    found = shares([pool()], [team(guarantee={"train": 8}, borrow={"train": 24})])
    assert case(found, "maximum") == pytest.approx({"vision": P5, None: 3 * P5})


def test_several_pools_and_units_add_up():
    teams = [team(guarantee={"train": 8, "serve/3g.20gb": 8, "dev/shared": 4})]
    found = shares([pool(), cut_pool(), shared_pool()], teams)
    assert found["vision"].maximum.usd == pytest.approx(P5 + A100 * 3 / 7 + L4 / 4, abs=1e-3)


def test_two_keys_of_one_pool_are_one_part_of_it():
    found = shares([cut_pool()], [team(guarantee={"serve/3g.20gb": 8, "serve/1g.5gb": 16})])
    assert found["vision"].maximum.usd == pytest.approx(A100 * 5 / 7, abs=1e-3)
    assert found[None].maximum.usd == pytest.approx(A100 * 2 / 7, abs=1e-3)


def test_system_nodes_are_nobodys():
    found = shares([pool()], [team(guarantee={"train": 32})], system=SYSTEM)
    assert found["vision"].maximum.usd == pytest.approx(4 * P5)
    assert found[None].maximum.usd == pytest.approx(0.4032)


@pytest.mark.parametrize("divided", [1, 7])
def test_a_pool_guaranteed_to_the_last_slice_leaves_nothing_unknown_for_nobody(divided):
    """Sevenths do not add up to one in binary; what is left of them is no slice."""
    sevenths = {"mig": {"1g.5gb": 7}}
    teams = [team(f"t{n}", guarantee={"own/1g.5gb": 56 // divided}) for n in range(divided)]
    found = shares([cut_pool("own", machine=OWN, sharing=sevenths)], teams)
    assert all(found[t["name"]].maximum.unknown == ("own",) for t in teams)
    assert (found[None].maximum.usd, found[None].maximum.unknown) == (0, ())


def test_one_slice_that_is_nobodys_is_enough_to_be_unknown():
    found = shares(
        [cut_pool("own", machine=OWN, sharing={"mig": {"1g.5gb": 7}})],
        [team(guarantee={"own/1g.5gb": 55})],
    )
    assert found[None].maximum.unknown == ("own",)


def test_a_team_that_has_some_at_a_known_price_keeps_that_in_sight():
    plan = plan_of(
        platform([pool(), pool("own", machine=OWN)], [team(guarantee={"train": 8, "own": 8})])
    )
    share = plan.bill.shares[0]
    assert (share.maximum.known_usd, share.maximum.unknown) == (pytest.approx(P5), ("own",))
    assert plan.teams[0].guarantee_usd_per_month is None
    assert plan.teams[0].expected_usd_per_month is None


def test_a_pool_that_never_has_nodes_is_nobodys_and_costs_nothing():
    found = shares([pool(nodes=0), pool("b")], [team(guarantee={"train": 0, "b": 8})])
    assert case(found, "maximum") == pytest.approx({"vision": P5, None: 3 * P5})


def test_the_months_of_a_team_are_730_of_its_hours():
    plan = plan_of(
        platform(
            [pool(nodes="0..4")],
            [team(guarantee={"train": 8})],
            targets={"utilisation_percent": 25},
        )
    )
    assert plan.teams[0].guarantee_usd_per_month == pytest.approx(730 * P5)
    assert plan.teams[0].expected_usd_per_month == pytest.approx(730 * P5 / 4)
