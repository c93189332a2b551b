"""What holds of every platform and every job."""

from functools import cache

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import sizes
from gpuyard.plan import plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.spec.read import read_stack_file
from gpuyard_advisor.explain import Verdict, explain
from gpuyard_advisor.scheduler.model import PlatformState, Pods, RunningJob, SchedulerModel
from gpuyard_advisor.workloads import read_job
from gpuyard_core import names
from kit.cases.explain import job, said
from kit.generated import platforms
from kit.searches import examples

few = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@cache
def good() -> list[int]:
    """Made-up platforms that are not refused, and have somebody to use them."""
    return [n for n in platforms.KNOWN if (p := platforms.known(n)[0]) is not None and p.teams]


def numbers():
    """A good one's number; planned when a test asks, not when it is collected."""
    return st.sampled_from(good())


def plan_at(number) -> PlatformPlan:
    plan = platforms.known(number)[0]
    assert plan is not None
    return plan


@st.composite
def questions(draw):
    """A platform, and a job of one of its teams, mostly about something a pool has."""
    plan = plan_at(draw(st.deferred(numbers)))
    team = draw(st.sampled_from(plan.teams))
    offers = [a for p in plan.pools for a in p.advertised]
    offer = draw(st.sampled_from(offers))
    value = job(
        pods=draw(st.integers(0, 5)),
        gpus=draw(st.integers(0, offer.per_node + 1)),
        resource=draw(st.sampled_from([offer.resource, offer.resource, "nvidia.com/gpus"])),
        kind=draw(st.sampled_from(["Job", "Job", "Deployment", "Pod"])),
        namespace=team.default_namespace.name,
        requests={"cpu": draw(st.sampled_from([1, 8, 500]))},
    )
    if draw(st.integers(0, 5)) == 0:
        pool = draw(st.sampled_from(plan.pools))
        inner = value["spec"] if value["kind"] == "Pod" else value["spec"]["template"]["spec"]
        inner["nodeSelector"] = {"gpuyard.dev/pool": pool.stable_name}
    return plan, value


@st.composite
def states(draw, plan):
    """Jobs that run, within each team's quota."""
    jobs = []
    desk = SchedulerModel(plan, PlatformState())
    for number in range(draw(st.integers(0, 4))):
        team = draw(st.sampled_from(plan.teams))
        keys = [
            (q.pool, q.resource)
            for q in team.quotas
            if desk.quotas.available(team.name, (q.pool, q.resource)) > 0
        ]
        if not keys:
            continue
        key = draw(st.sampled_from(keys))
        amount = draw(st.integers(1, desk.quotas.available(team.name, key)))
        pods = (Pods(pool=key[0], requests={key[1]: 1}, count=amount),)
        jobs.append(
            RunningJob(
                name=f"j{number}", team=team.name, uses={key: amount}, pods=pods, since=number
            )
        )
        desk.quotas.take(team.name, jobs[-1].uses)
    return PlatformState(tuple(jobs))


def braked(plan):
    """Whether a brake is on: then jobs wait for nobody, but for its release."""
    return any(one.stop_policy for one in (*plan.teams, *plan.pools))


@few
@given(questions())
def test_on_an_empty_platform_nobody_waits_for_anybody(question):
    plan, value = question
    found = said(plan, value)
    if braked(plan):
        assert found.verdict is not Verdict.WAITS or "stop_policy" in found.message
    else:
        assert found.verdict in {Verdict.STARTS, Verdict.NEVER}
    assert found.preempts == ()
    assert not any("return" in c for c in found.conditions)
    if found.pods:  # of no pods at all, all have started whatever becomes of the job
        assert (found.pods_started == found.pods) is (found.verdict is Verdict.STARTS)


@few
@given(st.data())
def test_every_job_gets_an_answer_that_agrees_with_itself(data):
    plan, value = data.draw(questions())
    state = data.draw(states(plan))
    found = said(plan, value, state)
    assert found.message
    assert bool(found.conditions) >= (found.verdict is Verdict.WAITS)
    assert bool(found.meanwhile) is (found.verdict is Verdict.WAITS)
    assert not found.preempts or found.admitted or value["kind"] == "Deployment"
    assert {p.name for p in found.preempts} <= {j.name for j in state.jobs} | {"job"}
    if found.verdict is Verdict.NEVER:
        empty = said(plan, value)
        assert empty.verdict is Verdict.NEVER or empty.pools != found.pools


@few
@given(st.data())
def test_what_starts_on_a_busy_platform_without_evicting_fits_beside_the_others(data):
    plan, value = data.draw(questions())
    state = data.draw(states(plan))
    found = said(plan, value, state)
    assume(found.verdict is Verdict.STARTS and not found.preempts)
    team = next(t for t in plan.teams if t.name == found.team)
    for resource, amount in found.requests.items():
        hard = team.hard.get(f"requests.{resource}")
        if hard is not None:
            used = sum(
                n
                for j in state.jobs
                if j.team == team.name
                for (_, r), n in j.uses.items()
                if r == resource
            )
            assert used + amount <= hard


@few
@given(questions())
def test_a_change_that_is_named_was_tried(question):
    plan, value = question
    found = said(plan, value)
    assert bool(found.changes) <= (found.verdict is Verdict.NEVER)


def plans_with_shapes():
    """Of made-up platforms few have a shape that is proved; so the stacks that people wrote as well."""
    written = [sizes.ROOT / "stacks" / "Pulumi.local.yaml"]
    written += sorted((sizes.ROOT / "tests" / "golden_stacks").glob("*.yaml"))
    stacks = [plan_or_raise(read_stack_file(path.read_bytes(), path.name).spec) for path in written]
    return [plan for plan in (*map(plan_at, good()), *stacks) if plan.shapes]


def enough(plan, shape, team):
    """Whether the team has quota for all of the shape, and nobody has put the brake on."""
    quota = team.quota(shape.pool, shape.resource)
    stopped = team.stop_policy or plan.pool(shape.pool).stop_policy
    needs = shape.per_node * shape.nodes
    return not stopped and quota is not None and quota.nominal + quota.borrow >= needs


def job_of(plan, shape, team):
    pool = plan.pool(shape.pool)
    value = job(
        pods=shape.nodes,
        gpus=shape.per_node,
        resource=shape.resource,
        namespace=team.default_namespace.name,
        nodeSelector={"gpuyard.dev/pool": pool.stable_name},
        labels={names.QUEUE_LABEL: team.local_queue},
    )
    if pool.topology:
        note = {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}
        value["spec"]["template"].setdefault("metadata", {})["annotations"] = note
    return value


@pytest.mark.repeats("tests/plan, tests/explain, tests/rules, tests/scheduler")
def test_a_shape_that_is_proved_starts_for_a_team_with_quota_enough():
    cases = [
        (plan, shape, team)
        for plan in plans_with_shapes()
        for shape in plan.shapes
        for team in plan.teams
        if enough(plan, shape, team)
    ]
    assert len(cases) > 50
    for plan, shape, team in cases:
        found = said(plan, job_of(plan, shape, team))
        assert (found.verdict, found.pools) == (Verdict.STARTS, (shape.pool,)), found.message


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@few
@given(
    st.deferred(numbers),
    st.dictionaries(st.sampled_from(["spec", "metadata", "status"]), anything),
)
def test_no_manifest_makes_it_fail(number, value):
    for kind in ("Job", "Deployment", "JobSet"):
        read = read_job({**value, "kind": kind})
        assert read is not None
        assert explain(plan_at(number), read).message
