"""Admission parameters of a team, beyond what holds for everybody."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.admission.images import normalized_prefix
from gpuyard.manifests.fields import is_true, text
from gpuyard.names import ADMISSION_ANNOTATIONS, LOCAL_QUEUE, POOL_LABEL
from gpuyard.plan.records import PlatformPlan, Taint, TeamPlan, usable_pools
from gpuyard.plan.sharing.gke_sharing import shared_names
from gpuyard.spec.sections import Admission, Enforce

ACCOUNTS, CSI_DRIVERS, GUARANTEED, IMAGES_FROM, PRIORITIES, PRIORITY_CLASSES, QUEUES = (
    f"{ADMISSION_ANNOTATIONS}{word}"
    for word in (
        *("accounts", "csi-drivers", "guaranteed", "images-from"),
        *("priorities", "priority-classes", "queues"),
    )
)
LONGEST_GRACE, SHARES, TAINTS = (
    f"{ADMISSION_ANNOTATIONS}{word}" for word in ("longest-grace-seconds", "shares", "taints")
)
"""The annotations."""


USUAL_GRACE = 300
"""Seconds that pods with GPUs may take to end where a namespace has no annotation of it."""
_ACCOUNTS_OF = "system:serviceaccounts:"
"""How a group begins that holds the service accounts of one namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamParameters:
    """The parameters of a team."""

    allowed_image_prefixes: tuple[str, ...] = ()
    """Registries and repositories in full (docker.io/library); empty: any."""
    taints: tuple[Taint, ...] = ()
    """Of pools of which the team has nothing, neither guarantee nor borrowing."""
    guaranteed: bool = True
    queues: tuple[str, ...] = (LOCAL_QUEUE,)
    priority_classes: tuple[str, ...] = ()
    """Of the cluster, that pods may have."""
    priorities: tuple[str, ...] = ()
    """Of the platform, that jobs may name."""
    csi_drivers: tuple[str, ...] = ()
    """Whose volumes pods may have without a claim."""
    accounts: tuple[str, ...] = ()
    """Groups of service accounts elsewhere that work for the team, as its pipelines do."""
    longest_grace: int = USUAL_GRACE
    """Seconds that pods with GPUs may take to end."""
    shares: tuple[str, ...] = ()
    """Resources that are shares of a GPU there, and whose names do not say so."""

    def annotations(self) -> dict[str, str]:
        """As the team's namespace carries them: a line for each of several."""
        return {
            ACCOUNTS: "\n".join(self.accounts),
            CSI_DRIVERS: "\n".join(self.csi_drivers),
            GUARANTEED: "true" if self.guaranteed else "false",
            IMAGES_FROM: "\n".join(self.allowed_image_prefixes),
            **(
                {LONGEST_GRACE: str(self.longest_grace)}
                if self.longest_grace != USUAL_GRACE
                else {}
            ),
            PRIORITIES: "\n".join(self.priorities),
            PRIORITY_CLASSES: "\n".join(self.priority_classes),
            QUEUES: "\n".join(self.queues),
            **({SHARES: "\n".join(self.shares)} if self.shares else {}),
            TAINTS: "\n".join(str(taint) for taint in self.taints),
        }

    @property
    def has_default(self) -> bool:
        """Whether Kueue puts what names no queue into one."""
        return LOCAL_QUEUE in self.queues


def read_parameters(annotations: Mapping[str, Any]) -> TeamParameters:
    """The same from the namespace."""
    return TeamParameters(
        allowed_image_prefixes=_lines(annotations, IMAGES_FROM),
        taints=tuple(_taint(line) for line in _lines(annotations, TAINTS)),
        guaranteed=is_true(annotations.get(GUARANTEED)),
        queues=_lines(annotations, QUEUES),
        priority_classes=_lines(annotations, PRIORITY_CLASSES),
        priorities=_lines(annotations, PRIORITIES),
        csi_drivers=_lines(annotations, CSI_DRIVERS),
        accounts=_lines(annotations, ACCOUNTS),
        longest_grace=int(text(annotations.get(LONGEST_GRACE)) or USUAL_GRACE),
        shares=_lines(annotations, SHARES),
    )


def _lines(annotations: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(text(annotations.get(key)).split())


def _taint(line: str) -> Taint:
    key, _, rest = line.partition("=")
    value, _, effect = rest.partition(":")
    return Taint(key, value, effect)


def parameters_of(plan: PlatformPlan, team: TeamPlan) -> TeamParameters:
    """The parameters of a team; what it says itself counts before what the platform says."""
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
        queues=tuple(team.queues),
        priority_classes=admission.priority_classes,
        priorities=tuple(priority.name for priority in plan.queueing.priorities),
        csi_drivers=admission.csi_drivers,
        accounts=tuple(group for group in team.groups if group.startswith(_ACCOUNTS_OF)),
        longest_grace=max(admission.max_grace_period_seconds, saving),
        shares=tuple(sorted(shared_names(map(plan.pool, usable_pools(team.quotas))))),
    )


def enforcement(plan: PlatformPlan) -> Enforce:
    """What becomes of a pod that breaks a requirement."""
    return _admission(plan).enforce


def _admission(plan: PlatformPlan) -> Admission:
    return plan.spec.admission or Admission()


def _taints_of_others(plan: PlatformPlan, team: TeamPlan) -> tuple[Taint, ...]:
    """The taint that all GPU nodes bear keeps nobody apart: the one with the pool's own name does."""
    own = {quota.pool for quota in team.quotas if quota.nominal + quota.borrow}
    others = (pool for pool in plan.pools if pool.name not in own)
    return tuple(taint for pool in others for taint in pool.taints if taint.key == POOL_LABEL)
