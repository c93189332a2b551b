"""The recording rules: each passes the query contract, and promtool evaluates what they record."""

import re
from pathlib import Path

import pytest
import yaml

from gpuyard.cli.stacks import validate_stack
from gpuyard.render.observability.contract import check_query
from gpuyard.render.observability.facts import node_labels, state_metrics_label
from gpuyard.render.observability.rules import (
    check_rules,
    query_scope,
    recording_rules,
    rule_groups,
)
from gpuyard.render.observability.targets import targets
from kit import promtool
from kit.generated.fleets import POOLS, SAMPLES, Node, plan_of_claims, plan_of_modes, series_of
from kit.promtool import sample, series
from kit.stacks import plan_of, platform, pool

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
RESERVED = {"mode": "reserved", "reservation": "cr-0123456789abcdef0", "nodes": 2}


@pytest.mark.parametrize("stack", SHIPPED, ids=lambda path: path.stem)
def test_the_rules_of_each_shipped_stack_keep_the_contract(stack):
    plan = validate_stack(str(stack)).plan
    assert [str(each) for each in check_rules(plan)] == []


def test_the_rules_of_all_sharing_modes_keep_the_contract():
    for plan in (plan_of_modes(), plan_of_claims()):
        assert [str(each) for each in check_rules(plan)] == []


GOLDEN = sorted((ROOT / "tests" / "golden_stacks").glob("*.yaml"))


@pytest.mark.parametrize("stack", GOLDEN, ids=lambda path: path.stem)
def test_the_rules_of_each_golden_stack_keep_the_contract(stack):
    raw = yaml.safe_load(stack.read_text(encoding="utf-8"))
    plan = plan_of(raw["config"]["gpuyard:platform"])
    assert [str(each) for each in check_rules(plan)] == []


def test_kube_state_metrics_exports_the_labels_that_tell_pools_and_capacity_apart():
    assert node_labels(plan_of_modes()) == (
        "eks.amazonaws.com/capacityType",
        "eks.amazonaws.com/nodegroup",
        "gpuyard.dev/pool",
    )
    assert state_metrics_label("eks.amazonaws.com/capacityType") == (
        "label_eks_amazonaws_com_capacity_type"
    )


def nodes_by_capacity(plan, of="train"):
    """The selector of the nodes of each capacity mode."""
    return {
        rule["labels"]["capacity"]: rule["expr"].split(f'label_gpuyard_dev_pool="{of}"')[1]
        for rule in rule_groups(plan)[0]["rules"]
        if rule["record"] == "gpuyard:node:info" and rule["labels"]["pool"] == of
    }


def test_reserved_and_on_demand_nodes_with_equal_labels_are_told_apart_by_their_node_group():
    on_eks = [pool(capacity=[RESERVED, "on-demand"], zones=["us-east-1a"], nodes="0..4")]
    start = ', label_eks_amazonaws_com_capacity_type="ON_DEMAND", label_eks_amazonaws_com_nodegroup'
    group = f'"train-reserved-{RESERVED["reservation"]}"}})'
    assert nodes_by_capacity(plan_of(platform(on_eks, cloud="aws"))) == {
        "reserved": f"{start}=~{group}",
        "on-demand": f"{start}!~{group}",
    }
    reserved = {**RESERVED, "reservation": "mine"}
    on_gke = [
        pool(
            machine="a3-highgpu-8g",
            capacity=[reserved, "on-demand"],
            zones=["us-central1-a"],
            nodes="0..4",
        )
    ]
    found = nodes_by_capacity(plan_of(platform(on_gke, cloud="gcp")))
    assert [
        each.partition("label_cloud_google_com_gke_nodepool")[2][:10] for each in found.values()
    ] == [
        '=~"train-r',
        '!~"train-r',
    ]


def test_nodes_without_groups_of_gpuyard_are_on_demand_where_labels_do_not_tell():
    """Simulated nodes have no label of a capacity option."""
    pools = [pool(capacity=["spot", "on-demand"], nodes="0..4")]
    assert nodes_by_capacity(plan_of(platform(pools, cloud="simulated"))) == {"on-demand": "})"}


def test_a_target_that_the_stack_file_does_not_set_has_no_rule():
    names = {"idle_percent": 20}, {"utilisation_percent": "65..85"}
    found = [[each.name for each in targets(plan_of(platform(targets=t)))] for t in names]
    assert found == [["idle"], ["utilisation_min", "utilisation_max"]]


