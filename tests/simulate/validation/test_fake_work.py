"""What fake nodes come to at work, judged by the real program against what plans expect."""

import json

from gpuyard.render.validation.work import load_test_checks, work_objects
from gpuyard_core.names import DRIVER_VERSION_LABEL
from gpuyard_simulate.agents.hardware import MACHINE_LABEL
from gpuyard_simulate.validation.machine import FAULTS, machine_text
from gpuyard_validator.expectations import read_expectations
from gpuyard_validator.results import Code
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import read_snapshot
from kit.every import every
from kit.stacks import plan_of, platform, pool


def text(machine="p5.48xlarge", nodes=2, profile="full"):
    asked = {"image": "x", "profile": profile}
    raw = platform([pool(machine=machine, nodes=nodes)], cloud="simulated", validation=asked)
    plan = plan_of(raw)
    assert load_test_checks(plan)
    maps = [o["data"] for o in work_objects(plan) if o["kind"] == "ConfigMap"]
    return next(data["expectations.json"] for data in maps if "expectations.json" in data)


def report(wanted, faults=None, machine="p5.48xlarge"):
    expected = read_expectations(wanted)
    notes = {FAULTS: json.dumps(faults)} if faults else {}
    labels = {MACHINE_LABEL: machine, DRIVER_VERSION_LABEL: expected.driver}
    node = {"metadata": {"name": "train-000", "labels": labels, "annotations": notes}}
    return validate(expected, read_snapshot(machine_text(node, wanted)))


@every("profile", ["full", "soak"])
@every("machine", ["p5.48xlarge", "p4d.24xlarge", "g6.12xlarge", "g4dn.xlarge"])
@every("nodes", [1, 2])
def test_a_healthy_node_passes_all_that_applies(profile, machine, nodes):
    found = report(text(machine, nodes, profile), machine=machine)
    assert found.code is Code.PASSED, found.against[:2]
    ran = {r.check for r in found.results if r.evidence.status == "pass"}
    assert {"work.ran", "work.product", "work.clocks", "load.processes"} <= ran
    assert ("work.step" in ran) is (profile == "soak")
    assert ("nccl.ranks" in ran) is (nodes > 1 or machine != "g4dn.xlarge")


@every(
    "faults, check",
    [
        ({"3": {"work": {"product": 100e12}}}, "work.product"),
        ({"3": {"work": {"memory": 900e9}}}, "work.memory"),
        ({"3": {"work": {"peers": 20e9}}}, "work.peers"),
        (
            {"3": {"work": {"ended": "hung", "output": "product: not finished in time"}}},
            "work.ran",
        ),
        ({"3": {"work": {"reasons": 64}}}, "work.clocks"),
        ({"3": {"work": {"margin": 0}}}, "work.temperature"),
        ({"3": {"work": {"uncorrected": 2}}}, "work.errors"),
        ({"3": {"remap_failure": True}}, "memory.remapped_rows"),
        ({"node": {"collectives": {"missing": "failed"}}}, "nccl.ranks"),
    ],
)
def test_a_fault_in_a_nodes_record_fails_its_check(faults, check):
    against = report(text(), faults).blocking_results
    assert check in {r.check for r in against}
    assert {r.check.partition(".")[0] for r in against} == {check.partition(".")[0]}


def test_without_a_document_or_in_the_profile_quick_nobody_has_worked():
    node = {"metadata": {"name": "n", "labels": {MACHINE_LABEL: "p5.48xlarge"}}}
    broken = node | {
        "metadata": node["metadata"] | {"annotations": {FAULTS: '{"0": {"work": {}}}'}}
    }
    for document in ("", "[]", "{", '{"profile": "quick"}'):
        found = json.loads(machine_text(broken, document))
        assert "collectives" not in found
        assert found["gpus"][0].keys().isdisjoint({"load", "work"})
