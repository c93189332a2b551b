"""The pack stops a preview on the real engine, also of a stack that never heard of gpuyard."""

import datetime as dt
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import pulumi
pulumi.CustomResource(
    "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue",
    "closed-to-all",
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
     "metadata": {"name": "closed-to-all"}, "spec": {}},
)
"""


def test_a_mandatory_finding_stops_the_preview_and_says_where(up, tmp_path):
    (tmp_path / "Pulumi.yaml").write_text(
        f"name: other\nruntime:\n  name: python\n  options:\n    virtualenv: {ROOT / '.venv'}\n"
    )
    (tmp_path / "__main__.py").write_text(PROGRAM)
    inside = ("--cwd", str(tmp_path), "--stack", "other")
    up.pulumi("stack", "init", *inside, "--non-interactive")
    said = up.pulumi(
        "preview", *inside, "--policy-pack", str(ROOT / "policies"), "--non-interactive", code=None
    )
    assert "GPU-TEN-04 spec.namespaceSelector: without a namespaceSelector no namespace may" in said
    assert "mandatory" in said.lower()
    assert "Traceback" not in said
    assert up.pulumi("preview", *inside, "--non-interactive", code=0)


def test_policies_of_the_stack_file_reach_the_pack_and_the_program(up):
    over = {"rule": "GPU-TEN-02", "resource": "x", "reason": "r", "expires": dt.date(2026, 1, 31)}
    config = up.config(up.spec() | {"policies": {"exceptions": [over]}})
    inside = ("--stack", "local", "--config-file", config, "--non-interactive")
    said = up.pulumi("preview", *inside, "--policy-pack", "policies", code=0)
    assert "the exception to GPU-TEN-02 for x expired on 2026-01-31: the rule applies again" in said
    config = up.config(up.spec() | {"policies": {"levels": {"GPU-TEN-2": "off"}}})
    said = up.pulumi("preview", *inside, "--policy-pack", "policies", code=None)
    assert "policies of the stack file: levels.GPU-TEN-2: no rule 'GPU-TEN-2'" in said
