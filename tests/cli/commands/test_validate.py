"""`gpuyard validate`: GPUs of this machine, or of one that was recorded, by the program that nodes run."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from gpuyard.cli import validator
from gpuyard_core.catalogue.known_issues import KNOWN_ISSUES
from gpuyard_validator.checks import CHECKS
from gpuyard_validator.snapshot import snapshot_json
from gpuyard_validator.values import Missing, MissingReason, encode
from kit.cases.dumps import hall_machine, hall_nodes
from kit.cases.hardware import altered, machine
from kit.stacks import cut_pool, platform, pool

DRIVER = {"driver": "595.91.07", "kernel_driver": "595.91.07"}


@pytest.fixture
def on(gpuyard, tmp_path):
    """The command on a machine that was recorded."""

    def run(snapshot, *args):
        path = tmp_path / "machine.json"
        path.write_text(snapshot if isinstance(snapshot, str) else snapshot_json(snapshot))
        return gpuyard("validate", "--snapshot", str(path), *args)

    return run


def test_a_healthy_machine_passes_what_is_known_of_its_product(on):
    ended = on(machine("H100"))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("passed: node node-1: ")
    assert ended.out.endswith(" checks ran, 0 failed\n")


def test_a_machine_that_does_not_pass_ends_with_8_and_says_why_and_where_more_is(on):
    ended = on(altered(machine("H100"), 3, remap_failure=True))
    assert ended.code == 8
    said = " ".join(ended.out.split())
    assert (
        "fail: memory.remapped_rows on gpu 3: no spare rows are left; value True, threshold" in said
    )
    assert said.endswith("gpuyard validate --explain memory.remapped_rows")


def test_what_was_not_run_does_not_pass(on):
    ended = on(altered(machine("H100"), 0, power_limit_mw=Missing(MissingReason.NO_PERMISSION)))
    assert ended.code == 8
    assert "required and skip: power.limit on gpu 0" in ended.out


@pytest.mark.parametrize("name", ["A100-40", "H100", "B200"])
def test_how_a_gpu_is_cut_is_nobodys_business_without_a_plan(on, name):
    assert on(machine(name, cut=True)).code == 0


def test_a_machine_in_use_passes_when_that_is_said(on):
    busy = altered(machine("H100"), 0, processes=(7,), utilization=90)
    assert on(busy).code == 8
    assert on(busy, "--in-use").code == 0


def test_the_document_is_the_programs_report(on):
    ended = on(altered(machine("T4"), 0, ecc_current=False), "--format", "json")
    assert ended.code == 8
    found = json.loads(ended.out)
    assert (found["command"], found["verdict"], found["exit_code"]) == ("validate", "failed", 1)
    assert {each["id"] for each in found["checks"]} <= set(CHECKS)


@pytest.fixture
def stack(write):
    return write(platform([pool(), cut_pool()], cloud="simulated"))


def test_a_node_is_held_against_its_pool(on, stack):
    node = replace(machine("H100"), **DRIVER, adapters=())
    assert on(node, "--stack", stack, "--pool", "train").code == 0
    ended = on(
        replace(node, driver="535.1", kernel_driver="535.1"), "--stack", stack, "--pool", "train"
    )
    assert (ended.code, "driver.version" in ended.out) == (8, True)
    assert on(node, "--stack", stack, "--pool", "serve").code == 8


def test_a_pool_and_a_stack_belong_together(on, stack):
    ended = on(machine("H100"), "--stack", stack)
    assert (ended.code, "--stack and --pool must be used together" in ended.err) == (2, True)
    ended = on(machine("H100"), "--stack", stack, "--pool", "tran")
    assert ended.code == 2
    assert "no pool 'tran' in" in ended.err
    assert "there are train, serve" in ended.err


def test_a_part_of_a_gpu_and_a_stack_that_is_refused_tell_nothing(on, write):
    ours = {"cloud": "aws", "system": {"machine": "m7i.xlarge", "nodes": 2}}
    part = write(platform([pool(machine="g6f.xlarge")], **ours))
    ended = on(machine("L4"), "--stack", part, "--pool", "train")
    assert (ended.code, "a fraction of a GPU" in ended.err) == (2, True)
    refused = write(platform([pool(machine="toaster")]))
    ended = on(machine("L4"), "--stack", refused, "--pool", "train")
    assert ended.code == 3


def test_without_a_gpu_it_says_so_and_what_to_do(gpuyard, monkeypatch):
    gone = CompletedProcess(
        [], 3, "", "cannot run: cannot initialize NVML: NVML Shared Library Not Found\n"
    )
    monkeypatch.setattr(validator, "_run", lambda *_: gone)
    ended = gpuyard("validate")
    assert (ended.code, ended.out) == (4, "")
    assert " ".join(ended.err.split()) == (
        "gpuyard: no NVIDIA GPU is accessible on this machine: cannot initialize NVML: NVML Shared Library Not"
        " Found. Run it on a machine with a GPU, its driver and nvidia-ml-py (gpuyard[validator]), or validate"
        " a snapshot that such a machine wrote with --record: gpuyard validate --snapshot FILE"
    )


def test_a_driver_without_a_gpu_and_a_product_that_nobody_knows_are_said(on):
    ended = on(replace(machine("H100"), gpus=()))
    assert (ended.code, "the driver responds and reports no GPU" in ended.err) == (4, True)
    ended = on(altered(machine("H100"), 0, name="Voodoo 2"))
    assert (ended.code, "the catalogue does not know Voodoo 2" in ended.err) == (4, True)
    silent = encode(machine("H100"))
    silent["gpus"][0]["name"] = {"missing": "lost"}
    assert on(json.dumps(silent)).code == 4


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"gpus": 3}', '{"gpus": [1]}', "[" * 10**5])
def test_a_file_that_is_no_machine_is_wrong_usage(on, text):
    ended = on(text)
    assert ended.code == 2
    assert "not a snapshot of `gpuyard validate --record`" in ended.err


def test_a_machine_that_the_program_cannot_read_is_wrong_usage(on):
    strange = {**encode(machine("H100")), "colour": "blue"}
    ended = on(json.dumps(strange))
    assert ended.code == 2
    assert "not a snapshot: colour: unknown field" in ended.err


def test_a_machine_is_recorded_and_judged_elsewhere(gpuyard, monkeypatch, tmp_path):
    real = subprocess.run

    def with_a_gpu(words, **rest):
        if "--record" in words:
            at = words[words.index("--record") + 1]
            with open(at, "w") as file:  # noqa: PTH123  as the program would
                file.write(snapshot_json(machine("L4")))
            return subprocess.CompletedProcess(words, 0, "", "")
        return real(words, **rest)

    monkeypatch.setattr(validator.subprocess, "run", with_a_gpu)
    file = tmp_path / "l4.json"
    assert gpuyard("validate", "--record", str(file)).code == 0
    assert file.read_text() == snapshot_json(machine("L4"))
    assert gpuyard("validate").code == 0


@pytest.mark.parametrize("check", ["memory.remapped_rows", "gpu.count"])
def test_a_check_is_explained_by_the_program(gpuyard, check):
    ended = gpuyard("validate", "--explain", check)
    assert ended.code == 0
    assert ended.out.startswith(f"{check} (")
    assert CHECKS[check].remediation in ended.out


def test_a_check_is_explained_with_the_signs_that_go_with_it(gpuyard):
    signs = gpuyard("validate", "--explain", "fabric.state").out.partition("related symptoms:\n")[2]
    assert signs == (
        "    cuda.802               the system is not ready: the fabric manager has not finished (look)\n"
    )
    assert "signs that go" not in gpuyard("validate", "--explain", "host.environment").out


@pytest.mark.parametrize("asked", ["xid.79", "79", "XID 79"])
def test_a_sign_of_trouble_is_explained(gpuyard, asked):
    ended = gpuyard("validate", "--explain", asked)
    assert (ended.code, ended.out.splitlines()[:4]) == (
        0,
        [
            "xid.79 (reboot)",
            "  means: the GPU has fallen off the bus",
            "  fix: drain the node and reboot it; if the error recurs, replace it",
            "  detected by: gpu.count, gpu.answers",
        ],
    )
    assert "source: NVIDIA's XID catalogue" in ended.out
    assert "seen by" not in gpuyard("validate", "--explain", "xid.13").out


AREAS = (
    "--explain AREA lists the names of an area: gpu, firmware, driver, ecc, memory, clocks, power, pcie,"
    " nvlink, fabric, rdma, mig, load, host, work, nccl, xid, recovery, temperature, cuda, runtime"
)
RECOVERY = ", ".join(f"recovery.{number}" for number in range(1, 8))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("foo", f"no check or symptom 'foo'; {AREAS}"),
        ("fabic.state", f"no check or symptom 'fabic.state', did you mean fabric.state? {AREAS}"),
        ("ecc.x", "no check or symptom 'ecc.x'; those of ecc: ecc.mode, ecc.sram, ecc.dram"),
        (
            "Recovery",
            f"no check or symptom 'Recovery'; those of recovery: {RECOVERY}",
        ),
    ],
)
def test_an_unknown_check_or_sign_is_answered_with_those_that_exist(gpuyard, asked, answer):
    ended = gpuyard("validate", "--explain", asked)
    assert (ended.code, ended.out, ended.err) == (2, "", f"gpuyard: {answer}\n")


@pytest.mark.parametrize("area", ["gpu", "xid"])
def test_an_area_lists_every_check_or_sign_that_it_has(gpuyard, area):
    names = [name for name in (*CHECKS, *KNOWN_ISSUES) if name.startswith(f"{area}.")]
    ended = gpuyard("validate", "--explain", area)
    assert (
        ended.err == f"gpuyard: no check or symptom {area!r}; those of {area}: {', '.join(names)}\n"
    )


# ── the dump that a platform is planned by ──────────────────────────────────────────────────────────


def test_the_dump_of_a_machine_is_what_a_stack_beside_it_is_planned_by(
    on, gpuyard, tmp_path, write
):
    nodes, dump = tmp_path / "nodes.json", tmp_path / "hall.json"
    nodes.write_text(hall_nodes())
    ended = on(hall_machine(), "--inventory", str(dump), "--nodes", str(nodes))
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    described = {"gpu": "H200-141", "gpus": 8, "cpu": 192, "memory_gib": 2048}
    fabric = {"kind": "infiniband"}
    stack = write(platform([pool(machine=described, inventory="hall.json", fabric=fabric)]))
    said = gpuyard("get", stack, "pools.train.topology_levels", "--format", "json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["value"] == [
        "site.example/row",
        "site.example/rack",
        "kubernetes.io/hostname",
    ]
    dump.unlink()
    gone = gpuyard("check", stack)
    assert gone.code == 3
    assert "pools[0].inventory: the machine inventory cannot be read:" in gone.out
    assert "hall.json: no such file" in " ".join(gone.out.split())


def test_files_of_a_stack_lie_beside_pulumi_yaml(gpuyard, tmp_path, write):
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    folder = tmp_path / "stacks"
    folder.mkdir()
    inner = folder / "Pulumi.a.yaml"
    inner.write_text(Path(write(platform([pool(inventory="none.json")]))).read_text())
    assert f"{tmp_path.name}/none.json" in "".join(gpuyard("check", str(inner)).out.split())


def test_a_dump_without_nodes_has_none(on, tmp_path):
    assert on(machine("T4"), "--inventory", str(tmp_path / "t4.json")).code == 0
    found = json.loads((tmp_path / "t4.json").read_text())
    assert (found["nodes"], found["gpus"][0]["name"]) == ([], "Tesla T4")


def test_what_no_dump_can_be_made_of_is_told(on, tmp_path):
    dump, nodes = str(tmp_path / "dump.json"), tmp_path / "nodes.json"
    nodes.write_text("{}")
    ended = on(machine("T4"), "--nodes", str(nodes))
    assert (ended.code, ended.out) == (2, "")
    assert "--nodes needs a machine inventory: add --inventory FILE" in ended.err
    ended = on(machine("T4"), "--inventory", dump, "--nodes", str(nodes))
    assert ended.code == 2
    assert "not the output of `kubectl get nodes -o json`" in " ".join(ended.err.split())
