"""A team's default priority, which the API server sets on its jobs.

The namespace has the priority, so one policy serves all teams, and members cannot change it. A job
that sets a priority keeps it; the parts of a job that Kueue admits as one are not changed.
"""

from gpuyard.plan.queueing.kueue import queued_by_group
from gpuyard.plan.records import PlatformPlan
from gpuyard.render.admission.policy_objects import mutating_policy, resource_rule
from gpuyard.render.objects import Object
from gpuyard_core.catalogue.kubernetes.api import changes_jobs
from gpuyard_core.names import PRIORITY_LABEL, TEAM_PRIORITY_LABEL

_UNNAMED = f"!('{PRIORITY_LABEL}' in object.metadata.?labels.orValue({{}}))"
_ON_ITS_OWN = (
    "!object.metadata.?ownerReferences.orValue([])"
    ".exists(o, o.?controller.orValue(false) && o.kind != 'CronJob')"
)
_GIVEN = f"namespaceObject.metadata.labels['{TEAM_PRIORITY_LABEL}']"


def priority_objects(plan: PlatformPlan) -> list[Object]:
    """The policy and its binding; none without priorities or support of the API server."""
    if not changes_jobs(plan.kubernetes) or not any(team.priority for team in plan.teams):
        return []
    name = f"gpuyard-{plan.name}-priority"
    added = f"Object{{metadata: Object.metadata{{labels: {{'{PRIORITY_LABEL}': {_GIVEN}}}}}}}"
    groups = queued_by_group(plan.spec).items()
    return mutating_policy(
        plan.name,
        name,
        TEAM_PRIORITY_LABEL,
        [
            resource_rule(group, "*", kinds)
            for group, kinds in groups
            if group != "workload.codeflare.dev"  # members may create none (`access`)
        ],
        {"unnamed": _UNNAMED, "on-its-own": _ON_ITS_OWN},
        [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": added}}],
    )
