"""Permission requests as IAM policies, with as few statements and documents as possible."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.render.cloud.graph import CloudGraph, CloudResource, resolve_values
from gpuyard_core.catalogue.permissions.aws import (
    LAUNCHES,
    MANAGED_POLICY_CHARACTERS,
    AwsKind,
    aws_actions,
)
from gpuyard_core.names import PLATFORM_LABEL

ANY = "*"
PolicyCondition = tuple[tuple[str, str, tuple[str, ...]], ...]
"""Operator, key and values, in the form of a policy."""
_ATTACH = ("iam:AttachRolePolicy", "iam:DetachRolePolicy")
_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
_KINDS = {
    "vpc/": "aws:ec2/vpc:Vpc",
    "subnet/": "aws:ec2/subnet:Subnet",
    "route-table/": "aws:ec2/routeTable:RouteTable",
    "key/": "aws:kms/key:Key",
}
"""Resources that may exist already: one has gpuyard's tag only if the graph creates it."""
_ID = {"aws:s3/bucket:Bucket": "bucket", "aws:sqs/queue:Queue": "name"}
"""The input with the name, for resources whose id is, or contains, their name."""
_UNMARKED = ("security-group-rule/", "network-interface/")
"""Resources that never have gpuyard's tag."""


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """One action that must be allowed."""

    statement: str
    """The key by which requests of one kind become one statement."""
    action: str
    arns: tuple[str, ...]
    condition: PolicyCondition = ()

    @property
    def service(self) -> str:
        """The service of the action."""
        return self.action.partition(":")[0]


@dataclass(frozen=True, slots=True)
class AccountPlace:
    """Partition, region and account; `*` matches every one."""

    platform: str
    partition: str = ANY
    region: str = ANY
    account: str = ANY


def required_actions(graph: CloudGraph, where: AccountPlace) -> list[PermissionRequest]:
    """All requests of a graph, as often as they occur."""
    reader = _Reader(graph, where)
    results = [need for each in graph.resources for need in reader.of(each)]
    for call in (*graph.calls, *graph.prerequisites):
        request = aws_actions().calls[call.kind]
        names = {key: reader.text(value) for key, value in call.args.items()}
        arns = (reader.arn(request.arn, names),) if request.arn else (ANY,)
        results += [
            PermissionRequest("Look", a, (ANY,))
            if a in aws_actions().without_resource or not request.arn
            else PermissionRequest("Named", a, arns)
            for a in request.actions
        ]
    return results


