"""Which nodes a deployment checks, and what it says of the others."""

from gpuyard_core.findings import Severity
from kit.every import every
from kit.stacks import cut_pool, findings, only, plan_of, platform, pool

LATER = "of train (0 of 4) only nodes that run from the start are checked: later nodes are not"
IMAGE = {"image": "registry.example.org/ml/base:1"}
OURS = {"cloud": "aws", "system": {"machine": "m7i.xlarge", "nodes": 2}}


def asked(*pools, validation=None, **more):
    return platform(list(pools), validation=validation or IMAGE, **more)


def test_nothing_is_decided_when_nothing_is_asked():
    assert plan_of(platform()).validation is None


def test_the_nodes_that_run_from_the_beginning_are_checked():
    plan = plan_of(asked(pool(nodes="1..4"), cut_pool(nodes=2), **OURS))
    assert [(p.pool, p.nodes, p.skip_reason, p.checks_any_node) for p in plan.validation.pools] == [
        ("train", 1, "", True),
        ("serve", 2, "", True),
    ]
    found = plan.validation
    assert (found.profile, found.required, found.deadline_seconds) == ("quick", True, 1800)


def test_a_pool_without_a_floor_is_put_off_and_that_is_said():
    raw = asked(pool(nodes="0..4"), validation=IMAGE | {"gate": "none"}, **OURS)
    assert [p.checks_any_node for p in plan_of(raw).validation.pools] == [False]
    said = [f for f in findings(raw) if f.id.startswith("validation.")]
    assert [(f.severity, f.problem) for f in said] == [
        (
            Severity.INFO,
            LATER,
        )
    ]


@every(
    "more, lacks",
    [
        ({}, ""),
        ({"cloud": "simulated"}, ""),
        (OURS, ""),
        ({"gpu_operator": {"install": False}}, ""),
    ],
)
def test_an_operator_of_anybody_shows_a_pod_all_gpus(more, lacks):
    assert plan_of(asked(pool(), **more)).validation.pools[0].skip_reason == lacks


def test_a_cluster_that_sends_jobs_away_has_no_nodes_to_check():
    raw = platform(
        [pool()],
        validation=IMAGE,
        queueing={
            "clusters": [{"name": "east", "secret": "east-kubeconfig"}],
        },
    )
    said = [f.problem for f in findings(raw) if f.id == "validation.deferred"]
    assert said == ["this platform has no nodes: the worker clusters validate their own"]


def test_claimed_gpus_are_shown_to_nobody():
    finding = only(asked(pool(sharing="dra"), cloud="simulated"))
    assert finding.id == "validation.impossible"
    assert "it uses resource claims" in finding.problem


def test_a_check_that_does_not_run_is_never_called_passed():
    finding = only(platform(validation={}))
    assert (finding.id, finding.severity, finding.path) == (
        "validation.impossible",
        Severity.ERROR,
        ("validation",),
    )
    assert str(finding) == (
        "validation: required, but no validation image is configured: no node is checked\n  fix: "
        "write an image with Python 3.11 or newer with nvidia-ml-py under validation.image, or "
        "write required: false"
    )
    told = only(platform(validation={"required": False}))
    assert (told.id, told.severity, told.fix) == ("validation.deferred", Severity.INFO, None)


LABELS = "later nodes of train are checked and labelled, but run jobs before the result"
YOURS = (
    "you create the nodes of train: they run jobs before they are checked, unless their "
    "kubelets start with "
    "--register-with-taints=startup-taint.cluster-autoscaler.kubernetes.io/gpuyard-check=unchecked:NoSchedule"
)


@every(
    "validation, more, gate, notes",
    [
        ({}, OURS, "taint", []),
        ({"required": False}, OURS, "label", [LABELS]),
        ({"required": False, "gate": "taint"}, OURS, "taint", []),
        ({"gate": "label"}, OURS, "label", [LABELS]),
        ({"gate": "none"}, OURS, "", [LATER]),
        ({}, {}, "taint", [YOURS]),
        ({"gate": "label"}, {}, "label", []),
        ({}, {"cloud": "simulated"}, "taint", []),
    ],
)
def test_nodes_that_come_later_wait_where_only_a_passed_check_counts(validation, more, gate, notes):
    nodes = "0..4" if more == OURS else 4
    raw = asked(pool(nodes=nodes), validation=IMAGE | validation, **more)
    plan = plan_of(raw)
    assert [p.gate for p in plan.validation.pools] == [gate]
    assert plan.validation.checks_any_node is bool(gate)
    startup = plan.startup_taints(plan.pools[0])
    assert [t.value for t in startup] == (["unchecked"] if gate == "taint" else [])
    assert plan.initial_taints(plan.pools[0]) == (*plan.pools[0].taints, *startup)
    assert [f.problem for f in findings(raw) if f.id == "validation.deferred"] == notes


@every(
    "raw",
    [
        platform(),
        platform(validation={"required": False}),
        asked(pool(sharing="dra"), validation=IMAGE | {"required": False}, cloud="simulated"),
    ],
)
def test_what_is_not_checked_waits_for_nothing(raw):
    plan = plan_of(raw)
    assert plan.startup_taints(plan.pools[0]) == ()
    assert plan.validation is None or not plan.validation.checks_any_node


@every("sharing", [{}, {"time_slicing": 4}, {"mig": {"1g.5gb": 7}}])
def test_nodes_that_gke_serves_by_itself_say_nothing_that_the_check_waits_for(sharing):
    """What counts GPUs by a label is the operator's, and it is kept off them."""
    place = {"machine": "a2-highgpu-8g", "zones": ["us-central1-a"], "nodes": 2}
    raw = platform(
        [pool(**place), pool("dev", image="cos-gke", sharing=sharing, **place)],
        cloud="gcp",
        validation={**IMAGE, "required": False, "profile": "full"},
    )
    train, dev = plan_of(raw).validation.pools
    assert (train.skip_reason, train.checks_any_node) == ("", True)
    lacks = (
        "the GPU Operator does not run on its nodes, so no runtime class exposes all GPUs to a pod"
    )
    assert (dev.skip_reason, dev.checks_any_node, dev.runs_share_checks, dev.gate) == (
        lacks,
        False,
        False,
        "",
    )
    assert any(f"the nodes of dev are not checked: {lacks}" == f.problem for f in findings(raw))
