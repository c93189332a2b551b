"""What becomes of a node: pure, no clock, no network."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
PASSED_WORD = "passed"
"""What the label of a node that passed says."""
PASSED, FAILED = 0, 1
"""Exit codes of the validator that are a verdict; any other says that it could not judge."""
LONGEST = 900
"""Letters of what a validator has said; an event's message has room for 1024."""
_FAILURE = re.compile(
    r"^\s*(?:fail|error|required and skip): ([a-z_]+(?:\.[a-z_]+)*)", re.MULTILINE
)
_FIGURES = "\nfigures: "
"""Begins what programs read of a validator's last words."""
_NEEDS = re.compile(r"needs: ([a-z-]+)")
_REMEDIES = {
    "reset": "reset its GPUs",
    "reboot": "reboot it",
    "replace": "kubectl drain {node}, then have its cloud replace it",
}
_ELSE = "mend what is said here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Labels, annotations and the taint, as the platform calls them."""

    checks: str
    """Label of pods that check: of which pool."""
    checked: str
    """Label of nodes, and of the pods that check them: by what, as a digest."""
    result: str
    """Label of nodes: passed, or the check that failed."""
    says: str
    """Annotation: the validator's last words."""
    boot: str
    """Annotation: which start of the machine was looked at."""
    tainted_since: str
    """Annotation: whether this program has closed it, so that it may open it."""
    taint: Mapping[str, str]
    """What nodes start with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Nodes of one kind."""

    name: str
    selector: str
    checks: str
    """The pods that look at its nodes, by their label."""
    digest: str
    """Of all that a verdict rests on."""
    gate: str
    """taint: a node is closed until it has passed; label: it is only told."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """How the validator on a node ended last."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the cluster has it."""

    raw: Mapping[str, Any]
    names: Names

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.raw["metadata"]["name"])

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.raw["metadata"].get("labels") or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        """Its annotations."""
        return self.raw["metadata"].get("annotations") or {}

    @property
    def taints(self) -> list[Object]:
        """All of them."""
        return list(self.raw["spec"].get("taints") or ())

    @property
    def is_pending(self) -> bool:
        """Whether it has the taint that nodes start with."""
        return any(each["key"] == self.names.taint["key"] for each in self.taints)

    @property
    def boot(self) -> str:
        """Which start of the machine this is; empty where nobody says."""
        status = self.raw.get("status") or {}
        return str((status.get("nodeInfo") or {}).get("bootID") or "")

    @property
    def failed(self) -> bool:
        """Whether its last check has failed, whatever that was held against."""
        return self.labels.get(self.names.result, PASSED_WORD) != PASSED_WORD

    @property
    def is_tainted(self) -> bool:
        """Whether it takes no jobs because a check has failed."""
        return self.failed and (self.is_pending or self.names.tainted_since in self.annotations)


@dataclass(slots=True)
class Change:
    """What to write on a node, and what to tell of it."""

    labels: dict[str, str | None] = field(default_factory=dict)
    annotations: dict[str, str | None] = field(default_factory=dict)
    spec: Object = field(default_factory=dict)
    reason: str = ""
    message: str = ""

    def patch(self, node: Node) -> Object:
        """Of the one version of it that was judged."""
        version = node.raw["metadata"]["resourceVersion"]
        metadata = {
            "resourceVersion": version,
            "labels": self.labels,
            "annotations": self.annotations,
        }
        return {"metadata": metadata, **({"spec": self.spec} if self.spec else {})}


def change_for(
    node: Node, pool: Pool, outcome: CheckOutcome | None, *, may_close: bool
) -> Change | None:
    """What is to be done about a node; nothing where it is as it should be.

    `may_close`: whether the pool may lose another node. One that still waits loses it nothing.
    """
    names = node.names
    if names.checked in node.labels and node.boot and node.annotations.get(names.boot) != node.boot:
        return _recheck(node, pool)
    known = node.labels.get(names.checked) == pool.digest
    if known and not node.failed:
        return (
            _opened(node, Change())
            if node.is_pending or names.tainted_since in node.annotations
            else None
        )
    if outcome is not None and (not known or outcome.code == PASSED or _another(node, outcome)):
        return _verdict_change(node, pool, outcome, may_close=may_close)
    if not known:
        return None
    if pool.gate == "taint" and not node.is_tainted and may_close:
        return _closed(node, Change(), node.annotations.get(names.says, ""))
    return None