class _Reader:
    """A graph whose late values are resolved as far as they are known."""

    def __init__(self, graph: CloudGraph, where: AccountPlace) -> None:
        self._where = where
        self._made = {each.name: each for each in graph.resources}
        self._asked = {each.name: each.args for each in graph.calls}
        self._kinds = {each.kind for each in graph.resources}

    # ── names ─────────────────────────────────────────────────────────────────────────────────────
    def text(self, value: Any) -> str:
        """The value as far as it is known; `*` for unknown parts."""
        return str(resolve_values(value, self._known))

    def _known(self, late: str) -> str:
        whose, _, field = late.partition(".")
        if whose in self._asked:
            known = {"accountId": self._where.account, **self._asked[whose]}
            return str(known.get(field, ANY))
        resource = self._made[whose]
        if field == "id":
            field = _ID.get(resource.kind, field)
        if field in {"name", "bucket"} and field not in resource.inputs:
            return _own_name(resource)
        value = resource.inputs.get(field)
        return ANY if value is None else self.text(value)

    def arn(self, pattern: str, names: Mapping[str, str]) -> str:
        """The pattern with the names of one resource."""
        where = self._where
        known = _Names(names, region=where.region, account=where.account)
        named = pattern.format_map(known)
        return named if named.startswith("arn:") else f"arn:{where.partition}:{named}"

    def own(self, each: CloudResource) -> tuple[str, ...]:
        """The ARNs of a resource, as far as they are known before it exists."""
        names = {key: self.text(value) for key, value in each.inputs.items()}
        names["own"] = _own_name(each) if "name" not in each.inputs else names["name"]
        names.setdefault("bucket", names["own"])
        return tuple(self.arn(pattern, names) for pattern in aws_actions().kinds[each.kind].arns)

    # ── requests ──────────────────────────────────────────────────────────────────────────────────
    def of(self, each: CloudResource) -> Iterator[PermissionRequest]:
        """All actions of one resource, from its creation to its deletion."""
        row = aws_actions().kinds[each.kind]
        own = self.own(each)
        for action in row.actions:
            if action in _ATTACH:
                allowed = (("ArnLike", "iam:PolicyARN", (self.text(each.inputs["policyArn"]),)),)
                yield PermissionRequest(
                    "Attach", action, own, (*allowed, *self._tag_condition(row))
                )
            else:
                yield from self._action(row, action, own)
        yield from self._passed(row, each)
        yield from self._linked(row)
        yield from self._keys(row, each)
        if each.kind == _NODE_GROUP and "launchTemplate" in each.inputs:
            yield from self._launched()

    def _action(
        self, row: AwsKind, action: str, own: tuple[str, ...]
    ) -> Iterator[PermissionRequest]:
        new = (("StringEquals", f"aws:RequestTag/{PLATFORM_LABEL}", (self._where.platform,)),)
        if action in aws_actions().without_resource:
            yield PermissionRequest("Look", action, (ANY,))
        elif action in aws_actions().tagged_on_create:
            yield PermissionRequest("Make", action, (ANY,), new)
        elif action in aws_actions().create_actions:
            yield PermissionRequest("Make", action, own, new)
        elif action == "ec2:CreateTags":
            create_actions = tuple(
                a.partition(":")[2] for a in row.actions if a in aws_actions().create_actions
            )
            yield PermissionRequest(
                "Tag", action, own, (("StringEquals", "ec2:CreateAction", create_actions),)
            )
            yield PermissionRequest("Keep", action, own, self._tag_condition(row))
        else:
            if action in aws_actions().adds_tags:
                yield PermissionRequest("Make", action, own, new)
            if action.partition(":")[0] == own[0].split(":")[2]:
                yield PermissionRequest(
                    "Keep" if row.ownership_tag else "Named", action, own, self._tag_condition(row)
                )
        for arn in row.additional_resources.get(action, ()):
            yield self._related_request(action, self.arn(arn, {}))

    def _tag_condition(self, row: AwsKind) -> PolicyCondition:
        whose = f"aws:ResourceTag/{row.ownership_tag}"
        return (("StringEquals", whose, (self._where.platform,)),) if row.ownership_tag else ()

    def _related_request(self, action: str, arn: str) -> PermissionRequest:
        """An action's further resources: with gpuyard's tag, unless unmanaged or without tags."""
        type_ = arn.split(":")[5].partition("/")[0] + "/"
        if type_ in _UNMARKED or _KINDS.get(type_, "") not in {"", *self._kinds}:
            return PermissionRequest("Beside", action, (arn,))
        ours = (("StringEquals", f"aws:ResourceTag/{PLATFORM_LABEL}", (self._where.platform,)),)
        return PermissionRequest("Keep", action, (arn,), ours)

    def _passed(self, row: AwsKind, each: CloudResource) -> Iterator[PermissionRequest]:
        for passed_role in row.passed_roles:
            to = (("StringEquals", "iam:PassedToService", passed_role.services),)
            for value in _values(each.inputs, passed_role.field.split(".")):
                yield PermissionRequest("Pass", "iam:PassRole", self._arns(value), to)

    def _linked(self, row: AwsKind) -> Iterator[PermissionRequest]:
        for role in row.linked:
            arn = self.arn(f"iam::{{account}}:role/aws-service-role/{role.service}/{role.name}", {})
            by = (("StringLike", "iam:AWSServiceName", (role.service,)),)
            yield PermissionRequest("Link", "iam:CreateServiceLinkedRole", (arn,), by)
            yield PermissionRequest("Named", "iam:GetRole", (arn,))

    def _keys(self, row: AwsKind, each: CloudResource) -> Iterator[PermissionRequest]:
        for field in row.keys:
            for value in _values(each.inputs, field.split(".")):
                of_ours = not isinstance(value, str)
                ours = (
                    ("StringEquals", f"aws:ResourceTag/{PLATFORM_LABEL}", (self._where.platform,)),
                )
                for action in ("kms:DescribeKey", "kms:CreateGrant"):
                    yield PermissionRequest(
                        "Keep" if of_ours else "Named",
                        action,
                        self._arns(value),
                        ours if of_ours else (),
                    )

    def _launched(self) -> Iterator[PermissionRequest]:
        """EKS tests the launch template in the caller's name, and tags what it would start."""
        kinds = [*LAUNCHES]
        if "aws:ec2/placementGroup:PlacementGroup" in self._kinds:
            kinds.append("placement-group")
        if any("capacityReservationTarget" in str(m.inputs) for m in self._made.values()):
            kinds.append("capacity-reservation")
        arns = tuple(
            self.arn(f"ec2:{{region}}:{'' if kind == 'image' else '{account}'}:{kind}/*", {})
            for kind in kinds
        )
        template = self.arn("ec2:{region}:{account}:launch-template/*", {})
        yield PermissionRequest(
            "Launch", "ec2:RunInstances", arns, (("ArnLike", "ec2:LaunchTemplate", (template,)),)
        )
        started = tuple(a for a in arns if a.split(":")[5].partition("/")[0] in _STARTED)
        yield PermissionRequest(
            "Tag",
            "ec2:CreateTags",
            started,
            (("StringEquals", "ec2:CreateAction", ("RunInstances",)),),
        )

    def _arns(self, value: Any) -> tuple[str, ...]:
        """A role or key, given by its ARN or created by the graph."""
        if isinstance(value, str):
            return (value,)
        return self.own(self._made[value.name.partition(".")[0]])


