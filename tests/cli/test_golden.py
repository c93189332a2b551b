"""The face of every command on the local stack, in 80 columns; `make golden` writes it anew."""

from pathlib import Path

import pytest

from kit.every import every
from kit.stacks import platform, pool, team

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

STACKS = "tests/golden_stacks"
CONTRACT = "tests/cli/golden/contract.yaml"
COMMANDS = {
    "check": ("check", "local"),
    "plan": ("plan", "local"),
    "plan-verbose": ("plan", "local", "--verbose"),
    "cost": ("cost", "local"),
    "cost-markdown": ("cost", "local", "--format", "markdown"),
    "cost-research-markdown": ("cost", f"{STACKS}/research.yaml", "--format", "markdown"),
    "cost-contract": ("cost", CONTRACT),
    "cost-changes": ("cost", CONTRACT, "--against", f"{STACKS}/research.yaml"),
    "cost-changes-markdown": (
        "cost",
        CONTRACT,
        "--against",
        f"{STACKS}/research.yaml",
        "--format",
        "markdown",
    ),
    "mig-profiles": ("mig", "A100-40"),
    "mig-legal": ("mig", "A100-40", "1g.5gb:2,2g.10gb:1,3g.20gb:1"),
    "mig-illegal": ("mig", "A100-40", "1g.10gb:4,1g.5gb:3"),
    "mig-count": ("mig", "A100-40", "--count"),
    "advise": ("advise", "--answers", "tests/cli/golden/answers.yaml"),
    "offers-training": ("offers", "--workload", "training", "--gpus", "8", "--memory-gib", "80"),
    "offers-unknown": ("offers", "--gpu", "H200"),
    "offers-nothing": ("offers", "--gpu", "H200", "--cloud", "gcp", "--capacity", "on-demand"),
    "classify": ("classify", "tests/cli/golden/jobs.yaml"),
    "pack-slices": ("pack", "slices", "A100-40", "1g.5gb=20", "3g.20gb=4", "11gib=3"),
    "pack-machines": ("pack", "machines", "local"),
    "explain": ("explain", "local", "tests/cli/golden/explained.yaml"),
    "explain-busy": (
        *("explain", "local", "tests/cli/golden/explained.yaml"),
        *("--running", "tests/cli/golden/running.yaml"),
    ),
    "whatif": (
        *("whatif", "examples/12-whatif/six-nodes.yaml", "--against", "local"),
        *("--trace", "examples/12-whatif/jobs.csv"),
    ),
    "permissions-aws": ("permissions", f"{STACKS}/reserved-training.yaml"),
    "permissions-gcp": ("permissions", f"{STACKS}/gke-h200.yaml"),
    "readiness": ("readiness", "local"),
    "readiness-aws": ("readiness", "aws-training"),
    "readiness-markdown": ("readiness", "gcp-inference", "--format", "markdown"),
    "help": ("--help",),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_output_is_as_it_was_agreed(gpuyard, golden, monkeypatch, name):
    monkeypatch.chdir(ROOT)
    ended = gpuyard(*COMMANDS[name])
    found = name in {"mig-illegal", "explain", "explain-busy"}
    assert ended.code == (3 if found else 0), ended.err
    golden(HERE / "golden" / f"{name}.txt", ended.out)


def test_a_refusal_is_as_it_was_agreed(gpuyard, golden, write, monkeypatch, tmp_path):
    wrong = platform(
        [pool(nodes="9..2"), pool("dev", machine="g6.12xlrge")],
        [team(guarantee={"dev": 8}, group=["x"])],
    )
    write(wrong)
    monkeypatch.chdir(tmp_path)
    golden(HERE / "golden" / "check-refused.txt", gpuyard("check", "./stack.yaml").out)


@every("path", sorted((HERE / "golden").glob("*.txt")), ids=lambda p: p.stem)
def test_the_output_fits_into_80_columns_and_ends_where_its_text_ends(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        assert line == line.rstrip()
        whole = "arn:" in line  # a name of AWS is never broken
        assert len(line) <= 80 or line.startswith("|") or "markdown" in path.name or whole