def check_outcome(pod: Mapping[str, Any]) -> CheckOutcome | None:
    """The last words of a pod's container: it is started again and again until its node has a verdict."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        for status_field in ("state", "lastState"):
            ended = (container.get(status_field) or {}).get("terminated")
            if ended:
                return CheckOutcome(int(ended.get("exitCode", -1)), str(ended.get("message") or ""))
    return None


def max_unavailable_nodes(nodes: Sequence[Node], percent: int) -> int:
    """How many of a pool may be closed at once; one always may."""
    return max(1, len(nodes) * percent // 100)


def _recheck(node: Node, pool: Pool) -> Change:
    """The machine was started anew: whoever repaired it, what was seen before says nothing."""
    change = Change({node.names.checked: None}, {node.names.boot: None})
    if pool.gate == "taint" and not node.is_pending:
        change.spec["taints"] = [*node.taints, dict(node.names.taint)]
    change.reason, change.message = "NodeRebooted", "It was started anew, and is checked again."
    return change


def _verdict_change(
    node: Node, pool: Pool, output: CheckOutcome, *, may_close: bool
) -> Change | None:
    names, text = node.names, output.text.partition(_FIGURES)[0].strip()[:LONGEST]
    if output.code not in (PASSED, FAILED):
        if node.annotations.get(names.says) == text:
            return None
        message = f"Its check could not be made, and it stays as it is: {text}"
        return Change({}, {names.says: text}, {}, "NodeNotChecked", message[:LONGEST])
    change = Change({names.checked: pool.digest, names.result: _result(output)})
    change.annotations = {names.boot: node.boot or None, names.says: text}
    if output.code == PASSED:
        return _opened(node, change)
    if pool.gate == "taint" and (node.is_pending or node.is_tainted or may_close):
        return _closed(node, change, text)
    why = "" if pool.gate != "taint" else " It stays open: no more nodes of its pool may be closed."
    change.reason, change.message = "NodeFailedCheck", f"{text}{why} {_remedy(node, text)}"
    return change


def _result(outcome: CheckOutcome) -> str:
    """As the label says it: the first check that failed."""
    match = _FAILURE.search(outcome.text)
    return PASSED_WORD if outcome.code == PASSED else match.group(1) if match else "failed"


def _another(node: Node, outcome: CheckOutcome) -> bool:
    """Whether a node that has failed now fails by something else: one fault is mended, and one is left."""
    return outcome.code == FAILED and _result(outcome) != node.labels.get(node.names.result)


def _opened(node: Node, change: Change) -> Change:
    names = node.names
    if node.is_pending:
        change.spec["taints"] = [t for t in node.taints if t["key"] != names.taint["key"]]
    if names.tainted_since in node.annotations:
        change.annotations[names.tainted_since] = None
        change.spec["unschedulable"] = None
    change.reason, change.message = "NodeChecked", "It is what its pool asks for, and takes jobs."
    return change


def _closed(node: Node, change: Change, text: str) -> Change:
    """One that somebody else has closed is not opened by us."""
    if not node.raw["spec"].get("unschedulable"):
        change.spec["unschedulable"] = True
        change.annotations[node.names.tainted_since] = "true"
    change.reason, change.message = "NodeFailedCheck", f"{text} Closed. {_remedy(node, text)}"
    return change


def _remedy(node: Node, text: str) -> str:
    match = _NEEDS.search(text)
    words = _REMEDIES.get(match.group(1) if match else "", _ELSE)
    return (
        f"To do: {words.format(node=node.name)}; until it has passed it is checked again and again."
    )