_STARTED = ("instance", "volume", "network-interface")


class _Names(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return ANY


def _own_name(each: CloudResource) -> str:
    """The name that Pulumi generates: component name, resource name, and seven digits."""
    return f"*{each.name}-*"


def _values(tree: Any, path: list[str]) -> Iterator[Any]:
    """The values at a path, through lists; none if it is missing."""
    if not path:
        yield tree
    elif isinstance(tree, list):
        for each in tree:
            yield from _values(each, path)
    elif isinstance(tree, Mapping) and path[0] in tree:
        yield from _values(tree[path[0]], path[1:])


VERSION = "2012-10-17"
_ORDER = ("Look", "Make", "Tag", "Keep", "Named", "Beside", "Attach", "Pass", "Link", "Launch")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a policy."""

    sid: str
    what: str
    actions: tuple[str, ...]
    arns: tuple[str, ...]
    condition: PolicyCondition

    @property
    def tree(self) -> dict[str, Any]:
        """The statement in the form of a document."""
        operators = sorted({operator for operator, _, _ in self.condition})
        conditions = {
            operator: {key: _one(values) for o, key, values in self.condition if o == operator}
            for operator in operators
        }
        return {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": list(self.actions),
            "Resource": _one(self.arns),
            **({"Condition": conditions} if conditions else {}),
        }


@dataclass(frozen=True, slots=True)
class AwsPermissions:
    """Policies for the deployer: attach every one of them."""

    statements: tuple[Statement, ...]
    documents: tuple[dict[str, Any], ...]

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions of all statements."""
        return tuple(sorted({a for each in self.statements for a in each.actions}))


def statements_of(needs: Iterable[PermissionRequest]) -> list[Statement]:
    """Requests of one service, for one reason and under one condition, are one statement.

    That allows nothing more: each action applies to some resource types only, and all of these are
    gpuyard's.
    """
    results: dict[tuple[Any, ...], tuple[set[str], set[str]]] = {}
    for need in _combined(needs):
        apart = need.arns == (ANY,)  # with others it would include them
        key = (_ORDER.index(need.statement), need.service, apart, need.condition)
        actions, arns = results.setdefault(key, (set(), set()))
        actions.add(need.action)
        arns.update(need.arns)
    seen: Counter[str] = Counter()
    return [_statement(key, *results[key], seen) for key in sorted(results)]


def _statement(
    key: tuple[Any, ...], actions: set[str], arns: set[str], seen: Counter[str]
) -> Statement:
    """One statement; of several with the same name, the later ones are numbered."""
    order, service, _, condition = key
    what = _ORDER[order]
    word = f"{service.title()}{what}"
    seen[word] += 1
    number = "" if seen[word] == 1 else str(seen[word])
    return Statement(
        f"{word}{number}", what, tuple(sorted(actions)), tuple(sorted(arns)), condition
    )


def _combined(needs: Iterable[PermissionRequest]) -> list[PermissionRequest]:
    """Merges requests that differ only in the values of their one condition."""
    values_by_condition: dict[tuple[Any, ...], tuple[set[str], set[str]]] = {}
    rest: list[PermissionRequest] = []
    for need in dict.fromkeys(needs):
        if need.statement not in {"Tag", "Attach"}:
            rest.append(need)
            continue
        (operator, key, values), *other_conditions = need.condition
        into = values_by_condition.setdefault(
            (need.statement, need.action, operator, key, tuple(other_conditions)), (set(), set())
        )
        into[0].update(need.arns)
        into[1].update(values)
    for (what, action, operator, key, other_conditions), (
        arns,
        every,
    ) in values_by_condition.items():
        condition = ((operator, key, tuple(sorted(every))), *other_conditions)
        rest.append(PermissionRequest(what, action, tuple(sorted(arns)), condition))
    return rest


def _one(values: Sequence[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)


# ── documents ─────────────────────────────────────────────────────────────────────────────────────
def documents_of(
    statements: Iterable[Statement], most: int = MANAGED_POLICY_CHARACTERS
) -> list[dict[str, Any]]:
    """The statements in order, as many in each document as it can hold."""
    documents: list[list[Statement]] = [[]]
    for each in statements:
        if documents[-1] and size_of(document((*documents[-1], each))) > most:
            documents.append([])
        documents[-1].append(each)
    return [document(each) for each in documents]


def document(statements: Iterable[Statement]) -> dict[str, Any]:
    """A policy with these statements."""
    return {"Version": VERSION, "Statement": [each.tree for each in statements]}


def size_of(policy: dict[str, Any]) -> int:
    """Its size in characters as IAM counts them: without white space."""
    return len(json.dumps(policy, separators=(",", ":")))
