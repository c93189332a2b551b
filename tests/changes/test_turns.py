"""Which pool goes first where several change, and when there is no first."""

from testbed.plugins.cloud.shapes import Place

from gpuyard.changes.announced import announced
from gpuyard.changes.deployed import stand_of
from gpuyard.changes.turns import turns
from gpuyard.render.cloud_graph import graph_of
from kit.clouds.deployments import Deployment, exported
from kit.every import every
from kit.generated.changed import planned
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

A, B, C = (pool(name, machine="p4d.24xlarge", nodes=2) for name in "abc")
MORE = {**A, "nodes": 1}
IDLE = {**A, "nodes": "0..4", "scaling": "autoscaler"}
ALL = ("a", "b", "c")


@every(
    "pools, teams, drained, shared, found",
    [
        ([A, B, C], [], ALL, (), (("a",), ("b", "c"))),
        ([B, A, C], [], ALL, (), (("b",), ("a", "c"))),
        ([A, B, C], [team("x", guarantee={"a": 8})], ALL, (), (("b",), ("a", "c"))),
        ([A, B], [team("x", guarantee={"a": 8, "b": 4})], "ab", (), (("b",), ("a",))),
        ([A, B, C], [team("x", guarantee={"a": 8})], "a", "bc", (("a",), ("b", "c"))),
        ([A, B, C], [], (), "cb", (("b",), ("c",))),
        ([IDLE, B], [], "ab", (), (("b",), ("a",))),
        ([B, MORE], [], "ab", (), (("a",), ("b",))),
        ([A, B, C], [], "a", "a", ()),
        ([A, B, C], [], (), (), ()),
        ([IDLE, {**IDLE, "name": "b"}], [], "ab", (), ()),
    ],
)
def test_who_is_missed_least_goes_first(pools, teams, drained, shared, found):
    plan = planned(platform(pools, teams, cloud="aws"), "aws")
    assert turns(plan, drained, shared) == found


def test_slices_count_as_their_share_of_a_node():
    """Two of sixteen slices are less than one GPU of eight."""
    pools = [pool("whole", machine="p4d.24xlarge", nodes=1), cut_pool()]
    teams = [team("x", guarantee={"whole": 4, "serve/1g.5gb": 2})]
    plan = plan_of(platform(pools, teams, cloud="simulated"))
    assert turns(plan, ["whole", "serve"], ()) == (("serve",), ("whole",))


def on_aws(minor, **more):
    pools = [pool(name, nodes="1..4", scaling="autoscaler", **more) for name in ("one", "two")]
    return planned(platform(pools, cloud="aws", kubernetes=minor), "aws")


def told(before, after, state):
    return announced(after, graph_of(after), stand_of(state(before))).turns


def test_in_a_cloud_those_whose_nodes_are_made_anew_take_turns():
    """A new minor; another machine, which replaces the group; and bounds, which drain nobody."""

    def state(plan):
        return Deployment(graph_of(plan), Place(cloud="aws", region="us-east-1")).export(plan)

    two = (("one",), ("two",))
    before = on_aws("1.34")
    assert told(before, on_aws("1.35"), state) == two
    assert told(before, on_aws("1.34", machine="p5en.48xlarge"), state) == two
    assert told(before, before, state) == ()


def test_a_driver_that_the_operator_exchanges_waits_for_no_pool():
    """It takes the nodes of all of them by itself."""
    old, new = (
        plan_of(platform([pool(), shared_pool()], software={"driver": driver}))
        for driver in ("580.159.03", "595.91.07")
    )
    assert announced(new, None, stand_of(exported(old))).losses
    assert told(old, new, exported) == ()
