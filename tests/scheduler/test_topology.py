"""Where queues tie pods to nodes: annotations, flavors that do not go with them, and Kueue's own choice."""

import json
from itertools import product

import pytest

from gpuyard_advisor.explain import Verdict, explain
from gpuyard_advisor.explain.running import read_running
from gpuyard_advisor.scheduler.model import EMPTY
from gpuyard_advisor.scheduler.nodes import Nodes
from gpuyard_advisor.scheduler.topology import (
    GROUP,
    LAYERS,
    PREFERRED,
    REQUIRED,
    SLICE_LEVEL,
    SLICE_SIZE,
    UNCONSTRAINED,
    TopologyRequest,
    find_placement,
    topology_mismatch,
    topology_request,
)
from gpuyard_advisor.workloads import read_job
from gpuyard_core.names import HOSTNAME_LABEL, ZONE_LABEL
from kit.cases.explain import job
from kit.every import every
from kit.stacks import findings, plan_of, platform, pool, team

GPU = "nvidia.com/gpu"
LEVELS = ("block", "rack", "host")


# ── what is written ───────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("annotations", "near"),
    [
        ({}, None),
        ({"other": "x"}, None),
        ({REQUIRED: "rack"}, TopologyRequest("required", "rack")),
        ({PREFERRED: "rack"}, TopologyRequest("preferred", "rack")),
        ({UNCONSTRAINED: "true"}, TopologyRequest("unconstrained")),
        ({UNCONSTRAINED: "False"}, TopologyRequest("unconstrained")),
        ({SLICE_LEVEL: "rack", SLICE_SIZE: "4"}, TopologyRequest("", "", "rack", 4)),
        (
            {REQUIRED: "block", SLICE_LEVEL: "rack", SLICE_SIZE: "2"},
            TopologyRequest("required", "block", "rack", 2),
        ),
        (
            {
                LAYERS: '[{"topology": "block", "size": 8}, {"topology": "rack", "size": 4},'
                ' {"topology": "host", "size": 2}]'
            },
            TopologyRequest("", "", "block", 8, (("rack", 4), ("host", 2))),
        ),
        ({PREFERRED: "rack", GROUP: "g"}, TopologyRequest("preferred", "rack", group="g")),
    ],
)
def test_annotations_are_read_as_kueue_reads_them(annotations, near):
    assert topology_request(annotations, 8) == near


@every(
    ("annotations", "wrong"),
    [
        ({REQUIRED: "a", PREFERRED: "b"}, "more than one of"),
        ({UNCONSTRAINED: "yes"}, "'yes' is neither true nor false"),
        ({SLICE_LEVEL: "rack"}, "go together"),
        ({SLICE_SIZE: "2"}, "go together"),
        ({SLICE_LEVEL: "rack", SLICE_SIZE: "9"}, "'9' is not a number from 1 to 8"),
        ({SLICE_LEVEL: "rack", SLICE_SIZE: "0"}, "not a number"),
        ({SLICE_LEVEL: "rack", SLICE_SIZE: "two"}, "not a number"),
        ({LAYERS: "[]"}, "not a JSON list of 1 to 3"),
        ({LAYERS: "rack"}, "not a JSON list"),
        ({LAYERS: '{"topology": "rack", "size": 2}'}, "not a JSON list"),
        ({LAYERS: '[{"topology": "rack"}]'}, "not a JSON list"),
        ({LAYERS: '[{"topology": "rack", "size": 2}, 3]'}, "not a JSON list"),
        (
            {LAYERS: '[{"topology": "rack", "size": 2}, {"topology": "rack", "size": 1}]'},
            "names a topology twice",
        ),
        ({LAYERS: '[{"topology": "rack", "size": 9}]'}, "sizes must be from 1 to 8"),
        (
            {LAYERS: '[{"topology": "rack", "size": 4}, {"topology": "host", "size": 0}]'},
            "sizes must be from 1",
        ),
        (
            {LAYERS: '[{"topology": "rack", "size": 4}, {"topology": "host", "size": 3}]'},
            "3 does not divide 4",
        ),
        ({LAYERS: "[]", SLICE_SIZE: "2"}, "excludes"),
        ({GROUP: "12", REQUIRED: "rack"}, "must not be a number"),
        ({GROUP: "g"}, "requires"),
        ({GROUP: "g", UNCONSTRAINED: "true"}, "requires"),
        (
            {GROUP: "g", REQUIRED: "block", SLICE_LEVEL: "rack", SLICE_SIZE: "2"},
            "exclude each other",
        ),
    ],
)
def test_what_kueue_refuses_is_said(annotations, wrong):
    near = topology_request(annotations, 8)
    assert near is not None
    assert wrong in near.error


