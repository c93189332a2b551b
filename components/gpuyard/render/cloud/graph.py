"""A cloud's resources as plain values: what each is given, what others read of it, and their order.

A graph is made by pure functions, compared with golden files, and judged without an engine. The resources
floor registers it as it stands: one Pulumi resource for each node, in the graph's order.

    vpc = CloudResource(kind="aws:ec2/vpc:Vpc", name="vpc", inputs={"cidrBlock": "10.0.0.0/16"})
    inside = CloudResource(kind="aws:ec2/subnet:Subnet", name="inside", inputs={"vpcId": vpc.get("id")})
    CloudGraph((vpc, inside))
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuyard.names import SYSTEM_POOL
from gpuyard.plan.records.late import Late

BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
"""The one kind that is bought for good when it is made."""
CLUSTER = "cluster"
"""What a platform's component calls the part that is there for the whole cluster."""


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
    """The part of a text before a mark: `Until(Late("lustre.mountPoint"), "@")` is its address."""

    text: Any
    mark: str


@dataclass(frozen=True, slots=True)
class Within:
    """A late number, raised to `low` or lowered to `high` where it is outside of them."""

    number: Any
    low: int
    high: int


def names_in(value: Any) -> Iterator[str]:
    """The names of all late values of a tree, in the order they stand in it."""
    match value:
        case Late(name):
            yield name
        case Joined(inner) | Json(inner) | Base64(inner) | TextBefore(inner) | Within(inner):
            yield from names_in(inner)
        case Mapping():
            for each in value.values():
                yield from names_in(each)
        case list() | tuple():
            for each in value:
                yield from names_in(each)
        case _:
            return  # a plain value names nothing


def resolve_values(value: Any, known: Callable[[str], Any]) -> Any:
    """The plain tree, with what `known` gives for each late value, and text made of it."""
    match value:
        case Late(name):
            settled = _integral(known(name))
        case Joined(parts):
            settled = "".join(str(resolve_values(part, known)) for part in parts)
        case Json(tree):
            settled = json.dumps(resolve_values(tree, known), sort_keys=True, separators=(",", ":"))
        case TextBefore(text, mark):
            settled = str(resolve_values(text, known)).partition(mark)[0]
        case Within(number, low, high):
            settled = min(max(resolve_values(number, known), low), high)
        case Base64(text):
            settled = base64.b64encode(str(resolve_values(text, known)).encode()).decode()
        case Mapping():
            settled = {key: resolve_values(each, known) for key, each in value.items()}
        case list() | tuple():
            settled = [resolve_values(each, known) for each in value]
        case _:
            settled = value
    return settled


def _integral(value: Any) -> Any:
    """An engine has one kind of number: its 3.0 is the third version of a template, whose name is 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# ── the graph ─────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True, kw_only=True)
class CloudResource:
    """One resource of a cloud, in the words of its Pulumi provider."""

    kind: str
    """Its type: `aws:eks/nodeGroup:NodeGroup`."""
    name: str
    """What it is called in the graph; its logical name is the component's and this one."""
    inputs: Mapping[str, Any]
    """By the provider's own field names; late values name outputs of earlier resources and calls."""
    part: str = ""
    """The pool that it is there for, by its first name; empty: the whole cluster."""
    outputs: tuple[str, ...] = ()
    """What the provider fills in and somebody reads; `id` is always there."""
    after: tuple[str, ...] = ()
    """Resources it waits for without reading anything of them."""
    protect: bool = False
    retain: bool = False
    """Left at the cloud when it goes from the stack."""
    ignores: tuple[str, ...] = ()
    """Fields that somebody else owns after the first day, such as an autoscaler's desired size."""
    delete_first: bool = False
    """A replacement deletes the old one first: its name, or its place, can be there only once."""
    secrets: tuple[str, ...] = ()
    """Outputs that no state, log or message shows."""

    def get(self, output: str) -> Late:
        """What another resource is given of this one: an output, or a path into it: `vpcConfig.vpcId`."""
        first = output.partition(".")[0]
        if first != "id" and first not in self.outputs and first not in self.inputs:
            raise ValueError(f"{self.name} does not say that {output} is read of it")
        return Late(f"{self.name}.{output}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudCall:
    """One question to a cloud that changes nothing: `aws:index/getCallerIdentity:getCallerIdentity`."""

    kind: str
    name: str
    args: Mapping[str, Any]
    outputs: tuple[str, ...]
    may_lack: tuple[str, ...] = ()
    """Outputs that an answer may be without."""

    def get(self, output: str) -> Late:
        """What a resource is given of the answer, or of what stands inside it: `ids.0`."""
        if output.partition(".")[0] not in self.outputs:
            raise ValueError(f"{self.name} does not say that {output} is read of it")
        return Late(f"{self.name}.{output}")


@dataclass(frozen=True, slots=True)
class CloudGraph:
    """Resources in an order in which each can be made, and the questions they rest on."""

    resources: tuple[CloudResource, ...]
    calls: tuple[CloudCall, ...] = ()
    late_values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What objects inside the cluster are given of it, by the names of their late values."""
    prerequisites: tuple[CloudCall, ...] = ()
    """Asked before anything is registered; answers are judged, and nothing rests on them."""

    def __post_init__(self) -> None:
        """A graph that names what it does not have, or has later, is a fault of ours."""
        known: set[str] = set()
        for call in self.calls:
            _rests_on_known(call.name, names_in(call.args), known)
        for each in self.resources:
            _rests_on_known(each.name, (*names_in(each.inputs), *each.after), known)
        for name, value in self.late_values.items():
            _rests_on_known(name, names_in(value), known)

    def resource(self, name: str) -> CloudResource:
        """The resource of this name."""
        return next(each for each in self.resources if each.name == name)

    def of_part(self, part: str = "") -> list[CloudResource]:
        """What is there for a pool, or for the whole cluster."""
        return [each for each in self.resources if each.part == part]

    def external_values(self, parts: Iterable[str]) -> list[str]:
        """Names of the late values that these parts are given by others: by the cluster, and by answers."""
        named: set[str] = set()
        for part in parts:
            ours = self.of_part(part)
            own = {each.name for each in ours}
            wanted = {name for each in ours for name in names_in(each.inputs)}
            named |= {name for name in wanted if name.partition(".")[0] not in own}
        return sorted(named)

    def of(self, kind: str) -> list[CloudResource]:
        """All resources of a type."""
        return [each for each in self.resources if each.kind == kind]


def _rests_on_known(name: str, names: Iterable[str], known: set[str]) -> None:
    if missing := sorted({each.partition(".")[0] for each in names} - known):
        raise ValueError(f"{name} rests on {', '.join(missing)}, which come later or never")
    if name in known:
        raise ValueError(f"two resources are called {name}")
    known.add(name)


# ── names in a program ────────────────────────────────────────────────────────────────────────────
def logical_name(component: str, own: str, name: str) -> str:
    """The logical name of a resource: what all those of its component begin with (`own`) is said once."""
    begins = bool(own) and f"{name}-".startswith((f"{own}-", f"{own}/"))
    return f"{component}{name.removeprefix(own) if begins else f'-{name}'}"


def platform_resource_name(platform: str, each: CloudResource) -> str:
    """The logical name of a resource below a Platform of this name."""
    if each.part in {"", SYSTEM_POOL}:
        return logical_name(f"{platform}-{CLUSTER}", CLUSTER, each.name)
    return logical_name(f"{platform}-{each.part}", each.part, each.name)
