"""EC2 rows against Karpenter's own tables, which do not come from where ours do: a disagreement fails.

The table comes from `make facts`.
"""

import csv
from pathlib import Path

import pytest

import facts
from gpuyard_core.catalogue.fabric import pod_limit
from gpuyard_core.catalogue.machines import MACHINES
from kit.every import every

TABLE = Path(__file__).with_name("karpenter_second_source.csv")
ORIGIN, *LINES = TABLE.read_text(encoding="utf-8").splitlines()
ROWS = [pytest.param(row, id=row["type"]) for row in csv.DictReader(LINES)]

NOT_THERE = ("p6e-gb200.", "r9g.")
"""Families of ours that Karpenter's page has not: sold in UltraServers, or too new."""


def disagreements(row):
    """{(type, field): (ours, theirs)} of one machine."""
    m = MACHINES[row["type"]]
    whole = m.gpus if m.gpu_fraction == 1 else 0
    ours = {
        "arch": m.arch,
        "vcpus": m.vcpus,
        "memory_mib": m.memory_gib * 1024,
        "gpus": whole,
        "nvme_gb": m.nvme_gb,
        "pods": pod_limit(m),
    }
    if m.is_gpu_machine:
        ours |= {"efa": m.efa_interfaces, "network_mbps": int(m.network_gbps * 1000)}
    return {
        (m.name, field): (str(mine), row[field])
        for field, mine in ours.items()
        if str(mine) != row[field]
    }


@every("row", ROWS)
def test_a_machine_is_what_karpenter_says_it_is(row):
    assert disagreements(row) == {}


def test_every_machine_of_ec2_has_a_row_but_those_that_are_named():
    ours = {m.name for m in MACHINES.values() if m.cloud == "aws"}
    missing = ours - {row.values[0]["type"] for row in ROWS}
    assert missing == {name for name in ours if name.startswith(NOT_THERE)}
    assert ORIGIN.startswith("# aws/karpenter-provider-aws ")


@pytest.mark.parametrize("field", [f for f in facts.KARPENTER_COLUMNS if f != "type"])
def test_a_difference_of_one_is_found(field):
    row = next(r.values[0] for r in ROWS if r.values[0]["type"] == "p5.48xlarge")
    wrong = "arm64" if field == "arch" else str(int(row[field]) + 1)
    assert list(disagreements({**row, field: wrong})) == [("p5.48xlarge", field)]


PAGE = """
## g6 Family
### `g6.xlarge`
#### Labels
 | Label | Value |
 |karpenter.k8s.aws/instance-cpu|4|
 |kubernetes.io/arch|amd64|
#### Resources
 |pods|58|
### `x9.large`
 |pods|1|
"""


def test_the_script_reads_what_is_there_and_leaves_out_what_we_have_not():
    speeds = '\t"g6.xlarge":   2500,\n\t"x9.large": 1,\n'
    head, columns, *rows = facts.karpenter_table(PAGE, speeds, "a clone").splitlines()
    assert (head, columns) == ("# a clone", ",".join(facts.KARPENTER_COLUMNS))
    assert rows == ["g6.xlarge,amd64,4,0,0,0,58,0,2500"]
