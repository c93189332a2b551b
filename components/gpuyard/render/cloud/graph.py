"""A cloud's resources as plain values: their inputs, their outputs, and their order.

Pure functions build a graph; it is compared with golden files and checked without the Pulumi
engine. The resources layer registers it unchanged: one Pulumi resource for each node, in the
graph's order.

    vpc = CloudResource(kind="aws:ec2/vpc:Vpc", name="vpc", inputs={"cidrBlock": "10.0.0.0/16"})
    inside = CloudResource(kind="aws:ec2/subnet:Subnet", name="inside", inputs={"vpcId": vpc.get("id")})
    CloudGraph((vpc, inside))
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.spec.late_inputs import INPUT, fill_markers, is_late_list, late_input_names
from gpuyard_core.names import SYSTEM_POOL

BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
"""The only kind whose creation is a purchase that cannot be cancelled."""
CLUSTER = "cluster"
"""What a platform's component calls the cluster-wide part."""


# ── text around late values ───────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Joined:
    """Text with late values in it: `Joined("arn:aws:s3:::", Late("bucket.id"), "/*")`."""

    parts: tuple[Any, ...]

    def __init__(self, *parts: Any) -> None:
        object.__setattr__(self, "parts", parts)


@dataclass(frozen=True, slots=True)
class Json:
    """A tree that is sent as the text of a JSON document, such as a policy."""

    tree: Any


@dataclass(frozen=True, slots=True)
class Base64:
    """Text that is sent encoded, such as user data."""

    text: Any


@dataclass(frozen=True, slots=True)
class TextBefore:
    """The part of a text before a separator: `TextBefore(Late("lustre.mountPoint"), "@")`."""

    text: Any
    mark: str


@dataclass(frozen=True, slots=True)
class PathInProject:
    """A path after a prefix; a late value may be the complete path instead of a name."""

    prefix: Joined
    path: Any


@dataclass(frozen=True, slots=True)
class ClampedNumber:
    """A late number, clamped to the range from `low` to `high`."""

    number: Any
    low: int
    high: int


def late_value_names(value: Any) -> Iterator[str]:
    """The names of all late values of a tree, in their order in it."""
    match value:
        case UnresolvedOutput(name):
            yield name
        case str():
            yield from late_input_names(value)
        case Joined(inner) | Json(inner) | Base64(inner) | TextBefore(inner) | ClampedNumber(inner):
            yield from late_value_names(inner)
        case PathInProject(prefix, path):
            yield from late_value_names((prefix, path))
        case Mapping():
            for each in value.values():
                yield from late_value_names(each)
        case list() | tuple():
            for each in value:
                yield from late_value_names(each)
        case _:
            return  # a plain value has no late values


def resolve_values(value: Any, known: Callable[[str], Any]) -> Any:
    """The plain tree, with the result of `known` for each late value, and texts built from it."""
    match value:
        case UnresolvedOutput(name):
            settled = _integral(known(name))
        case Joined() | PathInProject():
            settled = _joined(value, known)
        case Json(tree):
            settled = json.dumps(resolve_values(tree, known), sort_keys=True, separators=(",", ":"))
        case TextBefore(text, mark):
            settled = str(resolve_values(text, known)).partition(mark)[0]
        case ClampedNumber(number, low, high):
            settled = min(max(resolve_values(number, known), low), high)
        case Base64(text):
            settled = base64.b64encode(str(resolve_values(text, known)).encode()).decode()
        case Mapping():
            settled = {key: resolve_values(each, known) for key, each in value.items()}
        case list() | tuple():
            settled = [one for each in value for one in _items(each, known)]
        case str():
            settled = fill_markers(value, known)
        case _:
            settled = value
    return settled


def _joined(value: Joined | PathInProject, known: Callable[[str], Any]) -> str:
    if isinstance(value, Joined):
        return "".join(str(resolve_values(part, known)) for part in value.parts)
    path = str(resolve_values(value.path, known))
    return path if "/" in path else f"{_joined(value.prefix, known)}{path}"


def _items(value: Any, known: Callable[[str], Any]) -> list[Any]:
    """The items of a list that one item stands for: several if it is a late list."""
    settled = resolve_values(value, known)
    return list(settled) if is_late_list(value) else [settled]


