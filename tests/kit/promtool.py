"""Rules of a platform in `promtool test rules`, which evaluates them as Prometheus does."""

import json
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.observability.rules import rule_file
from kit.levels import require_level

PROMTOOL = Path(__file__).resolve().parents[2] / ".testbed" / "bin" / "promtool"
SECONDS = 30
"""Between two samples and two evaluations."""


def series(metric: str, values: Iterable[str], **labels: str) -> dict[str, str]:
    """An input series; a label without a value is left out."""
    text = ", ".join(f'{name}="{value}"' for name, value in labels.items() if value)
    return {"series": f"{metric}{{{text}}}", "values": " ".join(values)}


def sample(value: float, **labels: str) -> dict[str, Any]:
    """An expected sample."""
    text = ", ".join(f'{name}="{each}"' for name, each in labels.items())
    return {"labels": f"{{{text}}}", "value": value}


def expected(expression: str, *samples: dict[str, Any], at: int) -> dict[str, Any]:
    """The result of an expression at the time of a sample; without samples it is empty."""
    return {"expr": expression, "eval_time": f"{at * SECONDS}s", "exp_samples": list(samples)}


def check_rules(plan: PlatformPlan, tests: list[dict[str, Any]], every: int = SECONDS) -> None:
    """Run the tests, and fail with what promtool reports."""
    require_level("engine", PROMTOOL.exists(), "promtool: run make tools")
    with tempfile.TemporaryDirectory() as name:
        rules, file = Path(name) / "rules.yaml", Path(name) / "tests.yaml"
        rules.write_text(rule_file(plan), encoding="utf-8")
        content = {"rule_files": [rules.name], "evaluation_interval": f"{every}s", "tests": tests}
        file.write_text(json.dumps(content), encoding="utf-8")
        ended = subprocess.run(
            [PROMTOOL, "test", "rules", file], capture_output=True, text=True, check=False
        )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
