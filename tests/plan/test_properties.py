"""What holds for every platform that anybody can write, by thousands of made-up ones."""

import copy
import random
from collections import Counter
from functools import lru_cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpuyard.plan import plan
from gpuyard.plan.renames import spec_digest
from gpuyard.plan.sharing.dra import quota_key
from gpuyard.render.files import render_files
from gpuyard_core.catalogue.gpus import MIG_PRODUCTS
from gpuyard_core.catalogue.kubernetes.kueue import MAX_FLAVORS, MAX_GROUPS
from gpuyard_core.findings import Severity, has_errors
from kit.fixes import check_fix
from kit.generated import platforms
from kit.searches import examples
from kit.stacks import spec_of


def capacity(found):
    return {
        (p.name, a.resource): a.per_node * p.nodes.high for p in found.pools for a in p.advertised
    }


def test_a_plan_is_none_exactly_when_a_finding_refuses_and_every_finding_is_whole():
    for number in platforms.KNOWN:
        found, findings = platforms.known(number)
        assert (found is None) == has_errors(findings)
        for finding in findings:
            assert finding.id.count(".") == 1
            assert finding.problem
            assert finding.path
            assert "\n" not in finding.problem + finding.given + finding.allowed
            if finding.severity is Severity.ERROR:
                assert finding.allowed or finding.fix


@pytest.mark.timeout(300)
@settings(max_examples=examples(200))
@given(st.integers(0, 10**9))
@example(1235)  # a reservation of two pools
@example(312)  # a shape that fits once it is smaller, in two zones
@example(81245)  # owners that a team's former name says
def test_a_fix_removes_its_finding_and_causes_no_other(number):
    raw = platforms.platform(number)
    for finding in plan(spec_of(raw))[1]:
        check_fix(raw, finding)


def test_most_kinds_of_findings_are_made_up_and_enough_platforms_are_planned():
    found = [platforms.known(number) for number in platforms.KNOWN]
    assert len({f.id for _, findings in found for f in findings}) > 25
    assert sum(p is not None for p, _ in found) > len(found) / 20


def shuffled(value, rng):
    if isinstance(value, dict):
        keys = rng.sample(list(value), len(value))
        return {k: shuffled(value[k], rng) for k in keys}
    return [shuffled(v, rng) for v in value] if isinstance(value, list) else value


@settings(max_examples=examples(100))
@given(st.integers(0, 10**9))
@example(39655)  # queues of a team
@example(40214006)  # labels by which nodes are selected
def test_the_order_of_keys_changes_nothing(number):
    raw = platforms.platform(number)
    other = shuffled(copy.deepcopy(raw), random.Random(number))  # noqa: S311  no secret is made of it
    (one, first), (two, second) = plan(spec_of(raw)), plan(spec_of(other))
    assert spec_digest(spec_of(raw)) == spec_digest(spec_of(other))
    assert (one is None) == (two is None)
    # What was given is shown as it was written, so that only what is accepted has the same words.
    words = str if one else (lambda finding: (finding.id, finding.where, finding.severity))
    assert Counter(map(words, first)) == Counter(map(words, second))
    assert one == two
    files = [list(render_files(p, {"cluster.name": "x"}).items()) for p in (one, two) if p]
    assert files[:1] == files[1:]


@lru_cache
def plans():
    """The made-up platforms that are not refused: what a property of a plan looks at."""
    found = [plan for plan, _ in map(platforms.known, platforms.KNOWN) if plan is not None]
    assert len(found) > 30
    return found


def test_slices_fit_and_everything_that_is_asked_for_is_advertised():
    for found in plans():
        for pool in found.pools:
            units = MIG_PRODUCTS[pool.machine.gpu.name].units if pool.layouts else 0
            for layout in pool.layouts:
                taken = [u for s in layout.placement for u in range(s.start, s.start + s.units)]
                assert len(set(taken)) == len(taken)
                assert all(0 <= u < units for u in taken)
                assert Counter(s.profile for s in layout.placement) == dict(layout.counts)
            whole = sum(a.per_node * a.gpu_share for a in pool.advertised)
            assert whole == pool.machine.gpus * pool.machine.gpu_fraction
            assert len({a.resource for a in pool.advertised}) == len(pool.advertised)
            assert len({a.unit for a in pool.advertised}) == len(pool.advertised)
            assert pool.start_nodes <= pool.nodes.high
        for shape in found.shapes:
            pool = found.pool(shape.pool)
            offer = next(a for a in pool.advertised if a.resource == shape.resource)
            assert shape.per_node <= offer.per_node
            assert shape.nodes <= pool.nodes.high