@pytest.mark.parametrize(
    ("near", "levels", "everywhere", "why"),
    [
        (None, None, False, ""),
        (None, LEVELS, True, ""),
        (None, LEVELS, False, "only jobs with a topology annotation"),
        (TopologyRequest("unconstrained"), None, False, "the pool has none"),
        (TopologyRequest("unconstrained"), LEVELS, False, ""),
        (TopologyRequest("required", "rack"), LEVELS, True, ""),
        (
            TopologyRequest("required", "row"),
            LEVELS,
            True,
            "no level row; levels are block, rack, host",
        ),
        (TopologyRequest("", "", "row", 2), LEVELS, True, "no level row"),
        (
            TopologyRequest("required", "rack", "block", 2),
            LEVELS,
            True,
            "block, which is wider than rack",
        ),
        (TopologyRequest("required", "block", "rack", 2), LEVELS, True, ""),
        (TopologyRequest("required", "rack", "rack", 2), LEVELS, True, ""),
        (TopologyRequest("", "", "block", 4, (("host", 2),)), LEVELS, True, ""),
        (
            TopologyRequest("", "", "rack", 4, (("block", 2),)),
            LEVELS,
            True,
            "block, which is wider than rack",
        ),
        (TopologyRequest("", "", "block", 4, (("row", 2),)), LEVELS, True, "no level row"),
    ],
)
def test_flavors_and_words_that_do_not_go_together(near, levels, everywhere, why):
    found = topology_mismatch(near, levels, everywhere=everywhere)
    assert (why in found) if why else found == ""


# ── which nodes ───────────────────────────────────────────────────────────────────────────────────
def nodes(*free, running=True):
    """Nodes by block and rack, with what is free on each."""
    return tuple(
        Nodes({GPU: gpus, "pods": 110}, count, running, where=where) for where, gpus, count in free
    )


def left(found):
    """What is free on each node afterwards, by where it is."""
    return sorted((n.where, n.free[GPU]) for n in found.free for _ in range(n.count))


TREE = nodes((("a", "1"), 8, 2), (("a", "2"), 8, 1), (("b", "1"), 8, 2))


@pytest.mark.parametrize(
    ("near", "count", "fits", "best"),
    [
        (TopologyRequest("required", "rack"), 2, True, 2),
        (TopologyRequest("required", "rack"), 3, False, 2),
        (TopologyRequest("required", "block"), 3, True, 3),
        (TopologyRequest("required", "block"), 4, False, 3),
        (TopologyRequest("required", "host"), 1, True, 1),
        (TopologyRequest("required", "host"), 2, False, 1),
        (TopologyRequest("preferred", "host"), 5, True, 5),
        (TopologyRequest("preferred", "rack"), 6, False, 5),
        (TopologyRequest("unconstrained"), 5, True, 5),
        (None, 5, True, 5),
        (None, 6, False, 5),
        (TopologyRequest("", "", "rack", 2), 4, True, 4),
        (TopologyRequest("", "", "rack", 2), 6, False, 4),
        (TopologyRequest("required", "block", "rack", 2), 2, True, 2),
        (TopologyRequest("required", "block", "rack", 2), 4, False, 2),
    ],
)
def test_a_domain_must_hold_all_of_them(near, count, fits, best):
    found = find_placement(TREE, LEVELS, {GPU: 8}, count, near)
    assert (found.fits, found.best) == (fits, best)
    assert found.nodes == (count if fits else 0)
    assert sum(free for _, free in left(found)) == 40 - (8 * count if fits else 0)


