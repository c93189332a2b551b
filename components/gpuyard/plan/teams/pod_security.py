"""Pod Security levels: which level a namespace enforces and warns of, and what `privileged` allows."""

from collections.abc import Mapping, Sequence

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Quota, usable_pools
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import PodSecurity
from gpuyard_core.findings import Diagnostic, Fix, format_list, warning

_STRICTER = {
    PodSecurity.PRIVILEGED: PodSecurity.BASELINE,
    PodSecurity.BASELINE: PodSecurity.RESTRICTED,
    PodSecurity.RESTRICTED: PodSecurity.RESTRICTED,
}


def stricter(level: PodSecurity) -> PodSecurity:
    """The next stricter level, which only warns, so that a team sees what is left to do."""
    return _STRICTER[level]


def check_pod_security(draft: Draft) -> list[Diagnostic]:
    """Warn of every team whose pods may be privileged, and name the teams on the same nodes."""
    return [
        _privileged(draft.spec, index, draft.quotas)
        for index, team in enumerate(draft.spec.teams)
        if team.pod_security is PodSecurity.PRIVILEGED
    ]


def _privileged(
    spec: PlatformSpec, index: int, quotas: Mapping[int, Sequence[Quota]]
) -> Diagnostic:
    team = spec.teams[index]
    mine = set(usable_pools(quotas[index]))
    others = [
        other.name
        for at, other in enumerate(spec.teams)
        if at != index and mine.intersection(usable_pools(quotas[at]))
    ]
    note = (
        f"; {format_list(others)} can run pods on the same nodes"
        if others
        else "; no other team uses these nodes"
    )
    return warning(
        "team.privileged",
        ("teams", index, "pod_security"),
        f"a privileged pod of {team.name} is root on its node: it can use every GPU of the node, read memory,"
        f" files and credentials of every other pod there, and act as the node{note}",
        given=team.pod_security.value,
        allowed="baseline, or restricted",
        fix=Fix(
            message="write baseline; run profilers and drivers in a namespace of the platform",
            at=("teams", index, "pod_security"),
            value=PodSecurity.BASELINE.value,
        ),
    )
