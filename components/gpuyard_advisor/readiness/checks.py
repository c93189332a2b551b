"""The readiness checks and the CNCF AI Conformance requirements: `checks.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("checks.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessCheck:
    """One readiness check."""

    id: str
    category: str
    title: str
    source: str
    """Source of the answer: P the plan, L the live cluster, R a test run."""
    by_hand: str
    """How to check it manually."""
    run: str
    """The required test run; empty when the plan or the cluster can answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AiRequirement:
    """One requirement of CNCF AI Conformance for Kubernetes 1.36."""

    id: str
    level: str
    checks: tuple[str, ...]
    """Ids of the checks that are evidence for it."""
    lacks: str
    """Why no check covers it; empty when one does."""


@cache
def readiness_checks() -> tuple[ReadinessCheck, ...]:
    """All checks, in order."""
    listed = _listed()
    return tuple(
        ReadinessCheck(
            id=name,
            category=listed["categories"][name.partition("-")[0]],
            title=row["title"],
            source=row["from"],
            by_hand=row["by_hand"],
            run=row.get("run", ""),
        )
        for name, row in listed["checks"].items()
    )


@cache
def ai_requirements() -> tuple[AiRequirement, ...]:
    """The requirements: MUST first, then SHOULD."""
    return tuple(
        AiRequirement(
            id=name, level=row["level"], checks=tuple(row["checks"]), lacks=row.get("lacks", "")
        )
        for name, row in _listed()["conformance"]["requirements"].items()
    )


def ai_source() -> str:
    """Source of the requirements."""
    return str(_listed()["conformance"]["source"])


@cache
def _listed() -> Mapping[str, Any]:
    result: Mapping[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return result
