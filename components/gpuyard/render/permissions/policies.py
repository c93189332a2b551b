"""Permission requests as IAM policies, with as few statements and documents as possible."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.render.permissions.needs import ANY, PermissionRequest, PolicyCondition
from gpuyard_core.catalogue.permissions.aws import MANAGED_POLICY_CHARACTERS

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
