"""Changed fields of one resource, and which of them replace it, as its provider decides.

The provider compares the stored inputs with those of the program. A field that the program omits and the
provider had filled in is not a change.
"""

import ipaddress
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from gpuyard.plan.records.late import UnresolvedOutput
from gpuyard.render.cloud.graph import (
    Base64,
    Joined,
    Json,
    PathInProject,
    late_value_names,
    resolve_values,
)
from gpuyard.spec.late_inputs import is_late_input, is_late_list
from gpuyard_core.catalogue.cloud_fields import DEFAULTS, CloudField, CloudKind, cloud_kind


class UnknownMarker(Enum):
    """Marker for an unknown value."""

    COMPUTED = "known after the deployment"
    QUERIED = "a value queried from the cloud"
    """Assumed to be the value at creation of the resource."""


def replace_unknowns(value: Any, known: Callable[[str], Any]) -> Any:
    """The value with markers; a string that contains a marker becomes the marker."""
    settled: Any
    match value:
        case Joined() | Json() | Base64() | PathInProject():
            marks = [
                m for name in late_value_names(value) if isinstance(m := known(name), UnknownMarker)
            ]
            computed = UnknownMarker.COMPUTED in marks
            mark = UnknownMarker.COMPUTED if computed else UnknownMarker.QUERIED
            settled = mark if marks else resolve_values(value, known)
        case UnresolvedOutput(name):
            result = known(name)
            settled = result if isinstance(result, UnknownMarker) else resolve_values(value, known)
        case Mapping():
            settled = {key: replace_unknowns(each, known) for key, each in value.items()}
        case list() | tuple() if any(map(is_late_list, value)):
            settled = UnknownMarker.QUERIED
        case list() | tuple():
            settled = [replace_unknowns(each, known) for each in value]
        case str() if is_late_input(value):
            settled = UnknownMarker.QUERIED
        case _:
            settled = value
    return settled


def has_unknown(value: Any, mark: UnknownMarker) -> bool:
    """Whether a value contains the marker."""
    if isinstance(value, Mapping):
        return any(has_unknown(each, mark) for each in value.values())
    if isinstance(value, list):
        return any(has_unknown(each, mark) for each in value)
    return value is mark


def at_path(value: Any, steps: list[str]) -> Any:
    """The value at a path of fields and indices; a marker on the way is the result."""
    for step in steps:
        if isinstance(value, UnknownMarker):
            return value
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


# Each condition is that of the provider (a CustomizeDiff or ForceNewIf of the sources that
# `gpuyard_core.catalogue.cloud_fields` names).

_Values = Mapping[str, Any]
FieldCondition = Callable[[_Values, _Values, Any, Any], bool]
"""Takes the state, the inputs, and the field's old and new value."""


def _other_source(_state: _Values, _given: _Values, old: Any, new: Any) -> bool:
    """Another kind of source replaces a rule; another source of the same kind does not."""
    return old is None or new is None


def _shrinks(_state: _Values, _given: _Values, old: Any, new: Any) -> bool:
    """A range may only grow around its old value."""
    try:
        before, after = ipaddress.IPv4Network(old), ipaddress.IPv4Network(new)
    except ValueError:  # also for an unknown value
        return True
    return not before.subnet_of(after)


def _number(value: Any) -> list[int]:
    """A version in comparable form."""
    return [int(part) for part in str(value or 0).split(".") if part.isdigit()]


def _other_owner(_state: _Values, _given: _Values, old: Any, _new: Any) -> bool:
    """Setting an owner for the first time changes nothing; changing it replaces the bucket."""
    return bool(old)


def _switched_off(_state: _Values, _given: _Values, old: Any, new: Any) -> bool:
    return old is True and new is not True


