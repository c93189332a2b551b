"""The checks as they are listed, and what the CNCF's AI conformance asks for: `checks.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).with_name("checks.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessCheck:
    """One thing that a platform must show."""

    id: str
    category: str
    title: str
    source: str
    """Who can answer: P the plan, L the live cluster, R a run."""
    by_hand: str
    """How anybody sees the same without us."""
    run: str
    """What to run where nothing else can tell; empty where the plan or the cluster can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AiRequirement:
    """One requirement of CNCF AI Conformance for Kubernetes 1.36."""

    id: str
    level: str
    checks: tuple[str, ...]
    """Whose answers are evidence for it."""
    lacks: str
    """What nothing here looks at; empty where something does."""


@cache
def readiness_checks() -> tuple[ReadinessCheck, ...]:
    """All of them, in their order."""
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
    """What the programme asks for: first what it demands, then what it recommends."""
    return tuple(
        AiRequirement(
            id=name, level=row["level"], checks=tuple(row["checks"]), lacks=row.get("lacks", "")
        )
        for name, row in _listed()["conformance"]["requirements"].items()
    )


def ai_source() -> str:
    """Where the requirements stand."""
    return str(_listed()["conformance"]["source"])


@cache
def _listed() -> Mapping[str, Any]:
    result: Mapping[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return result
