"""Arguments of components that stand alone: a complete platform, or the sections of one that concern them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, TypeVar

import pulumi

from gpuyard.plan.records import PoolPlan, TeamPlan
from gpuyard.plan.records.late import unresolved_output_names
from gpuyard.provider import provider_of
from gpuyard.resources.errors import PlatformRejected
from gpuyard.resources.validated_plan import (
    PlatformLike,
    ValidatedPlan,
    read_args,
    validate_platform,
)
from gpuyard.spec.platform import Cloud as CloudName
from gpuyard_core.catalogue.machines import MACHINES
from gpuyard_core.catalogue.software.pins import NEWEST_TRIED
from gpuyard_core.errors import OutputValueMissing
from gpuyard_core.findings import Diagnostic, Fix, Path, Severity, error, format_list
from gpuyard_core.models.problems import format_input
from gpuyard_core.suggestions import nearest_name

if TYPE_CHECKING:
    from gpuyard import typed as sections
    from gpuyard.resources.clusters.cluster import CloudCluster

    ClusterLike = str | pulumi.Output[str] | pulumi.CustomResource | CloudCluster | sections.Cluster
    PoolLike = str | sections.Pool
    TeamLike = str | sections.Team
    Pools = Sequence[sections.Pool]
    Teams = Sequence[sections.Team]
    LateValues = Mapping[str, pulumi.Input[str]] | pulumi.Output[dict[str, str]]
else:
    # As for PlatformLike: the component host reads annotations, and `hosting` gives these their types.
    class _Sections:
        def __getattr__(self, _: str) -> Any:
            return Any

    sections = _Sections()
    ClusterLike = pulumi.Input[Any]
    PoolLike = TeamLike = Pools = Teams = Any
    LateValues = pulumi.Input[dict[str, str]]

__all__ = [
    "LateValues",
    "Part",
    "PartArgs",
    "PoolLike",
    "TeamLike",
    "own_part",
    "read_part",
    "read_stores",
    "sections",
]

_Part = TypeVar("_Part", PoolPlan, TeamPlan)
_LISTS = {"pool": "pools", "team": "teams"}
"""The section to which an argument with one pool or one team belongs."""


class PartArgs(TypedDict):
    """Arguments of every part of a platform: `platform`, or the sections of one."""

    platform: NotRequired[PlatformLike]
    """A complete platform, instead of its sections."""
    name: NotRequired[str]
    """Name of the platform in labels, queues and namespaces: the same for parts that work together.
    Default: the component's name.
    """
    cloud: NotRequired[sections.Cloud]
    """Where the nodes come from. Default: the cloud of `cluster` if that is a resource; for the nodes of
    a pool, the cloud that offers its machine type; otherwise none, a cluster of your own.
    """
    kubernetes: NotRequired[str]
    """Kubernetes minor version of the cluster, which node groups get too. Default: the newest version
    that all pinned software supports.
    """
    cluster: NotRequired[ClusterLike]
    """The existing cluster: its name in EKS or GKE, a context of the kubeconfig, the resource of the
    cluster, or the section of a stack file.
    """
    pools: NotRequired[Pools]
    """Pools of GPU nodes."""
    teams: NotRequired[Teams]
    """Teams that share the pools."""
    software: NotRequired[dict[str, str]]
    """Versions by component. Default: the pinned versions."""
    mirror: NotRequired[sections.Mirror]
    """Registry for images and charts. Default: the public registry of each project."""
    tags: NotRequired[dict[str, str]]
    """Tags of cloud resources."""
    apply: NotRequired[sections.Apply]
    """How objects reach the cluster: cluster or render. Default: cluster."""
    observability: NotRequired[sections.Observability]
    """Metrics collection, which `idle` settings of teams need. Default: none."""


_SECTIONS = tuple(key for key in PartArgs.__annotations__ if key != "platform")


@dataclass(frozen=True, slots=True)
class Part:
    """What the arguments of a component are besides those of every part."""

    kind: str
    """The class of the component."""
    sections: tuple[str, ...] = ()
    """The sections that concern only it."""
    own: str = ""
    """The argument with its own pool or team."""
    required: tuple[str, ...] = ("pools",)
    optional: tuple[str, ...] = ()
    """Arguments that are no sections."""


def read_part(
    part: Part, name: str, args: object, opts: pulumi.ResourceOptions | None
) -> tuple[ValidatedPlan, Mapping[str, Any]]:
    """The validated plan of a component, from a complete platform or sections of one, and its arguments.

    Findings name the component's arguments.

    Raises:
        PlatformRejected: an argument is wrong, or the platform is.
    """
    kind, own = part.kind, (part.own,) if part.own else ()
    known = (*_SECTIONS, *part.sections)
    if not isinstance(args, Mapping) or "platform" in args:
        values = read_args(kind, args, required=("platform", *own), optional=part.optional)
        return validate_platform(values["platform"], opts), values
    others = (*own, *known, *part.optional, "platform")
    others = tuple(each for each in others if each not in part.required)
    values = read_args(kind, args, required=part.required, optional=others)
    given = {key: value for key, value in values.items() if key in known}
    one = values.get(part.own)
    if isinstance(one, Mapping):
        pools_or_teams = _LISTS[part.own]
        given[pools_or_teams] = [one, *given.get(pools_or_teams, ())]
    raw = _with_defaults(part, name, given)
    try:
        proof = validate_platform(raw, opts)
    except PlatformRejected as rejected:
        findings = [_placed(each, values, part.own) for each in rejected.findings]
        about = [each for each in findings if {*each.path[:1]} & values.keys()]
        told = [each for each in findings if each.severity is Severity.ERROR or each in about]
        raise PlatformRejected(f"{kind} {name}", told) from None
    for finding in (_placed(each, values, part.own) for each in proof.findings):
        if finding.severity is Severity.WARNING and {*finding.path[:1]} & values.keys():
            pulumi.log.warn(f"{name}: {finding}")
    return proof, values


def own_part(name: str, argument: str, value: Any, parts: Sequence[_Part]) -> _Part:
    """The pool or team that an argument describes or names.

    Raises:
        PlatformRejected: the platform has none of this name.
    """
    wanted = value.get("name") if isinstance(value, Mapping) else value
    for part in parts:
        if part.name == wanted:
            return part
    known = [part.name for part in parts]
    suggestion = nearest_name(wanted, known) if isinstance(wanted, str) else None
    finding = error(
        f"args.{argument}",
        (argument,),
        f"the platform does not define this {argument}",
        given=format_input(wanted),
        allowed=", ".join(known) or f"the platform defines no {argument}",
        fix=Fix(message=f"write {suggestion}") if suggestion else None,
    )
    raise PlatformRejected(name, [finding])


def read_stores(
    what: str, values: Mapping[str, Any], rendered: Any, known: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The late values that rendered objects need: those in the argument `stores`, and known ones.

    Raises:
        OutputValueMissing: it lacks one of them.
    """
    stores = values.get("stores") or {}
    needed = sorted(unresolved_output_names(rendered) - known.keys())
    if isinstance(stores, pulumi.Output):
        return {**known, **{name: stores[name] for name in needed}}
    if missing := [name for name in needed if name not in stores]:
        raise OutputValueMissing(f"{what} are missing: set {format_list(missing)} in `stores`")
    return {**known, **stores}


