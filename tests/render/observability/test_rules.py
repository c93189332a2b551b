"""The recording rules: each passes the query contract, and the parts of the bill sum to it in a real Prometheus."""

import json
import random
import subprocess
from pathlib import Path

import pytest
import yaml

from gpuyard.cli.stacks import validate_stack
from gpuyard.render.observability.contract import check_query
from gpuyard.render.observability.facts import state_metrics_label
from gpuyard.render.observability.rules import (
    check_rules,
    node_labels,
    query_scope,
    rule_file,
    targets,
)
from kit.levels import require_level
from kit.stacks import cut_pool, plan_of, platform, pool, shared_pool, team

ROOT = Path(__file__).resolve().parents[3]
PROMTOOL = ROOT / ".testbed" / "bin" / "promtool"
SHIPPED = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
SHARED_MIG = {"mig": {"1g.5gb": 7}, "time_slicing": 2}
POOLS = [
    pool("whole", nodes="0..4"),
    pool("spot", machine="g6.12xlarge", capacity=["spot", "on-demand"], nodes="0..4"),
    cut_pool("mig"),
    shared_pool("slices"),
    shared_pool("mps", sharing={"mps": 4}),
    cut_pool("both", sharing=SHARED_MIG),
]
TEAMS = [team("vision", guarantee={"whole": 1}), team("speech", guarantee={"whole": 1})]
COMMITMENT = {"machine": "p5.48xlarge", "nodes": 1, "years": 1, "usd_per_hour": 40.0}
SAMPLES, SECONDS = 20, 30
TARGETS = {
    "utilisation_percent": "65..85",
    "memory_percent": 80,
    "idle_percent": 20,
    "wait_p95_minutes": {"research": 120},
}


def plan_of_modes():
    """Pools of all sharing modes that one cluster allows, system nodes, spot prices and a commitment."""
    prices = {"commitments": [COMMITMENT]}
    raw = platform(
        POOLS, TEAMS, cloud="aws", prices=prices, targets=TARGETS, priorities={"research": 10}
    )
    return plan_of(raw)


def plan_of_claims():
    return plan_of(platform([pool("claims", sharing={"dra": True})]))


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
        "gpuyard.dev/pool",
    )
    assert state_metrics_label("eks.amazonaws.com/capacityType") == (
        "label_eks_amazonaws_com_capacity_type"
    )


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


def series(metric, values, **labels):
    text = ", ".join(f'{name}="{value}"' for name, value in labels.items() if value)
    return {"series": f"{metric}{{{text}}}", "values": " ".join(values)}


def lifetime(chance):
    """The first and last sample of what comes and goes."""
    first = chance.choice([0, 0, chance.randrange(SAMPLES)])
    return first, chance.choice([SAMPLES, chance.randrange(first, SAMPLES) + 1])


def sampled(chance, span, high, missing=0.05):
    """Random values within a lifetime, with gaps; a stale marker where a series ends."""
    within = [
        "_" if chance.random() < missing else f"{chance.uniform(0, high):.3f}" for _ in range(*span)
    ]
    after = SAMPLES - span[1]
    return ["_"] * span[0] + within + (["stale"] + ["_"] * (after - 1) if after else [])


def fleet(seed, plan):
    """Random nodes and pods of every pool."""
    chance, result = random.Random(seed), []  # noqa: S311  a repeatable choice
    for each in plan.pools:
        for number in range(chance.randrange(4)):
            node = f"{each.name}-{number}"
            span = lifetime(chance)
            labels = {"node": node, "label_gpuyard_dev_pool": each.name}
            if each.name == "spot":
                labels["label_eks_amazonaws_com_capacity_type"] = chance.choice(
                    ["SPOT", "ON_DEMAND"]
                )
            result.append(series("kube_node_labels", sampled(chance, span, 0, 0), **labels))
            exporter = lifetime(chance) if chance.random() < 0.3 else span
            for gpu in range(each.machine.gpus if chance.random() < 0.9 else 0):
                result += gpu_series(chance, each, node, f"GPU-{node}-{gpu}", exporter)
    labels = {"node": "system-0", "label_gpuyard_dev_pool": "system"}
    return [*result, series("kube_node_labels", ["1"] * SAMPLES, **labels)]


