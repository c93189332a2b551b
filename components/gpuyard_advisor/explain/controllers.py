"""Kinds whose controllers gpuyard does not install: without one in the cluster, an admitted job has no pods."""

from gpuyard.plan.records import PlatformPlan
from gpuyard_advisor.workloads import ParsedWorkload
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.manifests.fields import text
from gpuyard_core.manifests.queued import OPERATORS, QUEUED_KINDS


def controller_caution(plan: PlatformPlan, job: ParsedWorkload) -> str:
    """The controller that the cluster must have for a job; empty if the stack has it or Kubernetes does."""
    if operator := OPERATORS.get(job.kind):
        return f"gpuyard installs no {operator}: without one in the cluster, the {job.kind} has no pods"
    group = text(job.body, "apiVersion").rpartition("/")[0]
    found = QUEUED_KINDS.get(f"{group}/{job.kind}")
    names = [
        each.name
        for each in addon_facts().values()
        if found and found.plural in each.kinds.get(group, ())
    ]
    if not names or any(map(plan.has_addon, names)):
        return ""
    return (
        f"the stack has no add-on {names[0]}: without its controller in the cluster, the {job.kind} has"
        f" no pods. Add {names[0]} to `addons`"
    )
