"""What a fake node says of its GPUs, held against what plans expect of such nodes by the real program."""

import json
from typing import Any

import pytest

from gpuyard.render.validation.expectations import expectations_text
from gpuyard.resources.validation.job_results import inconsistent_nodes
from gpuyard_core.catalogue.machines import find_machine
from gpuyard_core.names import DRIVER_VERSION_LABEL
from gpuyard_simulate.agents.cloud_node import EFA_INTERFACES
from gpuyard_simulate.agents.hardware import LAYOUT, MACHINE_LABEL
from gpuyard_simulate.validation.machine import FAULTS, machine_text
from gpuyard_validator.expectations import read_expectations
from gpuyard_validator.report import termination_message
from gpuyard_validator.results import Code, Status
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import CannotRead, read_snapshot
from kit.stacks import plan_of, platform, pool

DRIVER = "595.91.07"
CUTS = {
    "p4d.24xlarge": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1},
    "p4de.24xlarge": {"1g.10gb": 4, "3g.40gb": 1},
    "p5.48xlarge": {"1g.10gb": 7},
    "p5en.48xlarge": {"1g.18gb": 4, "3g.71gb": 1},
}
WHOLE = ("g4dn.12xlarge", "g5.12xlarge", "g6.12xlarge", "g6e.12xlarge", *CUTS)


def fake(
    machine: str, layout: object = None, driver: str = DRIVER, faults: str = ""
) -> dict[str, Any]:
    notes = {LAYOUT: json.dumps(layout)} if layout is not None else {}
    labels = {MACHINE_LABEL: machine} | ({DRIVER_VERSION_LABEL: driver} if driver else {})
    return {
        "metadata": {
            "name": "train-000",
            "labels": labels,
            "annotations": notes | ({FAULTS: faults} if faults else {}),
        }
    }


def expected(machine: str, **more: Any):
    made = plan_of(platform([pool(machine=machine, **more)], cloud="simulated", validation=ASKED))
    text = expectations_text(made, made.pools[0])
    assert text is not None
    return read_expectations(text)


ASKED = {"image": "x"}


def judged(node: dict[str, Any], wanted: Any):
    report = validate(wanted, read_snapshot(machine_text(node)))
    return report, {(r.check, r.scope) for r in report.blocking_results}


def test_adapters_are_those_that_a_fake_cloud_has_attached():
    aws = platform(
        [pool()], cloud="aws", system={"machine": "m7i.xlarge", "nodes": 2}, validation=ASKED
    )
    made = plan_of(aws)
    text = expectations_text(made, made.pools[0])
    wanted = read_expectations(text or "")
    assert wanted.network is not None
    driver = wanted.driver or DRIVER
    for attached, missing in ((32, set()), (31, {("rdma.devices", "node")})):
        node = fake("p5.48xlarge", driver=driver)
        node["metadata"]["annotations"][EFA_INTERFACES] = str(attached)
        report, against = judged(node, wanted)
        assert against == missing
        ran = {r.check for r in report.results if r.evidence.status is Status.PASS}
        assert {"rdma.ports", "rdma.gpudirect"} <= ran


@pytest.mark.parametrize("machine", WHOLE)
def test_a_healthy_fake_node_is_what_a_plan_expects_of_its_machine(machine: str):
    report, against = judged(fake(machine), expected(machine))
    assert against == set()
    assert report.code is Code.PASSED
    assert not [r.check for r in report.results if r.evidence.status is Status.WARN]


@pytest.mark.parametrize("machine", CUTS)
def test_a_node_that_is_cut_as_planned_passes_and_one_that_is_not_fails(machine: str):
    wanted = expected(machine, sharing={"mig": CUTS[machine]})
    found = find_machine(machine)
    assert found is not None
    _, against = judged(fake(machine, [CUTS[machine]] * found.gpus), wanted)
    assert against == set()
    uncut = [CUTS[machine]] * (found.gpus - 1) + [None]
    _, against = judged(fake(machine, uncut), wanted)
    assert {check for check, _ in against} == {"mig.mode", "mig.geometry"}
    assert {scope for _, scope in against} == {f"gpu {found.gpus - 1}"}