_VPC, _NAT = "aws:ec2/vpc:Vpc", "aws:ec2/natGateway:NatGateway"
_RULES = [f"aws:vpc/securityGroup{way}Rule:SecurityGroup{way}Rule" for way in ("Egress", "Ingress")]
_PARTS = ("Logging", "ServerSideEncryptionConfiguration", "Versioning")
_LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"
_EKS, _GKE = "aws:eks/cluster:Cluster", "gcp:container/cluster:Cluster"
CONDITIONS: Mapping[tuple[str, str], FieldCondition] = {
    **{
        (kind, source): _other_source
        for kind in _RULES
        for source in ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
    },
    **{
        (f"aws:s3/bucket{part}:Bucket{part}", "expectedBucketOwner"): _other_owner
        for part in _PARTS
    },
    (_NAT, "availabilityZoneAddresses"): lambda _s, _g, old, new: not old or not new,
    (_NAT, "secondaryPrivateIpAddressCount"): (
        lambda _s, given, _o, new: given.get("connectivityType") == "private" and bool(new)
    ),
    ("aws:ec2/subnet:Subnet", "ipv6CidrBlock"): (
        lambda state, _g, _o, _n: state.get("assignIpv6AddressOnCreation") is True
    ),
    (_VPC, "cidrBlock"): lambda _s, given, _o, _n: given.get("ipv4NetmaskLength") is None,
    (_VPC, "instanceTenancy"): lambda _s, _g, old, new: (old, new) != ("dedicated", "default"),
    ("aws:ec2/vpcEndpoint:VpcEndpoint", "privateDnsEnabled"): (
        lambda _s, given, _o, _n: given.get("vpcEndpointType") != "Interface"
    ),
    (_EKS, "encryptionConfig"): lambda _s, _g, _o, new: new is None,
    (_EKS, "vpcConfig.controlPlaneEgressMode"): (
        lambda _s, _g, old, new: (old, new) == ("CUSTOMER_ROUTED", "AWS_MANAGED")
    ),
    (_LUSTRE, "fileSystemTypeVersion"): lambda _s, _g, old, new: _number(new) < _number(old),
    (_LUSTRE, "metadataConfiguration.iops"): (
        lambda _s, given, old, new: (
            at_path(given, ["metadataConfiguration", "mode"]) == "USER_PROVISIONED"
            and (new or 0) < (old or 0)
        )
    ),
    (_LUSTRE, "storageCapacity"): (
        lambda _s, given, old, new: (
            given.get("deploymentType") == "SCRATCH_1" or (new or 0) < (old or 0)
        )
    ),
    ("gcp:compute/subnetwork:Subnetwork", "ipCidrRange"): _shrinks,
    (_GKE, "enableFqdnNetworkPolicy"): _switched_off,
    (_GKE, "enableL4IlbSubsetting"): _switched_off,
    ("gcp:storage/bucket:Bucket", "retentionPolicy.isLocked"): _switched_off,
}


