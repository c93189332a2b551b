"""The policy of Volcano that changes pods with GPUs: its scheduler, the queue of their team, tolerations."""

from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.cel import PolicyText, quoted
from gpuyard.render.admission.policy_objects import json_patch, mutating_policy, resource_rule
from gpuyard.render.objects import Object, toleration_object
from gpuyard_core.catalogue.kubernetes.api import changes_jobs
from gpuyard_core.names import TEAM_LABEL, volcano_policy_name


def volcano_defaults(plan: PlatformPlan) -> list[Object]:
    """The policy that sets scheduler, queue and tolerations of pods with GPUs, and its binding."""
    if not changes_jobs(plan.kubernetes):
        return []
    text = PolicyText("volcano")
    conditions = {
        "has-gpus": text.expression("has_gpus"),
        "names-no-other-scheduler": text.expression("names_no_other_scheduler"),
    }
    return mutating_policy(
        plan.name,
        volcano_policy_name(plan.name),
        TEAM_LABEL,
        [resource_rule("", "v1", ["pods"])],
        conditions,
        [json_patch(text.expression("named")), json_patch(_tolerating(plan, text))],
    )


def _tolerating(plan: PlatformPlan, text: PolicyText) -> str:
    """Tolerations of the taints of GPU nodes, which Kueue would add when it admits a pod."""
    taints = dict.fromkeys(taint for pool in plan.pools for taint in pool.taints)
    tolerations = [
        f"{{{', '.join(f'{quoted(key)}: {quoted(value)}' for key, value in toleration_object(taint).items())}}}"
        for taint in taints
    ]
    several = ", ".join(text.expand(f'%add("/spec/tolerations/-", {each})') for each in tolerations)
    whole = text.expand(f'%add("/spec/tolerations", [{", ".join(tolerations)}])')
    return f"has(object.spec.tolerations) ? [{several}] : [{whole}]" if tolerations else "[]"
