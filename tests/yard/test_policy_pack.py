"""The pack stops a preview on the real engine, also of a stack that never heard of gpuyard."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.cluster]
ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import pulumi
pulumi.CustomResource(
    "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue",
    "open-to-all",
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
     "metadata": {"name": "open-to-all"}, "spec": {"namespaceSelector": {}}},
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
    assert (
        "GPU-TEN-04 spec.namespaceSelector: an empty namespaceSelector lets every namespace" in said
    )
    assert "mandatory" in said.lower()
    assert "Traceback" not in said
    assert up.pulumi("preview", *inside, "--non-interactive", code=0)
