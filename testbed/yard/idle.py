"""A scene of the demo: an idle GPU is noticed, priced and reported, and the bill of its team is printed.

Fake exporters serve the metrics of the cluster's nodes. A real Prometheus evaluates the rules of the platform, and a real
Alertmanager notifies the receivers of teams. The GPUs of one job are busy, those of the other idle.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpuyard.plan import plan_or_raise
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.observability.monitors import monitor_objects
from gpuyard.render.observability.rules import rule_groups
from gpuyard.spec.platform import Cloud
from gpuyard.spec.sections import Alerts, Observability, Receiver, SecretKey
from gpuyard_simulate.api import Api
from gpuyard_simulate.metrics.cluster import reader
from gpuyard_simulate.metrics.load import Load, PodLoad
from gpuyard_simulate.metrics.server import Exporters, serving
from testbed.monitoring import TOOLS, watching
from testbed.yard.engine import ROOT, STACK
from testbed.yard.jobs import Gang, wait

PROGRAMS = ("prometheus", "alertmanager")


def build_programs() -> None:
    """Build Prometheus and Alertmanager unless they exist.

    Raises:
        CalledProcessError: a build failed, and has reported why.
    """
    if not all((TOOLS / name).exists() for name in PROGRAMS):
        subprocess.run([sys.executable, ROOT / "testbed" / "build.py", *PROGRAMS], check=True)


@dataclass(frozen=True, slots=True)
class Watched:
    """The platform's monitoring while the scene runs."""

    address: str
    """The URL of Prometheus."""
    notifications: list[tuple[str, dict[str, Any]]]

    def alert(self, team: str, job: str) -> str:
        """The text of the alert about a job that its team was notified of; empty before."""
        for receiver, body in list(self.notifications):
            for each in body["alerts"]:
                if receiver == team and str(each["labels"].get("pod", "")).startswith(job):
                    return str(each["annotations"]["summary"])
        return ""

    def notified(self, gang: Gang) -> str:
        """Wait for the alert about a job; returns its text."""
        wait(lambda: bool(self.alert(gang.team, gang.name)), f"an alert about {gang}")
        return self.alert(gang.team, gang.name)

    def statement(self, say: Callable[[str], None]) -> None:
        """Print the statement of this month."""
        month = datetime.now(UTC).strftime("%Y-%m")
        words = ["statement", STACK, "--month", month, "--live", self.address]
        say(f"  gpuyard {' '.join(words)}")
        command = [str(ROOT / ".venv" / "bin" / "gpuyard"), *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            say(f"    {line}")


@contextmanager
def watched(api: Api, plan: PlatformPlan, activity: Mapping[str, float]) -> Iterator[Watched]:
    """The platform with monitoring, and pods of these names with this activity; all others are idle."""
    exporters = Exporters(reader(api))
    exporters.load = Load(pods=tuple(PodLoad(f".*/{n}-.*", x, x) for n, x in activity.items()))
    nodes = api.call("GET", "/api/v1/nodes")["items"]
    monitors = monitor_objects(_with_receivers(plan))
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(exporters) as served,
        watching(Path(folder), monitors, rule_groups(plan), served, nodes) as (address, got),
    ):
        yield Watched(address, got)


def _with_receivers(plan: PlatformPlan) -> PlatformPlan:
    """The platform on a cluster of the user with a receiver for each team: a simulated one has no monitors."""
    teams = {t.name: Receiver(webhook=SecretKey(secret=t.name, key="url")) for t in plan.teams}
    change = {"cloud": Cloud.NONE, "observability": Observability(alerts=Alerts(teams=teams))}
    return plan_or_raise(plan.spec.model_copy(update=change))
