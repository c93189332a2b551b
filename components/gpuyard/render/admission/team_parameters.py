"""Admission parameters of a team, from the plan."""

from gpuyard.plan.queueing.kueue import integrated_kinds
from gpuyard.plan.queueing.volcano import uses_volcano
from gpuyard.plan.records import PlatformPlan, TeamPlan, usable_pools
from gpuyard.plan.sharing.gke_sharing import single_request_resources
from gpuyard.plan.workloads.addons import addons_of
from gpuyard.spec.sections import Admission, Enforce
from gpuyard_core.admission.images import normalized_prefix
from gpuyard_core.admission.parameters import TeamParameters
from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.names import POOL_LABEL

_ACCOUNTS_OF = "system:serviceaccounts:"
"""Prefix of the group with all service accounts of one namespace."""


def parameters_of(plan: PlatformPlan, team: TeamPlan) -> TeamParameters:
    """The parameters of a team; its own settings override those of the platform."""
    spec = next(one for one in plan.spec.teams if one.name == team.name)
    admission, interruption = _admission(plan), plan.spec.queueing.interruption
    saving = interruption.checkpoint_seconds if interruption else 0
    return TeamParameters(
        allowed_image_prefixes=tuple(
            dict.fromkeys(
                normalized_prefix(each) for each in spec.allowed_images or admission.allowed_images
            )
        ),
        taints=_taints_of_others(plan, team),
        guaranteed=admission.guaranteed,
        queues=() if uses_volcano(plan.spec) else tuple(team.queues),
        priority_classes=admission.priority_classes,
        priorities=tuple(priority.name for priority in plan.queueing.priorities),
        csi_drivers=admission.csi_drivers,
        accounts=(
            *(group for group in team.groups if group.startswith(_ACCOUNTS_OF)),
            *(
                f"{_ACCOUNTS_OF}{namespace}"
                for name in addons_of(plan, team)
                for namespace in addon_facts()[name].accounts
            ),
        ),
        max_grace_period_seconds=max(admission.max_grace_period_seconds, saving),
        integrations=integrated_kinds(plan.spec),
        shares=tuple(sorted(single_request_resources(map(plan.pool, usable_pools(team.quotas))))),
        volcano_queue=team.cluster_queue if uses_volcano(plan.spec) else "",
    )


def enforcement(plan: PlatformPlan) -> Enforce:
    """The action on a violation."""
    return _admission(plan).enforce


def _admission(plan: PlatformPlan) -> Admission:
    return plan.spec.admission or Admission()


def _taints_of_others(plan: PlatformPlan, team: TeamPlan) -> tuple[Taint, ...]:
    """Taints with the pool's own name; the taint that all GPU nodes have isolates no team."""
    own = {quota.pool for quota in team.quotas if quota.nominal + quota.borrow}
    others = (pool for pool in plan.pools if pool.name not in own)
    return tuple(taint for pool in others for taint in pool.taints if taint.key == POOL_LABEL)
