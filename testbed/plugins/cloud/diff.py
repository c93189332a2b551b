"""Diff: the changes between the last state and the new inputs, and which of them replace the resource."""

import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.plugins.cloud import facts
from testbed.plugins.cloud.facts import Facts
from testbed.plugins.cloud.preparing import DEFAULTS
from testbed.plugins.cloud.rules.looking import at, text
from testbed.plugins.kubernetes.values import Unknown

ADD, UPDATE, DELETE = "add", "update", "delete"


@dataclass
class Changes:
    """What changed, by property path, and whether each of it replaces."""

    found: dict[str, tuple[str, bool]] = field(default_factory=dict[str, tuple[str, bool]])
    delete_first: bool = False

    @property
    def replaces(self) -> list[str]:
        return [path for path, (_, replacing) in self.found.items() if replacing]

    @property
    def fields(self) -> set[str]:
        """The top-level fields that changed."""
        return {re.split(r"[.\[]", path)[0] for path in self.found}


def compare(kind: str, state: Mapping[str, Any], inputs: Mapping[str, Any]) -> Changes:
    """The changes from the current state to the inputs."""
    about = facts.resource(kind) or {"inputs": {}}
    changes = Changes()
    comparison = _Comparison(kind, about["inputs"], state, inputs, changes)
    comparison.fields("", "", state, inputs)
    changes.delete_first = bool(changes.replaces) and _deletes_first(about, inputs)
    return changes


def _deletes_first(about: Facts, inputs: Mapping[str, Any]) -> bool:
    """Always for some types; else if the program set the name, which must be unique."""
    if about.get("deleteBeforeReplace"):
        return True
    named = (about.get("autoname") or {}).get("property")
    return named in inputs and named not in inputs.get(DEFAULTS, ())


@dataclass
class _Comparison:
    kind: str
    inputs: Mapping[str, Facts]
    state: Mapping[str, Any]
    given: Mapping[str, Any]
    changes: Changes

    def fields(self, path: str, where: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        """The fields of one object."""
        for name in facts.children(self.kind).get(path, ()):
            inner = f"{path}.{name}" if path else name
            spot = f"{where}.{name}" if where else name
            self._value(inner, spot, old.get(name), new.get(name))

    def _value(self, path: str, where: str, old: Any, new: Any) -> None:
        about = self.inputs[path]
        if about.get("writeOnly") or (new is None and self._settled(about, old)):
            return
        if _same(about, old, new):
            return
        type_ = about["type"]
        if type_ == "object" and not isinstance(new, Unknown):
            if old is None or new is None:
                self._note(path, where, old, new)
            self.fields(path, where, old or {}, new or {})
        elif type_.startswith("{") and isinstance(new, Mapping) and isinstance(old, Mapping):
            for key in sorted({*old, *new}):
                if old.get(key) != new.get(key):
                    self._note(path, f'{where}["{key}"]', old.get(key), new.get(key))
        elif type_.startswith("[") and isinstance(new, list) and isinstance(old, list):
            self._list(path, where, about, old, new)
        else:
            self._note(path, where, old, new)

    def _settled(self, about: Facts, old: Any) -> bool:
        """Whether omitting a field changes nothing: the provider keeps the value, or its default."""
        return (
            old is None
            or bool(about.get("computed"))
            or old in (about.get("default"), "", [], {}, False)
        )

    def _list(self, path: str, where: str, about: Facts, old: list[Any], new: list[Any]) -> None:
        if about.get("set"):
            old, new = _unordered(old, new)
        elements = about["type"] == "[object]"
        for place in range(max(len(old), len(new))):
            before = old[place] if place < len(old) else None
            after = new[place] if place < len(new) else None
            spot = f"{where}[{place}]"
            single = before is None or after is None or not elements
            if single and not _same({}, before, after):
                self._note(path, spot, before, after)
            if elements and not isinstance(after, Unknown):
                self.fields(path, spot, before or {}, after or {})

    def _note(self, path: str, where: str, old: Any, new: Any) -> None:
        way = ADD if old is None else DELETE if new is None else UPDATE
        flag = self.inputs[path].get("replace")
        if flag == "if":
            flag = CONDITIONS[self.kind, path](_Change(self.state, self.given, old, new))
        self.changes.found[where] = (way, bool(flag))


# ── the same ──────────────────────────────────────────────────────────────────────────────────────
def plain(value: Any) -> Any:
    """A value without the bridge's marks, and without empty fields."""
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in value.items() if k != DEFAULTS and v is not None}
    return [plain(each) for each in value] if isinstance(value, list) else value


def _same(about: Facts, old: Any, new: Any) -> bool:
    if isinstance(old, Unknown) or isinstance(new, Unknown):
        return False
    if plain(old) == plain(new) and isinstance(old, bool) == isinstance(new, bool):
        return True
    word = str(about.get("same", ""))
    if word == "absent" or word.startswith("empty-or:"):
        return (
            {old or "", new or ""} <= {"", word.partition(":")[2]} if ":" in word else new is None
        )
    return bool(word) and None not in (old, new) and _alike(word, old, new)


def _alike(word: str, old: Any, new: Any) -> bool:
    try:
        return bool(_SAME[word](old) == _SAME[word](new))
    except (ValueError, TypeError):
        return False