def test_the_smallest_domain_that_holds_them_is_taken():
    found = find_placement(TREE, LEVELS, {GPU: 8}, 2, TopologyRequest("required", "block"))
    assert [free for where, free in left(found) if where[0] == "b"] == [0, 0]


def test_the_last_pods_go_to_the_smallest_rest_that_holds_them():
    room = nodes((("a", "1"), 8, 1), (("a", "1"), 3, 1), (("a", "1"), 2, 1))
    found = find_placement(room, LEVELS, {GPU: 1}, 10, TopologyRequest("required", "rack"))
    assert left(found) == [(("a", "1"), 0), (("a", "1"), 0), (("a", "1"), 3)]


def test_jobs_that_say_nothing_take_the_smallest_rests():
    room = nodes((("a", "1"), 8, 1), (("a", "1"), 3, 1), (("b", "1"), 2, 1))
    one = find_placement(room, LEVELS, {GPU: 3}, 1, None)
    assert [free for _, free in left(one)] == [0, 8, 2]
    many = find_placement(room, LEVELS, {GPU: 1}, 12, None)
    assert [free for _, free in left(many)] == [0, 1, 0]
    none = nodes((("a", "1"), 0, 1), (("a", "1"), 1, 1), (("a", "1"), 2, 1))
    assert [free for _, free in left(find_placement(none, LEVELS, {GPU: 1}, 3, None))] == [0, 0, 0]


def test_slices_stay_together_all_the_way_down():
    room = nodes((("a", "1"), 3, 1), (("a", "2"), 3, 1))
    found = find_placement(
        room, LEVELS, {GPU: 1}, 4, TopologyRequest("required", "block", "rack", 2)
    )
    assert [free for _, free in left(found)] == [1, 1]


def test_nodes_without_the_labels_are_not_looked_at():
    room = (*nodes((("a", "1"), 8, 1)), Nodes({GPU: 8, "pods": 9}, 3, running=True, where=None))
    found = find_placement(room, LEVELS, {GPU: 8}, 2, None)
    assert (found.fits, found.best) == (False, 1)


def test_labels_that_are_not_known_are_guessed_and_said():
    room = nodes(((), 8, 4))
    assert find_placement(
        room, LEVELS, {GPU: 8}, 4, TopologyRequest("required", "rack")
    ).is_estimated
    assert not find_placement(
        room, LEVELS, {GPU: 8}, 1, TopologyRequest("required", "host")
    ).is_estimated
    assert not find_placement(room, LEVELS, {GPU: 8}, 4, None).is_estimated
    assert find_placement(
        room, LEVELS, {GPU: 8}, 5, TopologyRequest("required", "rack")
    ).is_estimated


def test_nodes_that_start_and_nodes_that_have_the_job_already_are_told_apart():
    room = nodes((("a", "1"), 8, 2), running=False)
    first = find_placement(room, LEVELS, {GPU: 4}, 1, None)
    assert (first.nodes, first.started) == (1, 1)
    second = find_placement(first.free, LEVELS, {GPU: 4}, 1, None)
    assert (second.nodes, second.started) == (0, 0)