def test_a_query_may_read_what_the_rules_record():
    scope = query_scope(plan_of_modes())
    assert check_query('sum by (team) (gpuyard:cost:dollars_per_hour{part="used"})', scope) == []
    assert [f.id for f in check_query("sum by (tam) (gpuyard:gpus_used:sum)", scope)] == [
        "metric.label"
    ]


# ── in a real Prometheus ─────────────────────────────────────────────────────────────────────────────


def expected(expression, *samples):
    return promtool.expected(expression, *samples, at=SAMPLES // 2)


def held(metric, value, pod, gpu=0, node="whole-0", **labels):
    place = {"pool": "whole", "node": node, "UUID": f"GPU-{gpu}"}
    of_pod = {"exported_namespace": "vision", "exported_pod": pod} if pod else {}
    return series(metric, [f"{value}+0x{SAMPLES}"], **place, **of_pod, **labels)


def test_a_node_is_divided_into_used_idle_unallocated_and_unavailable_gpus():
    """Eight GPUs at $40 an hour: one half used, one unallocated, six not measured; one node more on demand."""
    nodes = [
        series("kube_node_labels", [f"1x{SAMPLES}"], node=node, label_gpuyard_dev_pool="whole")
        for node in ("whole-0", "whole-1")
    ]
    gpus = [
        held("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.5, "a"),
        held("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0, "", gpu=1),
        held("DCGM_FI_DEV_FB_USED", 1024, "a"),
    ]
    price = (40 + 55.04) / 2 / 8
    of_team = {"class": "none", "pool": "whole", "team": "vision"}
    tests = [
        {
            "interval": "30s",
            "input_series": [*nodes, *gpus],
            "promql_expr_test": [
                expected(
                    'round(sum by (pool, team, class, part) (gpuyard:cost:dollars_per_hour{pool="whole"}), 1e-6)',
                    sample(round(price / 2, 6), part="used", **of_team),
                    sample(round(price / 2, 6), part="allocated_idle", **of_team),
                    sample(round(price, 6), part="unallocated", pool="whole"),
                    sample(round(14 * price, 6), part="overhead", pool="whole"),
                ),
                expected(
                    'round(sum(gpuyard:bill:dollars_per_hour{pool="whole"}), 0.01)', sample(95.04)
                ),
                expected('sum(gpuyard:bill:dollars_per_hour{pool="commitment"})', sample(0)),
                expected("sum(gpuyard:pod_gpu_memory_used:bytes)", sample(2**30)),
                expected("sum(gpuyard:pod_gpu_memory_allocated:bytes)", sample(80 * 2**30)),
                expected("sum(gpuyard:gpus_fragmented:sum)", sample(1)),
            ],
        },
        {
            "interval": "30s",
            "input_series": [],
            "promql_expr_test": [
                expected(
                    "gpuyard:cost:dollars_per_hour",
                    {
                        "labels": 'gpuyard:cost:dollars_per_hour{part="commitment", pool="commitment"}',
                        "value": 40,
                    },
                )
            ],
        },
    ]
    promtool.check_rules(plan_of_modes(), tests)


# ── how many series ──────────────────────────────────────────────────────────────────────────────────

ACTIVITY = "(DCGM_FI_PROF_GR_ENGINE_ACTIVE or DCGM_FI_DEV_GPU_UTIL)"
HELD = 'DCGM_FI_PROF_GR_ENGINE_ACTIVE{exported_pod!=""} or DCGM_FI_DEV_GPU_UTIL{exported_pod!=""}'
QUEUES = "count(group by (cluster_queue) (kueue_pending_workloads))"
COUNTED = {
    "nodes": "count(group by (node) (kube_node_labels))",
    "gpus": "count(group by (node, UUID) (DCGM_FI_DEV_FB_USED))",
    "devices": f"count(group by (node, UUID, GPU_I_ID, GPU_I_PROFILE) {ACTIVITY})",
    "pods": f"count(group by (UUID, GPU_I_ID, exported_namespace, exported_pod) ({HELD}))",
    "groups": "count(group by (pool, team, class, slice) (gpuyard:device_allocated:gpus))",
    "queues": QUEUES,
    "priorities": "2",
    "pools": str(len(POOLS) + 1),
    "teams": "3",
    "commitments": "1",
}
"""The variables of `series` in recording_rules.yaml, counted in what exporters serve."""


def queue_series():
    for name in ("a", "b"):
        queue = {"cluster_queue": name}
        yield series("kueue_pods_ready_to_evicted_time_seconds_sum", ["5"] * SAMPLES, **queue)
        for status in ("active", "inadmissible"):
            labels = {"status": status, "replica_role": "leader", **queue}
            yield series("kueue_pending_workloads", ["3"] * SAMPLES, **labels)
        yield series("kueue_admitted_active_workloads", ["3"] * SAMPLES, **queue)
        for priority in ("research", "production"):
            for bound in ("60", "+Inf"):
                labels = {"priority_class": priority, "le": bound, **queue}
                values = [str(each) for each in range(SAMPLES)]
                yield series("kueue_admission_wait_time_seconds_bucket", values, **labels)


def test_no_rule_records_more_series_than_its_file_states():
    """Two nodes of each pool, whose exporters have restarted and whose GPUs have changed pods."""
    stated = {}
    for rule in (each for rules in recording_rules().values() for each in rules):
        labels = ", ".join(f'{k}="{v}"' for k, v in rule.get("labels", {}).items() if v)
        stated[f"{rule['record']}{{{labels}}}"] = str(rule["series"])
    plan, always = plan_of_modes(), (0, SAMPLES)
    nodes = {
        each.name: [
            Node(option.mode, always, always, has_other_layout=False, more_gpus=0, seed=number)
            for number, option in enumerate((*each.capacity_options, each.capacity_options[0]))
        ]
        for each in plan.pools
    }
    inputs = [*series_of(plan, nodes), *queue_series()]
    word = re.compile(r"[a-z]+")
    checks = []
    for selector, formula in stated.items():
        most = word.sub(lambda found: f"({COUNTED[found[0]]})", formula)
        checks.append(expected(f"count({selector}) > ({most})"))
        checks.append(expected(f"absent({selector})"))
    tests = [{"interval": "30s", "input_series": inputs, "promql_expr_test": checks}]
    promtool.check_rules(plan, tests)


def test_a_node_with_a_fraction_of_a_gpu_is_allocated_as_a_whole():
    """The bill is that of the node: an eighth of an L4 that a pod holds leaves nothing unallocated."""
    node = series(
        "kube_node_labels", [f"1x{SAMPLES}"], node="fraction-0", label_gpuyard_dev_pool="fraction"
    )
    engine = held("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.5, "a", node="fraction-0")
    test = {
        "interval": "30s",
        "input_series": [node, engine],
        "promql_expr_test": [
            expected('sum(gpuyard:gpus_unallocated:sum{pool="fraction"})', sample(0)),
            expected('sum(gpuyard:gpus_used:sum{pool="fraction"})', sample(0.5)),
            expected("sum(gpuyard:pod_gpu_memory_allocated:bytes)", sample(3 * 2**30)),
        ],
    }
    promtool.check_rules(plan_of_modes(), [test])


def test_the_class_of_a_pod_is_its_label_in_kube_state_metrics():
    """The DCGM exporter has no labels of pods on shared GPUs and of pods with claims."""
    node = series(
        "kube_node_labels", [f"1x{SAMPLES}"], node="slices-0", label_gpuyard_dev_pool="slices"
    )
    names = {"a": "training", "b": "", "c": None}
    place = {"node": "slices-0", "UUID": "GPU-0", "exported_namespace": "vision"}
    engine = [
        series(
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
            [f"0.5+0x{SAMPLES}"],
            vgpu=pod,
            exported_pod=pod,
            **place,
        )
        for pod in names
    ]
    labels = [
        series(
            "kube_pod_labels",
            [f"1x{SAMPLES}"],
            namespace="vision",
            pod=pod,
            label_gpuyard_dev_class=name,
        )
        for pod, name in names.items()
        if name is not None
    ]
    found = "sum by (class) (gpuyard:gpus_allocated:sum)"
    classes = [sample(0.5, **{"class": "none"}), sample(0.25, **{"class": "training"})]
    tests = [
        {
            "interval": "30s",
            "input_series": [node, *engine, *labels],
            "promql_expr_test": [expected(found, *classes)],
        }
    ]
    promtool.check_rules(plan_of_modes(), tests)
