"""What real machines have said: one GPU each in a virtual machine, read and set to work by this program.

Recorded on 2026-11-26 with driver 580.159.04, cuBLAS 13.1, nccl4py 0.6.0 and NCCL 2.28.9: the machine
when it was idle, its GPU at work, and two ranks that shared the GPU as if on two nodes (NCCL_HOSTID),
with the kernel's network between them. Node, UUIDs and serial numbers are other ones.
"""

import json
from collections import Counter

import pytest

import sizes
from gpuyard.render.validation.expectations import unplanned_expectations_text
from gpuyard_core.catalogue.gpus import find_gpu
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.expectations import read_expectations
from gpuyard_validator.nccl.log import Transport, read_log
from gpuyard_validator.results import Code, Status
from gpuyard_validator.run import validate
from gpuyard_validator.snapshot import read_snapshot, snapshot_json
from kit.every import every

FOLDER = sizes.ROOT / "tests" / "validator" / "recorded"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
SAYS_NOTHING_OF = {
    "gpu.count", "driver.version", "memory.retired_pages", "nvlink.links", "nvlink.errors", "nvlink.peers",
    "fabric.state", "fabric.domain", "rdma.devices", "rdma.ports", "rdma.gpudirect", "mig.geometry",
    "work.peers", "work.spread", "work.step", "work.power", "nccl.gpudirect",
    "nccl.all_reduce", "nccl.all_gather", "nccl.reduce_scatter", "nccl.all_to_all", "nccl.stragglers",
}  # fmt: skip
"""One GPU without NVLink, adapters or slices, not long at work; how many there are, the plan
alone says, and of the bandwidth of a kernel's network nobody says what it must be."""


def read(name):
    return read_snapshot((FOLDER / f"{name}.json").read_text("utf-8"))


def judged(machine, between):
    """By what is known of every GPU of its product, as `gpuyard validate` does; two nodes at work."""
    gpu = find_gpu(machine.gpus[0].name)
    told = json.loads(unplanned_expectations_text(gpu, len(machine.gpus)))
    together = {"nodes": 2, "between": between}
    more = {"profile": "full", "collectives": together}
    checks = {name: check for name, check in CHECKS.items() if name != "gpu.count"}
    return validate(read_expectations(json.dumps(told | more)), machine, checks)


@every("name", NAMES)
def test_a_real_machine_passes_and_each_check_that_applies_has_run(name):
    report = judged(read(name), "tcp")
    assert report.code is Code.PASSED
    ran = {each.check for each in report.results if each.evidence.status is not Status.SKIP}
    assert set(CHECKS) - ran == SAYS_NOTHING_OF
    assert Counter(each.evidence.status for each in report.results)[Status.WARN] == 0


@every("name", NAMES)
@pytest.mark.parametrize("between", ["efa", "infiniband", "gib"])
def test_a_real_fall_back_to_the_kernel_s_network_fails_with_its_cause(name, between):
    report = judged(read(name), between)
    (failed,) = [each for each in report.results if each.evidence.status is Status.FAIL]
    said = failed.evidence.reason
    assert (report.code, failed.check) == (Code.FAILED, "nccl.transport")
    assert "by NET/Socket/0" in said
    assert "no network plugin was found" in said
    assert "NCCL sees no InfiniBand device" in said
    assert "GPU memory" not in said, "that is of the network which was not taken"


@every("name", NAMES)
def test_a_real_log_is_read(name):
    for text in read(name).collectives.logs:
        found = read_log(text)
        assert {hop.transport for hop in found.hops} == {Transport.TCP}
        assert (found.version, found.network) == ("2.28.9+cuda13.0", "Socket")


@every("name", NAMES)
def test_a_record_has_nothing_of_whoever_made_it(name):
    whole = read(name)
    assert snapshot_json(whole) == (FOLDER / f"{name}.json").read_text("utf-8")
    assert whole.environment == {}
    assert {gpu.serial for gpu in whole.gpus} == {"0000000000000"}