_SAME: Mapping[str, Callable[[Any], Any]] = {
    "json": json.loads,
    "case": lambda value: str(value).lower(),
    "last-part": lambda value: str(value).rpartition("/")[2],
    "scheme": lambda value: str(value).partition("://")[2] or value,
    "address": ipaddress.ip_network,
    "number": lambda value: str(value).lower().removesuffix("s"),
}


def _unordered(old: list[Any], new: list[Any]) -> tuple[list[Any], list[Any]]:
    """Two sets as lists without the common items."""
    remaining, right = [plain(each) for each in old], [plain(each) for each in new]
    return (
        [each for each in old if plain(each) not in right],
        [each for each in new if plain(each) not in remaining],
    )


# ── conditional replacement ───────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class _Change:
    state: Mapping[str, Any]
    given: Mapping[str, Any]
    old: Any
    new: Any


def _other_source(change: _Change) -> bool:
    """Another kind of source replaces the rule; another value of the same kind does not."""
    return change.old is None or change.new is None


def _shrinks(change: _Change) -> bool:
    try:
        old, new = (ipaddress.IPv4Network(each) for each in (change.old, change.new))
    except ValueError:
        return True
    return not old.subnet_of(new)


def _version(value: Any) -> list[int]:
    return [int(each) for each in str(value or 0).split(".") if each.isdigit()]


def _one_way(change: _Change) -> bool:
    return change.old is True and change.new is not True


def _owner(change: _Change) -> bool:
    return bool(change.old)


_CLUSTER, _LUSTRE = "aws:eks/cluster:Cluster", "aws:fsx/lustreFileSystem:LustreFileSystem"
_GKE, _VPC = "gcp:container/cluster:Cluster", "aws:ec2/vpc:Vpc"
_RULES = [f"aws:vpc/securityGroup{way}Rule:SecurityGroup{way}Rule" for way in ("Egress", "Ingress")]
_SOURCES = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
_PARTS = ("Logging", "ServerSideEncryptionConfiguration", "Versioning")
CONDITIONS: Mapping[tuple[str, str], Callable[[_Change], bool]] = {
    **{(kind, path): _other_source for kind in _RULES for path in _SOURCES},
    **{(f"aws:s3/bucket{part}:Bucket{part}", "expectedBucketOwner"): _owner for part in _PARTS},
    ("aws:ec2/natGateway:NatGateway", "availabilityZoneAddresses"): (
        lambda change: not change.old or not change.new
    ),
    ("aws:ec2/natGateway:NatGateway", "secondaryPrivateIpAddressCount"): (
        lambda change: text(change.given, "connectivityType") == "private" and bool(change.new)
    ),
    ("aws:ec2/subnet:Subnet", "ipv6CidrBlock"): (
        lambda change: at(change.state, "assignIpv6AddressOnCreation") is True
    ),
    (_VPC, "cidrBlock"): lambda change: at(change.given, "ipv4NetmaskLength") is None,
    (_VPC, "instanceTenancy"): (
        lambda change: (change.old, change.new) != ("dedicated", "default")
    ),
    ("aws:ec2/vpcEndpoint:VpcEndpoint", "privateDnsEnabled"): (
        lambda change: text(change.given, "vpcEndpointType") != "Interface"
    ),
    (_CLUSTER, "computeConfig.nodeRoleArn"): (
        lambda change: bool(change.old) and at(change.given, "computeConfig.enabled") is True
    ),
    (_CLUSTER, "encryptionConfig"): lambda change: change.new is None,
    (_CLUSTER, "vpcConfig.controlPlaneEgressMode"): (
        lambda change: (change.old, change.new) == ("CUSTOMER_ROUTED", "AWS_MANAGED")
    ),
    (_LUSTRE, "fileSystemTypeVersion"): (
        lambda change: _version(change.new) < _version(change.old)
    ),
    (_LUSTRE, "metadataConfiguration.iops"): (
        lambda change: (
            text(change.given, "metadataConfiguration.mode") == "USER_PROVISIONED"
            and (change.new or 0) < (change.old or 0)
        )
    ),
    (_LUSTRE, "storageCapacity"): (
        lambda change: (
            text(change.given, "deploymentType") == "SCRATCH_1"
            or (change.new or 0) < (change.old or 0)
        )
    ),
    ("gcp:compute/subnetwork:Subnetwork", "ipCidrRange"): _shrinks,
    (_GKE, "dnsConfig.additiveVpcScopeDnsDomain"): (
        lambda change: at(change.given, "enableAutopilot") is True
    ),
    (_GKE, "enableFqdnNetworkPolicy"): _one_way,
    (_GKE, "enableL4IlbSubsetting"): _one_way,
    (_GKE, "enableK8sBetaApis.enabledApis"): lambda change: (
        change.new is None or change.old is not None
    ),
    ("gcp:storage/bucket:Bucket", "retentionPolicy.isLocked"): _one_way,
}


def unknown_when_changed(kind: str, fields: set[str]) -> Iterator[str]:
    """The outputs that a preview of a change cannot know."""
    if kind.endswith(":LaunchTemplate") and fields - {"description", "defaultVersion", "tags"}:
        yield from ("latestVersion", "defaultVersion")
    if {"tags", "labels", "resourceLabels"} & fields:
        yield from ("tagsAll", "effectiveLabels", "pulumiLabels")
    if kind == _CLUSTER and "version" in fields:
        yield "platformVersion"