def gpu_series(chance, pool_plan, node, uuid, span):
    """A GPU: its instances and shares, each with a pod or none."""
    place = {"pool": pool_plan.name, "node": node, "UUID": uuid}
    profiles = [
        each.unit
        for each in pool_plan.advertised
        for _ in range(each.per_node // pool_plan.machine.gpus)
    ]
    for index, unit in enumerate(profiles):
        is_held = chance.random() < 0.7
        profile, _, shared = unit.rpartition("shared")
        profile = (profile or ("" if shared or unit == "shared" else unit)).rstrip(".")
        labels = {
            **place,
            "GPU_I_PROFILE": profile,
            "GPU_I_ID": str(index // pool_plan.replicas) if profile else "",
        }
        if is_held:
            labels |= {
                "exported_namespace": chance.choice(["vision", "speech", "other"]),
                "exported_pod": f"pod-{uuid}-{index}",
                "class": chance.choice(["", "training"]),
                "vgpu": str(index) if unit.endswith("shared") else "",
            }
        yield series("DCGM_FI_DEV_FB_USED", sampled(chance, span, 4e4), **labels)
        if chance.random() < 0.9:
            yield series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", sampled(chance, span, 1), **labels)
            if not profile:
                yield series("DCGM_FI_DEV_GPU_UTIL", sampled(chance, span, 100), **labels)


def expected(expression, *samples):
    at = f"{(SAMPLES // 2) * SECONDS}s"
    return {"expr": expression, "eval_time": at, "exp_samples": list(samples)}


COST, BILL = "sum by (pool) (gpuyard:cost:dollars_per_hour)", "gpuyard:bill:dollars_per_hour"
NEVER = (
    f"abs({COST} - on (pool) {BILL}) > 0.01",
    f"{BILL} unless on (pool) {COST}",
    f"{COST} unless on (pool) {BILL}",
    "gpuyard:cost:dollars_per_hour < -1e-6",
    "gpuyard:pod_gpu_active:ratio > 1",
    "gpuyard:gpu_allocated:gpus > 1.000001",
    'gpuyard:node:info{capacity="on-demand"} unless on (node) gpuyard:node:dollars_per_hour',
    (
        "abs(sum by (pool) (gpuyard:gpus_allocated:sum) + on (pool) gpuyard:gpus_unallocated:sum"
        " + on (pool) gpuyard:gpus_unavailable:sum - on (pool) gpuyard:gpus_billed:sum) > 1e-6"
    ),
)


def run_promtool(folder, plan, tests):
    require_level("engine", PROMTOOL.exists(), "promtool: run make tools")
    rules, file = folder / "rules.yaml", folder / "tests.yaml"
    rules.write_text(rule_file(plan), encoding="utf-8")
    content = {"rule_files": [rules.name], "evaluation_interval": f"{SECONDS}s", "tests": tests}
    file.write_text(json.dumps(content), encoding="utf-8")
    ended = subprocess.run(
        [PROMTOOL, "test", "rules", file], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("plan", [plan_of_modes, plan_of_claims], ids=["modes", "claims"])
def test_the_parts_of_the_cost_sum_to_the_bill(plan, tmp_path):
    tests = [
        {
            "interval": f"{SECONDS}s",
            "input_series": fleet(seed, plan()),
            "promql_expr_test": [expected(expression) for expression in NEVER],
        }
        for seed in range(12)
    ]
    run_promtool(tmp_path, plan(), tests)


def held(metric, value, pod, gpu=0, node="whole-0", **labels):
    place = {"pool": "whole", "node": node, "UUID": f"GPU-{gpu}"}
    of_pod = {"exported_namespace": "vision", "exported_pod": pod} if pod else {}
    return series(metric, [f"{value}+0x{SAMPLES}"], **place, **of_pod, **labels)


def sample(value, **labels):
    text = ", ".join(f'{name}="{each}"' for name, each in labels.items())
    return {"labels": f"{{{text}}}", "value": value}


def test_a_node_is_divided_into_used_idle_unallocated_and_unavailable_gpus(tmp_path):
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
            "interval": f"{SECONDS}s",
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
            "interval": f"{SECONDS}s",
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
    run_promtool(tmp_path, plan_of_modes(), tests)
