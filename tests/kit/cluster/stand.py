"""Exporters, a real Prometheus and a real Alertmanager of one platform, and questions about them."""

import json
import re
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.observability import dashboards, rules
from gpuyard.render.observability.monitors import monitor_objects
from gpuyard_simulate.metrics.load import Load
from gpuyard_simulate.metrics.server import Exporters, Objects, serving
from kit.cluster import metrics
from testbed import monitoring

SECONDS = 120
Value = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stand:
    """Exporters and Prometheus of one platform."""

    plan: PlatformPlan
    exporters: Exporters
    address: str
    got: list[tuple[str, Value]]
    """Notifications by the name of the receiver's Secret."""
    folder: Path

    def get(self, path: str) -> Any:
        """An answer of the API of Prometheus."""
        with monitoring.LOCAL.open(f"{self.address}/api/v1/{path}", timeout=30) as answer:
            return json.load(answer)["data"]

    def query(self, text: str) -> list[Value]:
        """The series of a query."""
        return list(self.get(f"query?{urllib.parse.urlencode({'query': text})}")["result"])

    def values(self, text: str, *labels: str) -> dict[tuple[str, ...], float]:
        """The values of a query by some of its labels."""
        found = self.query(text)
        return {tuple(e["metric"].get(k, "") for k in labels): float(e["value"][1]) for e in found}

    def failed_rules(self) -> dict[str, str]:
        """Rules that Prometheus cannot evaluate, with its message."""
        rules_of = [rule for group in self.get("rules")["groups"] for rule in group["rules"]]
        return {rule["name"]: rule["lastError"] for rule in rules_of if rule["health"] != "ok"}

    def records_without_data(self) -> list[str]:
        """Recording rules of the platform that have no series."""
        rules_of = [rule for group in rules.rule_groups(self.plan) for rule in group["rules"]]
        names = {rule["record"] for rule in rules_of if "record" in rule}
        return [name for name in sorted(names) if not self.query(name)]

    def panels(self) -> list[tuple[str, str]]:
        """The titles and queries of all panels, with values for variables."""
        made = dashboards.dashboards(self.plan)
        return [pair for file, each in made.items() for pair in _queries(each["panels"], file)]

    def alerted(self, receiver: str, alert: str) -> set[str]:
        """Pods of an alert that a receiver was notified of."""
        bodies = [body for name, body in self.got if name == receiver]
        alerts = [each["labels"] for body in bodies for each in body["alerts"]]
        return {labels["pod"] for labels in alerts if labels["alertname"] == alert}

    def cost(self) -> tuple[dict[str, float], dict[str, float]]:
        """The bill by pool, and the sum of the parts of the cost by pool, in cents."""
        bill = self.values("gpuyard:bill:dollars_per_hour", "pool")
        parts = self.values("sum by (pool) (gpuyard:cost:dollars_per_hour)", "pool")
        return _cents(bill), _cents(parts)


def _cents(values: dict[tuple[str, ...], float]) -> dict[str, float]:
    return {pool: round(value, 2) for (pool,), value in values.items()}


def _queries(panels: list[Value], title: str) -> Iterator[tuple[str, str]]:
    for panel in panels:
        yield from _queries(panel.get("panels") or [], title)
        for target in panel.get("targets") or ():
            text = re.sub(r"\$(?:pool|team|node|queue)\b", ".+", target["expr"])
            text = re.sub(r"\$__(?:range|rate_interval|interval)\b", "8s", text)
            yield f"{title}/{panel.get('title', '')}", monitoring.sooner(text)


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for a condition of a stand."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.3)


@contextmanager
def standing(
    folder: Path, plan: PlatformPlan, objects: Objects, load: Load, *others: str
) -> Iterator[Stand]:
    """A stand whose exporters read these objects; all rules have data of eight seconds.

    `others` are exporters of the metric table of which one process serves each metric.
    """
    exporters = Exporters(lambda: objects, load=load)
    with ExitStack() as stack:
        served = stack.enter_context(serving(exporters))
        groups = rules.rule_groups(plan)
        of_table = stack.enter_context(monitoring.serving_text(lambda: metrics.table_text(*others)))
        more = [
            {
                "job_name": "others",
                "honor_labels": True,
                "static_configs": [{"targets": [of_table]}],
            }
        ]
        run = monitoring.watching(
            folder, monitor_objects(plan), groups, served, objects.nodes, more
        )
        address, got = stack.enter_context(run)
        found = Stand(plan, exporters, address, got, folder)
        until(lambda: bool(found.query("gpuyard:team_spend:dollars_per_hour")), _state(folder))
        time.sleep(10)  # all rules have read each other's series, and those of eight seconds
        yield found


def _state(folder: Path) -> str:
    return (folder / "prometheus.log").read_text()[-2000:]