_NOTHING: tuple[Any, ...] = ("", [], {}, False)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One difference; None means absent."""

    path: str
    """Path with list indices: `taints[0].effect`."""
    old: Any
    new: Any
    forces_replacement: bool


def field_changes(
    kind: str, state: Mapping[str, Any], inputs: Mapping[str, Any], ignores: tuple[str, ...] = ()
) -> tuple[FieldChange, ...]:
    """All differences between the deployed and the planned inputs, without the fields in `ignores`."""
    comparison = _Comparison(kind, cloud_kind(kind), state, inputs, frozenset(ignores))
    return tuple(comparison.block("", "", state, inputs))


@dataclass(frozen=True, slots=True)
class _Comparison:
    kind: str
    about: CloudKind
    state: Mapping[str, Any]
    given: Mapping[str, Any]
    ignores: frozenset[str]

    def block(
        self, path: str, where: str, old: Mapping[str, Any], new: Mapping[str, Any] | None
    ) -> Iterator[FieldChange]:
        """Compare the fields of one block, with defaults for omitted fields."""
        value, filled = new or {}, new is not None
        for name in self.about.nested_fields.get(path, ()):
            inner = f"{path}.{name}" if path else name
            spot = f"{where}.{name}" if where else name
            if inner not in self.ignores:
                yield from self._field(inner, spot, old.get(name), value.get(name), filled=filled)

    def _field(
        self, path: str, where: str, old: Any, new: Any, *, filled: bool
    ) -> Iterator[FieldChange]:
        field = self.about.fields[path]
        if new is None and filled and not field.depends_on_service:
            new = field.default
        is_kept = new is None and (
            _is_unchanged_when_omitted(field, old) or path == self.about.named
        )  # a name generated by Pulumi stays
        if field.writeOnly or is_kept or _same(field, old, new):
            return
        if field.type == "object" and not isinstance(new, UnknownMarker):
            if old is None or new is None:
                yield self._change(path, where, old, new)
            yield from self.block(path, where, old or {}, new)
        elif field.type.startswith("{") and isinstance(new, Mapping) and isinstance(old, Mapping):
            for key in sorted({*old, *new}):
                if not _same(_PLAIN, old.get(key), new.get(key)):
                    yield self._change(path, f'{where}["{key}"]', old.get(key), new.get(key))
        elif field.type.startswith("[") and isinstance(new, list) and isinstance(old, list):
            yield from self._items(path, where, field, old, new)
        else:
            yield self._change(path, where, old, new)

    def _items(
        self, path: str, where: str, field: CloudField, old: list[Any], new: list[Any]
    ) -> Iterator[FieldChange]:
        if field.set:
            old, new = _left_over(old, new)
        blocks = field.type == "[object]"
        for place in range(max(len(old), len(new))):
            before = old[place] if place < len(old) else None
            after = new[place] if place < len(new) else None
            spot = f"{where}[{place}]"
            is_comparable = (
                not blocks or before is None or after is None or isinstance(after, UnknownMarker)
            )
            if is_comparable and not _same(_PLAIN, before, after):
                yield self._change(path, spot, before, after)
            if blocks and not isinstance(after, UnknownMarker):
                yield from self.block(path, spot, before or {}, after)

    def _change(self, path: str, where: str, old: Any, new: Any) -> FieldChange:
        replaces = self.about.fields[path].replace
        if replaces == "if":
            replaces = CONDITIONS[self.kind, path](self.state, self.given, old, new)
        return FieldChange(where, old, new, bool(replaces))


# ── the same ──────────────────────────────────────────────────────────────────────────────────────
_PLAIN = CloudField()


def _is_unchanged_when_omitted(field: CloudField, old: Any) -> bool:
    """Whether omitting the field changes nothing."""
    return old is None or field.computed or old in _NOTHING or old == field.default


def _same(field: CloudField, old: Any, new: Any) -> bool:
    if isinstance(old, UnknownMarker):
        return new is not None
    if isinstance(new, UnknownMarker):
        return new is UnknownMarker.QUERIED and old is not None
    old, new = _without_engine_defaults(old), _without_engine_defaults(new)
    if field.type == "string" and isinstance(new, int | float) and not isinstance(new, bool):
        new = json.dumps(new)  # a numeric version is stored as text
    if old == new and isinstance(old, bool) == isinstance(new, bool):
        return True
    if field.same == "absent":
        return new is None
    if field.same.startswith("empty-or:"):
        return {old or "", new or ""} <= {"", field.same.partition(":")[2]}
    return bool(field.same) and None not in (old, new) and _are_identical(field.same, old, new)


def _without_engine_defaults(value: Any) -> Any:
    """A value without the engine's marks (`__defaults`) and empty fields."""
    if isinstance(value, Mapping):
        return {
            k: _without_engine_defaults(v)
            for k, v in value.items()
            if k != DEFAULTS and v is not None
        }
    return [_without_engine_defaults(each) for each in value] if isinstance(value, list) else value


def _are_identical(word: str, old: Any, new: Any) -> bool:
    try:
        return bool(_READS[word](old) == _READS[word](new))
    except (ValueError, TypeError):
        return False


_READS: Mapping[str, Callable[[Any], Any]] = {
    "json": json.loads,
    "case": lambda value: str(value).lower(),
    "last-part": lambda value: str(value).rpartition("/")[2],
    "scheme": lambda value: str(value).partition("://")[2] or value,
    "address": ipaddress.ip_network,
    "number": lambda value: str(value).lower().removesuffix("s"),
}


def _left_over(old: list[Any], new: list[Any]) -> tuple[list[Any], list[Any]]:
    """Two sets without their common elements; a queried value matches any existing one."""
    left = [_without_engine_defaults(each) for each in old]
    right = [_without_engine_defaults(each) for each in new]
    old_only = [each for each in old if _without_engine_defaults(each) not in right]
    new_only = [each for each in new if _without_engine_defaults(each) not in left]
    unknown = [each for each in new_only if each is UnknownMarker.QUERIED][: len(old_only)]
    return old_only[len(unknown) :], [
        each for each in new_only if each is not UnknownMarker.QUERIED
    ]