def test_guarantees_and_what_is_unassigned_are_exactly_what_the_pools_hold():
    for found in plans():
        total = Counter()
        for quota in [q for t in found.teams for q in t.quotas] + list(found.queueing.unassigned):
            assert quota.nominal >= 0
            total[quota.pool, quota.resource] += quota.nominal
        assert total == Counter(capacity(found))
        for team in found.teams:
            for quota in team.quotas:
                assert quota.lend is None or 0 <= quota.lend <= quota.nominal
                assert quota.nominal + quota.borrow <= capacity(found)[quota.pool, quota.resource]
            own = Counter()
            for quota in team.quotas:
                own[quota_key(quota.resource)] += quota.nominal + quota.borrow
            assert {key: n for key, n in team.hard.items() if n} == {
                key: n + max(4 * n, 32) for key, n in own.items() if n
            }


def test_queues_keep_to_the_rules_of_kueue():
    for found in plans():
        offers = {p.flavor: {a.resource for a in p.advertised} for p in found.pools}
        assert [f.name for f in found.queueing.flavors] == list(offers)
        for owner in [*found.teams, *found.queueing.cohorts]:
            groups = owner.resource_groups
            assert len(groups) <= MAX_GROUPS
            resources = [r for g in groups for r in g.resources]
            flavors = [f for g in groups for f in g.flavors]
            assert len(set(resources)) == len(resources)
            assert len(set(flavors)) == len(flavors)
            for group in groups:
                assert 0 < len(group.flavors) <= MAX_FLAVORS
                assert set(group.resources) == set().union(*(offers[f] for f in group.flavors))
            named = {found.pool(q.pool).flavor for q in owner.quotas}
            assert named == set(flavors)


def test_the_floor_is_never_above_the_worst_case_and_sums_hold_what_is_known():
    for found in plans():
        for line in found.bill.lines:
            if line.minimum_usd_per_hour is not None and line.maximum_usd_per_hour is not None:
                assert 0 <= line.minimum_usd_per_hour <= line.maximum_usd_per_hour + 1e-9
            cases = (
                line.minimum_usd_per_hour,
                line.expected_usd_per_hour,
                line.maximum_usd_per_hour,
            )
            assert (None in cases) == (line.pool in found.bill.unknown)
        known = [
            x.maximum_usd_per_hour for x in found.bill.lines if x.maximum_usd_per_hour is not None
        ]
        assert found.bill.maximum_usd_per_hour == pytest.approx(sum(known))
        if found.spec.budget and not found.bill.unknown:
            assert found.bill.maximum_usd_per_hour <= found.spec.budget.max_usd_per_hour


def test_a_pool_that_is_shared_is_as_close_as_every_team_on_it_allows():
    shared = 0
    for found in plans():
        for team in found.teams:
            for quota in team.quotas:
                others = [
                    t.name
                    for t in found.teams
                    if t is not team
                    for q in t.quotas
                    if q.pool == quota.pool and q.nominal + q.borrow
                ]
                if others and quota.nominal + quota.borrow:
                    shared += 1
                    sharing = found.pool(quota.pool).sharing
                    assert team.isolation != "node"
                    assert team.isolation == "shared" or sharing in {"none", "mig"}
    assert shared > 20


def test_what_is_dedicated_is_used_by_its_owners_only_and_stands_in_their_queues_only():
    dedicated = 0
    for found in plans():
        for pool in found.pools:
            if not pool.owners:
                continue
            dedicated += 1
            for team in found.teams:
                flavors = {f for g in team.resource_groups for f in g.flavors}
                claims = [q for q in team.quotas if q.pool == pool.name]
                assert team.name in pool.owners or (not claims and pool.stable_name not in flavors)
    assert dedicated > 5


def test_a_shape_starts_where_a_team_has_quota_for_all_of_it():
    placed = 0
    further = (plan for plan, _ in map(platforms.known, range(300, 400)) if plan is not None)
    for found in (*plans(), *further):  # few of them have both
        for shape in found.shapes if found.teams else ():
            placed += 1
            need = shape.per_node * shape.nodes
            assert shape.teams
            assert set(shape.guaranteed) <= set(shape.teams)
            for team in found.teams:
                quota = team.quota(shape.pool, shape.resource)
                assert (team.name in shape.teams) == (
                    quota is not None and quota.nominal + quota.borrow >= need
                )
                assert (team.name in shape.guaranteed) == (
                    quota is not None and quota.nominal >= need
                )
    assert placed > 2


def test_every_quota_is_of_a_resource_that_nodes_of_its_pool_advertise():
    for found in plans():
        quotas = [q for t in found.teams for q in t.quotas] + list(found.queueing.unassigned)
        for quota in quotas:
            pool = found.pool(quota.pool)
            assert quota.resource in {a.resource for a in pool.advertised}
            name, _, unit = pool.stack_file_key(quota.resource).partition("/")
            assert pool.find_advertised_resource(unit).resource == quota.resource
            assert name == pool.name
