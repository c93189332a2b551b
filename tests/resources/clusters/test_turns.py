"""Several pools that change: what the second turn waits for."""

import pytest

from gpuyard.changes.deployed_state import deployed_state
from gpuyard.render.validation.jobs import check_name
from gpuyard.resources import Platform
from gpuyard.resources.clusters import change_preview
from kit.clouds.deployments import NAME, exported
from kit.components import waits_for
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool

IMAGE = {"image": "registry.example.org/ml/base:1"}


def of(**more):
    return platform([pool(), cut_pool(), shared_pool()], cloud="simulated", **more)


def before():
    """The same pools, two of them shared in another way."""
    cut, shared = {"mig": {"1g.5gb": 7}}, {"time_slicing": 2}
    pools = [pool(), cut_pool(sharing=cut), shared_pool(sharing=shared)]
    return platform(pools, cloud="simulated")


@pytest.fixture
def graph(pulumi_mocks, monkeypatch):
    """Of a deployment over that state, with everything consented to."""

    def made(state, raw):
        stand = deployed_state(exported(plan_of(state)))
        monkeypatch.setattr(change_preview, "last_known_state", lambda: stand)
        monkeypatch.setattr(change_preview, "change_findings", lambda plan, said: [])
        return pulumi_mocks.run(lambda: Platform(NAME, {"platform": raw}))

    return made


def nodes_of(graph, name):
    return {each for each in waits_for(graph, name) if each.startswith("Node:")}


@pytest.mark.parametrize("validation", [{}, {"validation": IMAGE}])
def test_the_others_wait_for_the_first_one_and_its_verdict(graph, validation):
    raw = of(**validation)
    made, plan = graph(before(), raw), plan_of(raw)
    waits = waits_for(made, f"{NAME}-dev:Node:dev-000")
    assert nodes_of(made, f"{NAME}-serve:Node:serve-000") == set()
    assert nodes_of(made, f"{NAME}-train:Node:train-000") == set()
    assert "Node:serve-000" in waits
    assert "Node:train-000" not in waits
    if validation:
        first, last = (check_name(plan, plan.pool(name)) for name in ("serve", "dev"))
        verdicts = {each for each in waits if each.endswith("-passed")}
        assert verdicts == {f"ConfigMap:gpu-operator/{first}-passed"}
        job = nodes_of(made, f"{NAME}-validation:Job:gpu-operator/{first}")
        assert {"Node:serve-000", "Node:train-000"} <= job
        assert "Node:dev-000" not in job
        assert "Node:dev-000" in nodes_of(made, f"{NAME}-validation:Job:gpu-operator/{last}")
        pools = made.one(name=NAME).registered_outputs["validation"]
        assert {each["verdict"] for each in pools.values()} == {"passed"}
    else:
        assert made.one(name=NAME).registered_outputs["validation"] == {}


def test_pools_get_another_driver_in_turns(graph):
    """The second one waits for the record and the verdict of the first, and its check for its own record."""
    raw = of(validation=IMAGE, software={"driver": "595.91.07"})
    made, plan = graph(of(validation=IMAGE, software={"driver": "580.178.04"}), raw), plan_of(raw)

    def record(name):
        return f"ConfigMap:gpuyard-lab/gpuyard-driver-{name}"

    data = made.one(name=f"{NAME}:{record('train')}").inputs["data"]
    assert data == {"driver": "595.91.07"}
    (first,) = [each for each in ("train", "serve", "dev") if not nodes_first(made, record(each))]
    for name in {"train", "serve", "dev"} - {first}:
        waits = waits_for(made, f"{NAME}:{record(name)}")
        verdict = f"ConfigMap:gpu-operator/{check_name(plan, plan.pool(first))}-passed"
        assert {record(first), verdict, "ClusterPolicy:cluster-policy"} <= waits
    for name in ("train", "serve", "dev"):
        job = f"{NAME}-validation:Job:gpu-operator/{check_name(plan, plan.pool(name))}"
        assert record(name) in waits_for(made, job)
    assert "ClusterPolicy:cluster-policy" in waits_for(made, f"{NAME}:{record(first)}")


def nodes_first(made, record):
    return [each for each in waits_for(made, f"{NAME}:{record}") if "gpuyard-driver-" in each]


@pytest.mark.parametrize("state", [of(), platform([pool("old")], cloud="simulated")])
def test_where_nothing_or_everything_is_new_nobody_waits(graph, state):
    made = graph(state, of(validation=IMAGE))
    for name in ("train", "serve", "dev"):
        assert nodes_of(made, f"{NAME}-{name}:Node:{name}-000") == set()


def test_turns_change_no_name_and_no_input(graph):
    """What the next deployment registers without them is what it finds."""
    raw = of(validation=IMAGE)
    first, second = graph(before(), raw), graph(raw, raw)
    assert {one.urn: one.inputs for one in first} == {one.urn: one.inputs for one in second}