def test_a_gpu_of_a_rack_is_in_the_domain_of_its_rack():
    wanted = expected("p6e-gb200.36xlarge")
    assert wanted.rack
    assert judged(fake("p6e-gb200.36xlarge"), wanted)[1] == set()


@pytest.mark.parametrize(
    ("faults", "against"),
    [
        ('{"3": {"remap_failure": true}}', {("memory.remapped_rows", "gpu 3")}),
        ('{"5": null}', {("gpu.count", "node")}),
        ('{"0": {"name": "NVIDIA A100"}}', {("gpu.product", "gpu 0")}),
        ('{"node": {"driver": "535.1", "kernel_driver": "535.1"}}', {("driver.version", "node")}),
        ('{"1": {"sram_uncorrected": 2}}', {("ecc.sram", "gpu 1")}),
        ('{"7": {"fabric": {"missing": "lost"}}}', {("fabric.state", "gpu 7")}),
    ],
)
def test_a_fault_of_a_node_is_found_by_the_program(faults: str, against: set[tuple[str, str]]):
    report, found = judged(fake("p5.48xlarge", faults=faults), expected("p5.48xlarge"))
    assert found == against
    assert report.code is Code.FAILED


def test_a_node_without_a_driver_says_nothing_of_it():
    _, against = judged(fake("g6.12xlarge", driver=""), expected("g6.12xlarge"))
    assert {check for check, _ in against} == {"driver.version", "driver.whole"}


@pytest.mark.parametrize("faults", ["[1]", "none", '{"99": {"name": "x"}}', '{"0": 1}'])
def test_faults_that_nobody_can_read_make_a_machine_that_nobody_can_read(faults: str):
    with pytest.raises(CannotRead):
        read_snapshot(machine_text(fake("p5.48xlarge", faults=faults)))


def test_a_machine_that_nobody_knows_has_no_gpus():
    snapshot = read_snapshot(machine_text(fake("toaster.large")))
    assert (snapshot.node, snapshot.gpus) == ("train-000", ())


def test_a_floor_that_the_stack_file_lowers_holds_until_its_last_day():
    """From the stack file to the verdict, over a fake node of which one GPU has eight lanes."""
    lower = {"pool": "train", "check": "pcie.width", "value": 8, "reason": "a riser"}
    asked = ASKED | {"accepted_thresholds": [lower | {"until": "2027-03-31"}]}
    raw = platform([pool(machine="p5.48xlarge")], cloud="simulated", validation=asked)
    made = plan_of(raw)
    text = expectations_text(made, made.pools[0])
    node = fake("p5.48xlarge", faults='{"3": {"pcie_width": 8}}')
    seen = read_snapshot(machine_text(node, text or ""))
    for day, code in (("2027-03-31", Code.PASSED), ("2027-04-01", Code.FAILED)):
        report = validate(read_expectations(text or ""), seen, today=day)
        assert report.code is code
        (one,) = [r for r in report.results if (r.check, r.scope) == ("pcie.width", "gpu 3")]
        assert "accepted until 2027-03-31" in one.evidence.source, (
            "and that it was is said after it"
        )
    assert judged(node, expected("p5.48xlarge"))[1] == {("pcie.width", "gpu 3")}


def test_fake_nodes_of_two_firmwares_each_pass_and_are_not_alike():
    words = []
    new = {str(index): {"vbios": "96.00.A5.00.03"} for index in range(8)}
    for name, faults in (("train-000", ""), ("train-001", json.dumps(new))):
        report, against = judged(fake("p5.48xlarge", faults=faults), expected("p5.48xlarge"))
        assert against == set()
        words.append((name, termination_message(report)))
    assert inconsistent_nodes(words) == {
        "vbios": {"96.00.A5.00.03": ["train-001"], "simulated": ["train-000"]}
    }
