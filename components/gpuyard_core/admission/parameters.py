"""Admission parameters of a team, in addition to the requirements for all teams."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard_core.manifests.fields import is_true, text
from gpuyard_core.manifests.pods import Taint
from gpuyard_core.names import ADMISSION_ANNOTATIONS, LOCAL_QUEUE

(
    ACCOUNTS,
    CSI_DRIVERS,
    GUARANTEED,
    IMAGES_FROM,
    INTEGRATIONS,
    PRIORITIES,
    PRIORITY_CLASSES,
    QUEUES,
) = (
    f"{ADMISSION_ANNOTATIONS}{word}"
    for word in (
        *("accounts", "csi-drivers", "guaranteed", "images-from", "integrations"),
        *("priorities", "priority-classes", "queues"),
    )
)
LONGEST_GRACE, SHARES, TAINTS = (
    f"{ADMISSION_ANNOTATIONS}{word}" for word in ("longest-grace-seconds", "shares", "taints")
)
VOLCANO_QUEUE_OF_TEAM = f"{ADMISSION_ANNOTATIONS}volcano-queue"
"""The annotations."""


USUAL_GRACE = 300
"""Maximum grace period in seconds of pods with GPUs, if the namespace has no annotation for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamParameters:
    """The parameters of a team."""

    allowed_image_prefixes: tuple[str, ...] = ()
    """Fully qualified registries and repositories (docker.io/library); empty: any."""
    taints: tuple[Taint, ...] = ()
    """Taints of pools in which the team has no quota."""
    guaranteed: bool = True
    queues: tuple[str, ...] = (LOCAL_QUEUE,)
    priority_classes: tuple[str, ...] = ()
    """PriorityClasses of the cluster that pods may use."""
    priorities: tuple[str, ...] = ()
    """Priorities of the platform that jobs may use."""
    csi_drivers: tuple[str, ...] = ()
    """CSI drivers whose inline volumes pods may mount."""
    accounts: tuple[str, ...] = ()
    """Groups of service accounts in other namespaces that act for the team, such as pipelines."""
    max_grace_period_seconds: int = USUAL_GRACE
    """Maximum grace period of pods with GPUs, in seconds."""
    integrations: tuple[str, ...] = ()
    """Kinds that Kueue queues besides those of its chart, by group and kind."""
    shares: tuple[str, ...] = ()
    """Resources that are GPU shares without the suffix `.shared`."""
    volcano_queue: str = ""
    """The team's queue of Volcano; empty if Kueue queues jobs."""

    def annotations(self) -> dict[str, str]:
        """The annotations of the team's namespace; multiple values are separated by newlines."""
        return {
            ACCOUNTS: "\n".join(self.accounts),
            CSI_DRIVERS: "\n".join(self.csi_drivers),
            GUARANTEED: "true" if self.guaranteed else "false",
            IMAGES_FROM: "\n".join(self.allowed_image_prefixes),
            **(
                {LONGEST_GRACE: str(self.max_grace_period_seconds)}
                if self.max_grace_period_seconds != USUAL_GRACE
                else {}
            ),
            **({INTEGRATIONS: "\n".join(self.integrations)} if self.integrations else {}),
            PRIORITIES: "\n".join(self.priorities),
            PRIORITY_CLASSES: "\n".join(self.priority_classes),
            QUEUES: "\n".join(self.queues),
            **({SHARES: "\n".join(self.shares)} if self.shares else {}),
            TAINTS: "\n".join(str(taint) for taint in self.taints),
            **({VOLCANO_QUEUE_OF_TEAM: self.volcano_queue} if self.volcano_queue else {}),
        }

    @property
    def has_default(self) -> bool:
        """Whether Kueue assigns a default queue to jobs that name none."""
        return LOCAL_QUEUE in self.queues


def read_parameters(annotations: Mapping[str, Any]) -> TeamParameters:
    """Parse the annotations of a namespace."""
    return TeamParameters(
        allowed_image_prefixes=_lines(annotations, IMAGES_FROM),
        taints=tuple(_taint(line) for line in _lines(annotations, TAINTS)),
        guaranteed=is_true(annotations.get(GUARANTEED)),
        queues=_lines(annotations, QUEUES),
        priority_classes=_lines(annotations, PRIORITY_CLASSES),
        priorities=_lines(annotations, PRIORITIES),
        csi_drivers=_lines(annotations, CSI_DRIVERS),
        accounts=_lines(annotations, ACCOUNTS),
        max_grace_period_seconds=int(text(annotations.get(LONGEST_GRACE)) or USUAL_GRACE),
        integrations=_lines(annotations, INTEGRATIONS),
        shares=_lines(annotations, SHARES),
        volcano_queue=text(annotations.get(VOLCANO_QUEUE_OF_TEAM)),
    )


def _lines(annotations: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(text(annotations.get(key)).split())


def _taint(line: str) -> Taint:
    key, _, rest = line.partition("=")
    value, _, effect = rest.partition(":")
    return Taint(key, value, effect)
