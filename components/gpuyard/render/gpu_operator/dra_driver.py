"""The separate chart of NVIDIA's DRA driver, for claims on GKE, where no GPU Operator installs it.

It uses the operator's namespace, which admits privileged pods and has the quota that GKE requires
for pods of critical priority. Google's page "Prepare GKE infrastructure for DRA workloads" omits
the priority because it has no such quota.
"""

from typing import Any

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.sharing.dra import installs_dra_driver_chart
from gpuyard.render.charts import Release, chart_release
from gpuyard.render.data_files import filled_data
from gpuyard.render.gpu_operator.objects import agent_tolerations, spans_racks
from gpuyard.render.objects import system_tolerations
from gpuyard.render.pulled_image import image_values
from gpuyard_core.catalogue.kubernetes.claims import API_VERSION
from gpuyard_core.catalogue.software.charts import DRA_DRIVER_CHART
from gpuyard_core.catalogue.software.images import IMAGES
from gpuyard_core.names import (
    GPU_OPERATOR_NAMESPACE,
)


def dra_driver_release(plan: PlatformPlan) -> Release | None:
    """The release; None if the operator or another driver serves claims, or no pool uses claims."""
    if plan.queueing.dispatch or not installs_dra_driver_chart(plan.spec):
        return None
    return chart_release(plan, DRA_DRIVER_CHART, GPU_OPERATOR_NAMESPACE, dra_driver_values(plan))


def dra_driver_values(plan: PlatformPlan) -> Any:
    """The chart's values."""
    return filled_data(
        "gpu_operator/values.yaml",
        "dra_driver",
        driver_root=IMAGES[plan.provider.dra_chart_image].settings["toolkit.installDir"],
        api=API_VERSION,
        image=image_values(plan, DRA_DRIVER_CHART),
        racks=spans_racks(plan),
        controllers=system_tolerations(),
        agents=agent_tolerations(plan),
    )
