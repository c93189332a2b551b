"""The import contracts work: each is broken once, in a copy, and is reported."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sizes

SIMULATE = sizes.ROOT / "testbed" / "packages" / "gpuyard_simulate"
LINT = Path(sys.executable).with_name("lint-imports")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    root = tmp_path_factory.mktemp("layers")
    for source in (*(sizes.ROOT / "components").glob("gpuyard*"), SIMULATE):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, root / "components" / source.name, ignore=ignored)
    shutil.copy(sizes.ROOT / "pyproject.toml", root)
    return root


def contracts(root: Path) -> tuple[int, str]:
    ended = subprocess.run(
        [str(LINT), "--no-cache", "--no-logo"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "components"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("../gpuyard_core/catalogue/mig.py", "import gpuyard.plan", "packages: "),
        ("../gpuyard_core/errors.py", "import gpuyard_lint.rules", "packages: "),
        ("../gpuyard_core/errors.py", "import gpuyard_core.catalogue", "layers of the core"),
        ("resources/objects.py", "import gpuyard_testing", "packages: "),
        ("plan/pools/own_nodes.py", "import gpuyard.plan.teams.teams", "layers of the plan: "),
        ("plan/draft.py", "import gpuyard.plan.pools.pools", "layers of the plan: "),
        ("plan/shapes/quota.py", "import gpuyard.plan.queueing.kueue", "layers of the plan: "),
        ("plan/records/late.py", "import pulumi", "the pure layers "),
        ("spec/platform.py", "import subprocess", "the pure layers "),
        ("resources/objects.py", "import rich", "only the command line "),
        (
            "../gpuyard_simulate/agents/node.py",
            "import gpuyard.plan.records",
            "the simulated cluster ",
        ),
        ("../gpuyard_simulate/parts.py", "import gpuyard.render.objects", "the simulated cluster "),
        ("resources/objects.py", "import pulumi_aws", "a cloud SDK "),
        ("render/platform.py", "import gpuyard.render.aws.graph", "only a provider "),
        ("cli/app.py", "import gpuyard_agents", "a program that runs elsewhere "),
        (
            "../gpuyard_agents/idle/decisions.py",
            "import gpuyard.plan",
            "a program that runs elsewhere ",
        ),
        ("../gpuyard_agents/agent.py", "import gpuyard_agents.gate", "layers of the agents: "),
        ("../gpuyard_agents/idle/run.py", "import gpuyard_agents.gate", "layers of the agents: "),
        (
            "render/validation/expectations.py",
            "import gpuyard_validator",
            "a program that runs elsewhere ",
        ),
        (
            "../gpuyard_validator/run.py",
            "import gpuyard_validator.nvml",
            "layers of the validator: ",
        ),
    ],
)
def test_a_forbidden_import_breaks_its_contract(copy, module, line, contract):
    path = copy / "components" / "gpuyard" / module
    before = path.read_text(encoding="utf-8")
    path.write_text(f"{before}\n{line}\n", encoding="utf-8")
    try:
        status, printed = contracts(copy)
    finally:
        path.write_text(before, encoding="utf-8")
    assert status == 1
    assert contract in printed.partition("Broken contracts")[2]


@pytest.mark.parametrize("module", ["attic.py", "plan/attic.py"])
def test_a_module_without_a_layer_breaks_the_layers(copy, module):
    path = copy / "components" / "gpuyard" / module
    path.write_text("", encoding="utf-8")
    try:
        status, printed = contracts(copy)
    finally:
        path.unlink()
    assert status == 1
    assert f"gpuyard.{module.removesuffix('.py').replace('/', '.')}" in printed
