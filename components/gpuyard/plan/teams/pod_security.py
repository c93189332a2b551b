"""Pod Security levels: what a namespace is held to, what is warned of, and what `privileged` opens."""

from collections.abc import Mapping, Sequence

from gpuyard.findings import Finding, Fix, format_list, warning
from gpuyard.plan.draft import Draft
from gpuyard.plan.records import Quota, usable_pools
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.teams import PodSecurity

_STRICTER = {
    PodSecurity.PRIVILEGED: PodSecurity.BASELINE,
    PodSecurity.BASELINE: PodSecurity.RESTRICTED,
    PodSecurity.RESTRICTED: PodSecurity.RESTRICTED,
}


def stricter(level: PodSecurity) -> PodSecurity:
    """The next stricter level: what breaks it is warned of, so that a team sees what is left to do."""
    return _STRICTER[level]


def check_pod_security(draft: Draft) -> list[Finding]:
    """Warn of every team whose pods may be privileged, and say who stands beside them."""
    return [
        _privileged(draft.spec, index, draft.quotas)
        for index, team in enumerate(draft.spec.teams)
        if team.pod_security is PodSecurity.PRIVILEGED
    ]


def _privileged(spec: PlatformSpec, index: int, quotas: Mapping[int, Sequence[Quota]]) -> Finding:
    team = spec.teams[index]
    mine = set(usable_pools(quotas[index]))
    others = [
        other.name
        for at, other in enumerate(spec.teams)
        if at != index and mine.intersection(usable_pools(quotas[at]))
    ]
    note = (
        f"; {format_list(others)} can have pods on the same nodes"
        if others
        else "; no other team is there"
    )
    return warning(
        "team.privileged",
        ("teams", index, "pod_security"),
        f"a privileged pod of {team.name} is root on its node: it has every GPU there whatever it asked for,"
        f" reads memory, files and credentials of every pod beside it, and may act as the node{note}",
        value=team.pod_security.value,
        allowed="baseline, or restricted",
        fix=Fix(
            message="write baseline; what profilers and drivers need belongs in a namespace of the platform's",
            at=("teams", index, "pod_security"),
            value=PodSecurity.BASELINE.value,
        ),
    )