def _with_defaults(part: Part, name: str, given: dict[str, Any]) -> dict[str, Any]:
    cluster = given.pop("cluster", None)
    cloud = given.get("cloud") or _cloud_of_resource(cluster)
    if not cloud and (part.own == "pool" or "system" in given):
        cloud = _cloud_of_machine(given.get("pools", ()))
    cloud = cloud or CloudName.NONE.value
    if cluster is not None:
        known = not isinstance(cluster, Mapping)
        if isinstance(cluster, pulumi.ComponentResource):
            cluster = getattr(cluster, "cluster_name", cluster)
        given["cluster"] = {"existing": cluster} if known else cluster
    elif "system" not in given and any(
        cloud == each.value and provider_of(each).cluster_component for each in CloudName
    ):
        finding = error(
            "args.missing",
            ("cluster",),
            f"`cluster` is missing: on {cloud} a component that stands alone uses an existing cluster",
            allowed="the name of a cluster, or its resource",
            fix=Fix(message="add `cluster`, or create a Platform, which contains its cluster"),
        )
        raise PlatformRejected(f"{part.kind} {name}", [finding])
    return {"name": name, "kubernetes": NEWEST_TRIED, **given, "cloud": cloud}


def _cloud_of_resource(cluster: Any) -> str:
    if isinstance(cluster, pulumi.ComponentResource):
        kind = type(cluster).__name__
        return next((c.value for c in CloudName if provider_of(c).cluster_kind == kind), "")
    if isinstance(cluster, pulumi.CustomResource):
        return cluster.pulumi_resource_type.partition(":")[0]
    return ""


def _cloud_of_machine(pools: Any) -> str:
    """The cloud that offers the first machine type of the first pool."""
    first = pools[0] if isinstance(pools, Sequence) and pools else None
    machine = first.get("machine") if isinstance(first, Mapping) else None
    if isinstance(machine, list | tuple) and machine:
        machine = machine[0]
    known = MACHINES.get(machine) if isinstance(machine, str) else None
    return known.cloud if known else ""


def _placed(finding: Diagnostic, values: Mapping[str, Any], part: str) -> Diagnostic:
    fix = finding.fix
    if fix is not None and fix.at is not None:
        fix = replace(fix, at=_place(fix.at, values, part))
    return replace(finding, path=_place(finding.path, values, part), fix=fix)


def _place(path: Path, values: Mapping[str, Any], part: str) -> Path:
    """A path of the platform as a path of the arguments."""
    match path:
        case ("cluster", "existing", *_) if not isinstance(values.get("cluster"), Mapping):
            return ("cluster",)
        case (str(section), int(index), *rest) if section == _LISTS.get(part) and isinstance(
            values.get(part), Mapping
        ):
            return (part, *rest) if index == 0 else (section, index - 1, *rest)
        case _:
            return path
