"""A toy add-on, added at run time as a developer adds one: one record in the tuple, and nothing else."""

from datetime import date

import pytest

from gpuyard.plan.records import PlatformPlan
from gpuyard.render import platform
from gpuyard.render.addons import Addon
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.objects import Object, namespace_object
from gpuyard.render.pulled_image import named_image
from gpuyard_core.catalogue.software.charts import Chart
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.names import POD_SECURITY_LABEL

TOY_CHART = Chart(
    name="toy",
    title="Toy",
    pin="keda",
    registry="toys.example",
    path="charts/toy",
    image="toy/controller",
    tag="v{}",
    source=Source("none", date(2026, 11, 28), as_of=date(2026, 11, 28)),
)


def toy_objects(plan: PlatformPlan) -> list[Object]:
    """The namespace of the chart."""
    return [namespace_object(plan.name, "toys", {POD_SECURITY_LABEL: "restricted"})]


def toy_release(plan: PlatformPlan) -> Release:
    """The release."""
    return chart_release(plan, TOY_CHART, "toys", {"replicas": 2})


TOY = Addon(
    "toy",
    toy_objects,
    toy_release,
    lambda _: [named_image("toys.example/toy/agent:1", TOY_CHART.title)],
    after=("admission", "kueue"),
)
USES_TOY = Addon(
    "toy-user",
    lambda plan: [namespace_object(plan.name, "toy-user", {})],
    after=("toy",),
)
"""An add-on that needs the chart of the first one."""


def add_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Insert both after the teams."""
    addons = list(platform.ADDONS)
    place = [each.name for each in addons].index("teams") + 1
    with_toys = (*addons[:place], TOY, USES_TOY, *addons[place:])
    for module in ("render.platform", "render.supply.images", "resources.platform"):
        monkeypatch.setattr(f"gpuyard.{module}.ADDONS", with_toys)