def _integral(value: Any) -> Any:
    """The engine has only floats: its 3.0 is the third version of a template, named 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# ── the graph ─────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True, kw_only=True)
class CloudResource:
    """One resource of a cloud, with the field names of its Pulumi provider."""

    kind: str
    """Its type: `aws:eks/nodeGroup:NodeGroup`."""
    name: str
    """Its name in the graph; its logical name is that of the component followed by this one."""
    inputs: Mapping[str, Any]
    """By the provider's field names; late values name outputs of earlier resources and calls."""
    part: str = ""
    """The pool it belongs to, by its first name; empty: the whole cluster."""
    outputs: tuple[str, ...] = ()
    """Outputs of the provider that are read; `id` is always available."""
    after: tuple[str, ...] = ()
    """Resources it waits for without reading their outputs."""
    protect: bool = False
    retain: bool = False
    """Whether it stays at the cloud when it is removed from the stack."""
    ignores: tuple[str, ...] = ()
    """Fields that others manage after creation, such as an autoscaler's desired size."""
    delete_first: bool = False
    """Whether a replacement deletes the old one first: its name or placement must be unique."""
    secret_outputs: tuple[str, ...] = ()
    """Outputs that must not appear in state, logs or messages."""

    def get(self, output: str) -> UnresolvedOutput:
        """An output for another resource, or a path into it: `vpcConfig.vpcId`."""
        first = output.partition(".")[0]
        if first != "id" and first not in self.outputs and first not in self.inputs:
            raise ValueError(f"{self.name} does not declare the output {output}")
        return UnresolvedOutput(f"{self.name}.{output}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudCall:
    """One read-only query to a cloud: `aws:index/getCallerIdentity:getCallerIdentity`."""

    kind: str
    name: str
    args: Mapping[str, Any]
    outputs: tuple[str, ...]
    may_lack: tuple[str, ...] = ()
    """Outputs that an answer may lack."""

    def get(self, output: str) -> UnresolvedOutput:
        """A value of the answer for a resource, or a path into it: `ids.0`."""
        if output.partition(".")[0] not in self.outputs:
            raise ValueError(f"{self.name} does not declare the output {output}")
        return UnresolvedOutput(f"{self.name}.{output}")


@dataclass(frozen=True, slots=True)
class CloudGraph:
    """Resources in an order in which each can be created, and the queries they depend on."""

    resources: tuple[CloudResource, ...]
    calls: tuple[CloudCall, ...] = ()
    late_values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values for objects inside the cluster, by the names of their late values."""
    prerequisites: tuple[CloudCall, ...] = ()
    """Queries before anything is registered; their answers are validated, and no resource uses
    them."""

    def __post_init__(self) -> None:
        """Raises if a resource names one that is missing or defined later: a bug of gpuyard."""
        known = {INPUT}  # outputs of the user's program
        for call in self.calls:
            _rests_on_known(call.name, late_value_names(call.args), known)
        for each in self.resources:
            _rests_on_known(each.name, (*late_value_names(each.inputs), *each.after), known)
        for name, value in self.late_values.items():
            _rests_on_known(name, late_value_names(value), known)

    def resource(self, name: str) -> CloudResource:
        """The resource of this name."""
        return next(each for each in self.resources if each.name == name)

    def of_part(self, part: str = "") -> list[CloudResource]:
        """The resources of a pool, or of the whole cluster."""
        return [each for each in self.resources if each.part == part]

    def external_values(self, parts: Iterable[str]) -> list[str]:
        """Names of the late values that these parts get from the cluster and from answers."""
        named: set[str] = set()
        for part in parts:
            ours = self.of_part(part)
            own = {each.name for each in ours}
            wanted = {name for each in ours for name in late_value_names(each.inputs)}
            named |= {name for name in wanted if name.partition(".")[0] not in own}
        return sorted(named)

    def resources_of_kind(self, kind: str) -> list[CloudResource]:
        """All resources of a type."""
        return [each for each in self.resources if each.kind == kind]


def _rests_on_known(name: str, names: Iterable[str], known: set[str]) -> None:
    if missing := sorted({each.partition(".")[0] for each in names} - known):
        raise ValueError(
            f"{name} depends on {', '.join(missing)}, which are defined later or never"
        )
    if name in known:
        raise ValueError(f"two resources have the name {name}")
    known.add(name)


# ── logical names ─────────────────────────────────────────────────────────────────────────────────
def logical_name(component: str, own: str, name: str) -> str:
    """The logical name of a resource; its component's common prefix (`own`) is not repeated."""
    begins = bool(own) and f"{name}-".startswith((f"{own}-", f"{own}/"))
    return f"{component}{name.removeprefix(own) if begins else f'-{name}'}"


def platform_resource_name(platform: str, each: CloudResource) -> str:
    """The logical name of a resource of a Platform of this name."""
    if each.part in {"", SYSTEM_POOL}:
        return logical_name(f"{platform}-{CLUSTER}", CLUSTER, each.name)
    return logical_name(f"{platform}-{each.part}", each.part, each.name)
