"""Namespaces of a team: their names, and the part of the team's limits that each gets.

A ResourceQuota limits one namespace, so the limits that depend on it alone are divided among a team's
namespaces. GPUs are not: the team's queue counts them over all namespaces, and admission policies deny pods
that bypass it (docs/decisions/0024).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from ipaddress import ip_network
from operator import attrgetter

from gpuyard.plan.draft import Draft
from gpuyard.plan.records import (
    CpuAndMemory,
    EgressNetwork,
    LimitsPlan,
    NamespacePlan,
    TeamPlan,
    usable_pools,
)
from gpuyard.plan.renames import free_name
from gpuyard.plan.shapes.quota import host_need, planned_shapes
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.sections import Admission, Enforce
from gpuyard.spec.teams import PodSecurity, Team, TeamNamespace
from gpuyard_core.catalogue.kubernetes.addresses import METADATA
from gpuyard_core.catalogue.kubernetes.api import NAMESPACES
from gpuyard_core.findings import Diagnostic, Fix, Path, error, format_list, warning
from gpuyard_core.names import GPU_OPERATOR_NAMESPACE, KUEUE_NAMESPACE, system_namespace

_ALL = 100
"""Percent."""
RESERVED_NAMESPACES = NAMESPACES | {GPU_OPERATOR_NAMESPACE, KUEUE_NAMESPACE}


def plan_namespaces(team: Team, limits: LimitsPlan) -> tuple[NamespacePlan, ...]:
    """The namespaces with their parts; the sum of the parts never exceeds the limits."""
    results: list[NamespacePlan] = []
    before = Fraction(0)
    for space, share in zip(team.spaces, _shares(team.spaces), strict=True):
        part = _part(limits, before, before + share)
        results.append(NamespacePlan(name=space.name, existing=space.existing, limits=part))
        before += share
    return tuple(results)


def _shares(spaces: Sequence[TeamNamespace]) -> list[Fraction]:
    """The percentages of the stack file; the others share the remainder equally."""
    remaining = max(0, _ALL - sum(space.percent or 0 for space in spaces))
    silent = sum(space.percent is None for space in spaces)
    return [
        Fraction(space.percent, _ALL) if space.percent else Fraction(remaining, _ALL * silent)
        for space in spaces
    ]


def _part(limits: LimitsPlan, low: Fraction, high: Fraction) -> LimitsPlan:
    """The part of each amount between two fractions; rounded at both, so that no unit is in two parts."""

    def of(amount: int) -> int:
        return int(amount * high) - int(amount * low)

    cpu, memory = of(limits.cpu), of(limits.memory_gib)
    container = limits.container
    return replace(
        limits,
        cpu=cpu,
        memory_gib=memory,
        storage_gib=of(limits.storage_gib),
        claims=of(limits.claims),
        pods=of(limits.pods),
        objects=of(limits.objects),
        container=CpuAndMemory(min(cpu, container.cpu), min(memory, container.memory_gib)),
    )


def reserved_namespaces(spec: PlatformSpec) -> frozenset[str]:
    """Namespaces that no team may use: the cluster's, and the platform's own."""
    return RESERVED_NAMESPACES | {system_namespace(spec.name)}


def check_namespace_names(draft: Draft) -> Iterator[Diagnostic]:
    """Reject namespaces that two teams have, that one team has twice, or that are reserved.

    A team without `namespaces` has one with the team's name, which is checked with that name.
    """
    spec = draft.spec
    owners = {team.stable_name: team.name for team in spec.teams if not team.namespaces}
    for index, team in enumerate(spec.teams):
        for place, space in enumerate(team.namespaces):
            path = ("teams", index, "namespaces", place)
            if space.name in reserved_namespaces(spec):
                problem = "a namespace with this name belongs to the cluster"
                yield _in_use(spec, path, "team.reserved", problem, space)
            elif (owner := owners.get(space.name)) is not None:
                whose = "this team" if owner == team.name else f"team {owner}"
                problem = f"{whose} already has the namespace"
                yield _in_use(spec, path, "team.duplicate", problem, space)
            owners.setdefault(space.name, team.name)


def _in_use(
    spec: PlatformSpec, path: Path, kind: str, problem: str, space: TeamNamespace
) -> Diagnostic:
    used = reserved_namespaces(spec) | {one.name for team in spec.teams for one in team.spaces}
    wish = f"team-{space.name}"
    free = wish if wish not in used else free_name(space.name, used)
    value = space.model_copy(update={"name": free}).model_dump(mode="json")
    return error(
        kind,
        path,
        problem,
        given=space.name,
        allowed="a namespace that belongs to one team only",
        fix=Fix(message=f"write {free}, or remove it", at=path, value=value),
    )


def check_namespaces(draft: Draft) -> Iterator[Diagnostic]:
    """Problems that make several namespaces of a team differ from a single one."""
    enforce = (draft.spec.admission or Admission()).enforce
    for index, (team, plan) in enumerate(zip(draft.spec.teams, draft.teams, strict=True)):
        path = ("teams", index, "namespaces")
        if len(team.namespaces) > 1 and enforce is not Enforce.DENY:
            yield error(
                "team.namespaces_unheld",
                path,
                f"each of the {len(team.namespaces)} namespaces of {team.name} may use all GPUs of the team, and"
                " only the queue limits their sum: a pod that bypasses the queue must be denied, not warned about",
                given=f"admission.enforce: {enforce.value}",
                allowed="deny, or one namespace for each team",
                fix=Fix(
                    message="write enforce: deny",
                    at=("admission", "enforce"),
                    value=Enforce.DENY.value,
                ),
            )
        if team.namespaces:
            yield from _parts(path, team, plan, draft)


def _parts(path: Path, team: Team, plan: TeamPlan, draft: Draft) -> Iterator[Diagnostic]:
    """Parts that exceed the whole, are empty, or hold no shape of the team."""
    total_percent = sum(space.percent or 0 for space in team.namespaces)
    empty = [
        space.name
        for space in plan.namespaces
        if 0 in attrgetter("cpu", "memory_gib", "claims", "pods", "objects")(space.limits)
    ]
    if total_percent <= _ALL and not empty:
        yield from _small(path, plan, draft)
        return
    why = f"{format_list(empty)} would get nothing"
    even = [s.model_copy(update={"percent": None}).model_dump() for s in team.namespaces]
    yield error(
        "team.namespace_parts",
        path,
        f"the namespaces of {team.name} divide its limits, and"
        f" {why if total_percent <= _ALL else 'the percentages exceed 100'}",
        given=f"{total_percent} percent in total",
        allowed="at most 100 percent in total, with a remainder for namespaces without a percent",
        fix=Fix(message="remove all percentages: the parts are then equal", at=path, value=even)
        if total_percent
        else Fix(message="give the team fewer namespaces, or higher limits"),
    )


def _small(path: Path, team: TeamPlan, draft: Draft) -> Iterator[Diagnostic]:
    """Shapes that fit in the limits of the team, but in none of its namespaces."""
    spaces, team_limits = [space.limits for space in team.namespaces], team.limits
    needs = [
        (plan.name, host_need(shape).amount)
        for shape, plan in planned_shapes(draft)
        if team.name in plan.teams
    ]
    unplaceable = [
        name
        for name, need in needs
        if all(need.cpu > one.cpu or need.memory_gib > one.memory_gib for one in spaces)
    ]
    if unplaceable:
        yield warning(
            "team.namespace_small",
            path,
            f"no namespace of {team.name} has the CPU and memory for the pods of {format_list(unplaceable)}: the"
            " namespaces divide the team's limits, so Kueue would admit it, but Kubernetes would create only some pods",
            given=f"at most {max(one.cpu for one in spaces)} CPUs and"
            f" {max(one.memory_gib for one in spaces)} GiB of {team_limits.cpu} and {team_limits.memory_gib}",
            allowed="a larger percent for one of them, or higher limits",
            fix=Fix(message="give the namespace that runs it a larger percent"),
        )


_STRICTER = {
    PodSecurity.PRIVILEGED: PodSecurity.BASELINE,
    PodSecurity.BASELINE: PodSecurity.RESTRICTED,
    PodSecurity.RESTRICTED: PodSecurity.RESTRICTED,
}


def stricter(level: PodSecurity) -> PodSecurity:
    """The next stricter level, which only warns, so that a team sees what is left to do."""
    return _STRICTER[level]


def check_pod_security(draft: Draft) -> Iterator[Diagnostic]:
    """Warn of every team whose pods may be privileged, and name the teams on the same nodes."""
    for index, team in enumerate(draft.spec.teams):
        if team.pod_security is not PodSecurity.PRIVILEGED:
            continue
        mine = set(usable_pools(draft.quotas[index]))
        others = [
            other.name
            for at, other in enumerate(draft.spec.teams)
            if at != index and mine.intersection(usable_pools(draft.quotas[at]))
        ]
        who = (
            f"{format_list(others)} can run pods on the same"
            if others
            else "no other team uses these"
        )
        yield warning(
            "team.privileged",
            ("teams", index, "pod_security"),
            f"a privileged pod of {team.name} is root on its node: it can use every GPU of the node, read memory,"
            f" files and credentials of every other pod there, and act as the node; {who} nodes",
            given=team.pod_security.value,
            allowed="baseline, or restricted",
            fix=Fix(
                message="write baseline; run profilers and drivers in a namespace of the platform",
                at=("teams", index, "pod_security"),
                value=PodSecurity.BASELINE.value,
            ),
        )


# Pods outside a team's namespaces cannot reach its pods, and its pods cannot reach those of others. A
# cloud's metadata service gives the credentials of a node to every client, so it is excluded from every
# network.

_METADATA = tuple(ip_network(address) for address in METADATA)


def plan_egress(spec: PlatformSpec, team: Team) -> tuple[EgressNetwork, ...]:
    """The team's networks, else those of the platform; sorted, so that the order has no effect."""
    networks = {ip_network(cidr) for cidr in team.egress_cidrs or _common(spec)}
    return tuple(
        EgressNetwork(
            str(network),
            tuple(str(one) for one in _METADATA if one.network_address in network),
        )
        for network in sorted(networks, key=lambda n: (n.version, n.network_address, n.prefixlen))
    )


def check_egress(draft: Draft) -> Iterator[Diagnostic]:
    """Reject networks that consist of the metadata service only."""
    spec = draft.spec
    yield from _check(_common(spec), ("admission", "egress_cidrs"))
    for index, team in enumerate(spec.teams):
        yield from _check(team.egress_cidrs, ("teams", index, "egress_cidrs"))


def _common(spec: PlatformSpec) -> Sequence[str]:
    return spec.admission.egress_cidrs if spec.admission else ()


def _check(cidrs: Sequence[str], path: Path) -> Iterator[Diagnostic]:
    if bare := [cidr for cidr in cidrs if cidr in METADATA]:
        yield error(
            "egress.metadata",
            path,
            "this is the cloud's metadata service: it gives the node's credentials and permissions"
            " to every pod that can reach it",
            given=", ".join(bare),
            allowed="networks with other addresses; gpuyard excludes the metadata service from each",
            fix=Fix(
                message=f"remove {', '.join(bare)}",
                at=path,
                value=[cidr for cidr in cidrs if cidr not in bare],
            ),
        )