@every("free", [*product((0, 3, 8), repeat=3)])
@every("count", [1, 2, 3, 5])
def test_no_pod_is_lost_and_no_node_is_overdrawn(free, count):
    room = nodes(*(((name, "1"), gpus, 1) for name, gpus in zip("aab", free, strict=True)))
    for near in (None, TopologyRequest("required", "block"), TopologyRequest("preferred", "rack")):
        found = find_placement(room, LEVELS, {GPU: 2}, count, near)
        holds = [gpus // 2 for gpus in free]
        in_block = max(holds[0] + holds[1], holds[2])
        enough = in_block if near and near.mode == "required" else sum(holds)
        assert found.fits is (enough >= count)
        after = [f for _, f in left(found)]
        assert min(after) >= 0
        assert sum(free) - sum(after) == (2 * count if found.fits else 0)


# ── the whole answer ──────────────────────────────────────────────────────────────────────────────
def asked(plan, value, *running):
    state, problems = read_running(plan, list(running))
    assert not problems
    return explain(plan, read_job(value), state if running else EMPTY)


def gang(pods=3, gpus=8, namespace="vision", **annotations):
    value = job(pods=pods, gpus=gpus, namespace=namespace)
    notes = {f"kueue.x-k8s.io/podset-{k}-topology": v for k, v in annotations.items()}
    value["spec"]["template"].setdefault("metadata", {})["annotations"] = notes
    return value


def zoned(*, cloud="simulated", **changes):
    raw = pool(**{"nodes": 5, "zones": ["a", "b"], "topology": True} | changes)
    most = 8 * int(str(raw["nodes"]).split("..")[-1])
    return plan_of(platform([raw], [team("vision", guarantee={"train": most})], cloud=cloud))


def test_a_gang_that_fits_in_a_zone_starts():
    found = asked(zoned(), gang(required=ZONE_LABEL))
    assert (found.verdict, found.nodes, found.conditions) == (Verdict.STARTS, 3, ())


def test_a_gang_that_fits_in_no_zone_never_starts_and_the_nearest_change_is_tried():
    found = asked(zoned(), gang(4, required=ZONE_LABEL))
    assert found.verdict is Verdict.NEVER
    assert not found.admitted
    assert "the best of train fits 3 of 4 pods" in found.message
    assert found.changes[0].value == {"kueue.x-k8s.io/podset-preferred-topology": ZONE_LABEL}


def test_what_prefers_already_is_not_told_to_prefer():
    found = asked(zoned(), gang(6, preferred=ZONE_LABEL))
    assert found.verdict is Verdict.NEVER
    assert not any(PREFERRED in c.message for c in found.changes)


def test_a_zone_that_is_taken_now_is_waited_for_in_the_queue():
    row = {
        "team": "vision",
        "pool": "train",
        "pods": 1,
        "gpus": 8,
        "nodes": ["train-000"],
        "name": "old",
    }
    found = asked(zoned(), gang(required=ZONE_LABEL), row)
    assert (found.verdict, found.admitted) == (Verdict.WAITS, False)
    (condition,) = found.conditions
    assert condition.startswith(
        f"when one {ZONE_LABEL} of train has capacity for 3 pods with 8 {GPU},"
    )
    assert condition.endswith("for example when old of team vision ends")
    assert "stays in its queue" in found.meanwhile
    assert found.message.endswith("preemption cannot free enough capacity there")


def test_where_nobody_is_evicted_nobody_may_be():
    raw = pool(nodes=5, zones=["a", "b"], topology=True)
    plan = plan_of(
        platform(
            [raw],
            [team("vision", guarantee={"train": 40})],
            cloud="simulated",
            queueing={"preemption": "never"},
        )
    )
    row = {"team": "vision", "pool": "train", "pods": 1, "gpus": 8, "nodes": ["train-000"]}
    assert asked(plan, gang(required=ZONE_LABEL), row).cautions == ()


def test_preferred_and_unconstrained_are_fine_anywhere():
    for notes in ({"preferred": ZONE_LABEL}, {"unconstrained": "true"}, {}):
        found = asked(zoned(), gang(5, **notes))
        assert (found.verdict, found.nodes) == (Verdict.STARTS, 5)


def test_fragments_keep_a_job_in_its_queue_that_a_quota_would_admit():
    row = {
        "team": "vision",
        "pool": "train",
        "pods": 5,
        "gpus": 5,
        "nodes": [f"train-00{n}" for n in range(5)],
    }
    found = asked(zoned(), gang(1, 6), row)
    assert (found.verdict, found.admitted) == (Verdict.WAITS, False)
    assert "the nodes of train fit none of 1 pod" in found.message
    assert found.conditions[0].startswith("when nodes of train have capacity for 1 pod")


def test_a_level_that_is_not_there_never_matches_and_the_levels_are_named():
    found = asked(zoned(), gang(required="example.com/rack"))
    assert found.verdict is Verdict.NEVER
    assert f"levels are {ZONE_LABEL}, {HOSTNAME_LABEL}" in found.message
    assert REQUIRED in found.changes[0].message


def test_annotations_that_kueue_refuses_are_never_admitted():
    found = asked(zoned(), gang(required=ZONE_LABEL, preferred=ZONE_LABEL))
    assert found.verdict is Verdict.NEVER
    assert "Kueue does not accept its topology annotations: more than one of" in found.message


def test_in_a_mixed_queue_the_annotation_leads():
    plan = plan_of(
        platform(
            [pool(nodes=2, topology=True, zones=["a"]), pool("dev", nodes=2)],
            [team("vision", guarantee={"train": 16, "dev": 16})],
            cloud="simulated",
        )
    )
    assert asked(plan, gang(2)).pools == ("dev",)
    assert asked(plan, gang(2, unconstrained="true")).pools == ("train",)
    assert asked(plan, gang(2, required="x.y/z")).verdict is Verdict.NEVER


def test_a_job_is_told_to_annotate_where_only_that_leads_to_its_nodes():
    plan = plan_of(
        platform(
            [pool(nodes=2, topology=True, zones=["a"]), pool("dev", nodes=1)],
            [team("vision", guarantee={"train": 16, "dev": 8})],
            cloud="simulated",
        )
    )
    found = asked(plan, gang(2))
    assert found.verdict is Verdict.NEVER
    assert found.changes[0].value == {UNCONSTRAINED: "true"}


def test_labels_of_nodes_that_run_count_and_unknown_ones_are_said():
    plan = zoned(cloud="aws", machine="p5.48xlarge", zones=["us-east-1a"], nodes=4)
    level = plan.pools[0].topology.levels[1]
    guess = asked(plan, gang(4, required=level))
    assert guess.verdict is Verdict.STARTS
    assert any("known only once they run" in c for c in guess.cautions)

    def node(number, value):
        names = {**dict.fromkeys(plan.pools[0].topology.levels, "n1"), level: value}
        labels = {**plan.pools[0].node_selector, **names}
        return {"kind": "Node", "metadata": {"name": f"ip-{number}", "labels": labels}}

    live = [node(1, "x"), node(2, "x"), node(3, "y"), node(4, "y")]
    never = asked(plan, gang(4, required=level), *live)
    assert never.verdict is Verdict.NEVER
    assert "the best of train fits 2 of 4" in never.message
    (fabric,) = asked(plan, gang(2, required=level), *live).cautions
    assert "without vpc.amazonaws.com/efa" in fabric
    row = {"team": "vision", "pool": "train", "pods": 1, "gpus": 8, "nodes": ["ip-9"]}
    assert asked(plan, gang(3, required=level), row).verdict is Verdict.STARTS
    del live[3]["metadata"]["labels"][level]
    assert asked(plan, gang(4), *live).verdict is Verdict.NEVER, "a node without the label"


def test_a_queue_starts_no_nodes_and_one_that_asks_first_does():
    raw = {"nodes": "1..4", "machine": "a2-highgpu-8g", "zones": ["us-central1-a"], "scaling": None}
    waits = asked(zoned(cloud="gcp", **raw | {"scaling": "autoscaler"}), gang(3))
    assert waits.verdict is Verdict.NEVER
    assert any("(1 of at most 4)" in c for c in waits.cautions)
    plan = zoned(cloud="gcp", **raw | {"scaling": "autoscaler", "provisioning": "atomic"})
    found = asked(plan, gang(3))
    assert (found.verdict, found.nodes_to_start) == (Verdict.STARTS, {"train": 2})
    assert found.conditions[-1] == (
        "when the autoscaler of train has created its nodes (admission check lab-atomic)"
    )


def test_an_answer_that_would_be_no_is_foreseen():
    plan = zoned(topology=False, provisioning="check-capacity", nodes=2)
    row = {
        "team": "vision",
        "pool": "train",
        "pods": 2,
        "gpus": 4,
        "nodes": ["train-000", "train-001"],
    }
    assert asked(plan, gang(2)).conditions == (
        "when the autoscaler of train has confirmed capacity (admission check lab-check-capacity)",
    )
    found = asked(plan, gang(1), row)
    assert (found.verdict, found.admitted) == (Verdict.WAITS, False)
    assert "retries after 5 seconds" in found.meanwhile
    assert "2 times in all" in found.meanwhile


def test_a_look_at_nodes_that_run_does_not_reckon_with_others():
    raw = {"machine": "a2-highgpu-8g", "zones": ["us-central1-a"], "scaling": "autoscaler"}
    plan = zoned(cloud="gcp", nodes="1..4", topology=False, provisioning="check-capacity", **raw)
    assert asked(plan, gang(2)).verdict is Verdict.NEVER


def test_pods_that_keep_apart_are_not_seen_to():
    value = gang(2, 4)
    value["spec"]["template"]["metadata"]["labels"] = {"job": "x"}
    term = {"topologyKey": HOSTNAME_LABEL, "labelSelector": {"matchLabels": {"job": "x"}}}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    value["spec"]["template"]["spec"]["affinity"] = {"podAntiAffinity": rule}
    assert any("ignores pod anti-affinity" in c for c in asked(zoned(), value).cautions)


@pytest.mark.parametrize(
    ("pods", "sizes", "verdict", "says"),
    [
        (4, (4, 2), Verdict.STARTS, "on 2 nodes of train"),
        (8, (8, 2), Verdict.NEVER, "fit none of 8 pods"),
        (8, (4, 4), Verdict.STARTS, "on 2 nodes of train"),
    ],
)
def test_slices_lie_in_slices(pods, sizes, verdict, says):
    """Two nodes in each zone, of two such pods each, or four."""
    layers = [
        {"topology": level, "size": size}
        for level, size in zip((ZONE_LABEL, HOSTNAME_LABEL), sizes, strict=True)
    ]
    value = gang(pods, 4 if sizes[1] < 4 else 2)
    value["spec"]["template"]["metadata"]["annotations"] = {LAYERS: json.dumps(layers)}
    found = asked(zoned(nodes=4), value)
    assert (found.verdict, says in found.message) == (verdict, True), found.message
    if verdict is Verdict.NEVER:
        at = f"slices of 8 within one {ZONE_LABEL} and slices of 2 within one {HOSTNAME_LABEL}"
        assert at in found.message


def test_a_pod_says_it_in_its_own_annotations():
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "vision", "annotations": {REQUIRED: "x.y/z"}},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {GPU: "1"}}}]},
    }
    assert asked(zoned(), pod).verdict is Verdict.NEVER


def test_the_proof_of_a_wide_shape_and_the_answer_agree():
    wide = {"name": "wide", "nodes": 4, "gpus_per_node": 8}
    raw = platform(
        [pool(nodes=5, zones=["a", "b"], topology=True)],
        [team("vision", guarantee={"train": 40})],
        cloud="simulated",
        shapes=[wide],
    )
    assert "topology.block" in {f.id for f in findings(raw)}
    assert asked(plan_of(raw), gang(4, required=ZONE_LABEL)).verdict is Verdict.NEVER
