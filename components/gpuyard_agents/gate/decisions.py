"""Decides what to change on a node: pure functions without clock or network."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
PASSED_WORD = "passed"
"""Value of the result label of a node that passed."""
PASSED, FAILED = 0, 1
"""Exit codes of the validator that are a verdict; any other means that it could not run."""
LONGEST = 900
"""Maximum length of the validator's text; an event message is limited to 1024 characters."""
_FAILURE = re.compile(
    r"^\s*(?:fail|error|required and skip): ([a-z_]+(?:\.[a-z_]+)*)", re.MULTILINE
)
_FIGURES = '\n{"schema":"gpuyard.dev/figures/v1",'
"""Beginning of the machine-readable line in a validator's termination message."""
_NEEDS = re.compile(r"needs: ([a-z-]+)")
_REMEDIES = {
    "reset": "reset its GPUs",
    "reboot": "reboot it",
    "replace": "run kubectl drain {node}, then have the cloud replace it",
}
_ELSE = "fix the failures listed here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Labels, annotations and the taint of the platform."""

    checks: str
    """Label of validation pods: the pool."""
    checked: str
    """Label of nodes and of validation pods: digest of the expectations."""
    result: str
    """Label of nodes: passed, or the id of the failed check."""
    says: str
    """Annotation: the validator's termination message."""
    boot: str
    """Annotation: the boot that was validated."""
    tainted_since: str
    """Annotation: gpuyard cordoned the node, so gpuyard may uncordon it."""
    taint: Mapping[str, str]
    """The startup taint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedPool:
    """Nodes of one kind."""

    name: str
    selector: str
    checks: str
    """The pool's validation pods, by their label."""
    digest: str
    """Digest of everything that determines a verdict."""
    gate: str
    """taint: a node takes no jobs until it has passed; label: the result is only reported."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The last result of the validator on a node."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the cluster."""

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
        """Its taints."""
        return list(self.raw["spec"].get("taints") or ())

    @property
    def is_pending(self) -> bool:
        """Whether it still has the startup taint."""
        return any(each["key"] == self.names.taint["key"] for each in self.taints)

    @property
    def boot(self) -> str:
        """Boot id of the machine; empty where it is unknown."""
        status = self.raw.get("status") or {}
        return str((status.get("nodeInfo") or {}).get("bootID") or "")

    @property
    def failed(self) -> bool:
        """Whether its last validation failed, against any expectations."""
        return self.labels.get(self.names.result, PASSED_WORD) != PASSED_WORD

    @property
    def is_tainted(self) -> bool:
        """Whether it takes no jobs because its validation failed."""
        return self.failed and (self.is_pending or self.names.tainted_since in self.annotations)


@dataclass(slots=True)
class Change:
    """The changes to a node, and the event to record."""

    labels: dict[str, str | None] = field(default_factory=dict)
    annotations: dict[str, str | None] = field(default_factory=dict)
    spec: Object = field(default_factory=dict)
    reason: str = ""
    message: str = ""

    def patch(self, node: Node) -> Object:
        """The patch, for the resource version that was evaluated."""
        version = node.raw["metadata"]["resourceVersion"]
        metadata = {
            "resourceVersion": version,
            "labels": self.labels,
            "annotations": self.annotations,
        }
        return {"metadata": metadata, **({"spec": self.spec} if self.spec else {})}


def change_for(
    node: Node, pool: ValidatedPool, outcome: CheckOutcome | None, *, may_close: bool
) -> Change | None:
    """The change of a node; None if it needs none.

    `may_close`: whether the pool may lose another node. A node that still waits is no loss.
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
    """The termination message of a pod's container, which restarts until its node has a verdict."""
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        for status_field in ("state", "lastState"):
            ended = (container.get(status_field) or {}).get("terminated")
            if ended:
                return CheckOutcome(int(ended.get("exitCode", -1)), str(ended.get("message") or ""))
    return None


def max_unavailable_nodes(nodes: Sequence[Node], percent: int) -> int:
    """Maximum number of nodes of a pool that may be cordoned at once; at least one."""
    return max(1, len(nodes) * percent // 100)


def _recheck(node: Node, pool: ValidatedPool) -> Change:
    """The machine rebooted: earlier results no longer apply."""
    change = Change({node.names.checked: None}, {node.names.boot: None})
    if pool.gate == "taint" and not node.is_pending:
        change.spec["taints"] = [*node.taints, dict(node.names.taint)]
    change.reason, change.message = "NodeRebooted", "The node rebooted; its validation runs again."
    return change


def _verdict_change(
    node: Node, pool: ValidatedPool, output: CheckOutcome, *, may_close: bool
) -> Change | None:
    names, text = node.names, output.text.partition(_FIGURES)[0].strip()[:LONGEST]
    if output.code not in (PASSED, FAILED):
        if node.annotations.get(names.says) == text:
            return None
        message = f"The validation could not run; the node's state is unchanged: {text}"
        return Change({}, {names.says: text}, {}, "NodeNotChecked", message[:LONGEST])
    change = Change({names.checked: pool.digest, names.result: _result(output)})
    change.annotations = {names.boot: node.boot or None, names.says: text}
    if output.code == PASSED:
        return _opened(node, change)
    if pool.gate == "taint" and (node.is_pending or node.is_tainted or may_close):
        return _closed(node, change, text)
    why = (
        ""
        if pool.gate != "taint"
        else " The node is not cordoned: its pool has reached the maximum of cordoned nodes."
    )
    change.reason, change.message = "NodeFailedCheck", f"{text}{why} {_remedy(node, text)}"
    return change


def _result(outcome: CheckOutcome) -> str:
    """Value of the result label: the first failed check."""
    match = _FAILURE.search(outcome.text)
    return PASSED_WORD if outcome.code == PASSED else match.group(1) if match else "failed"


def _another(node: Node, outcome: CheckOutcome) -> bool:
    """Whether a failed node now fails another check: one fault is fixed, another remains."""
    return outcome.code == FAILED and _result(outcome) != node.labels.get(node.names.result)


def _opened(node: Node, change: Change) -> Change:
    names = node.names
    if node.is_pending:
        change.spec["taints"] = [t for t in node.taints if t["key"] != names.taint["key"]]
    if names.tainted_since in node.annotations:
        change.annotations[names.tainted_since] = None
        change.spec["unschedulable"] = None
    change.reason, change.message = "NodeChecked", "The node passed validation and takes jobs."
    return change


def _closed(node: Node, change: Change, text: str) -> Change:
    """A node that something else has cordoned stays cordoned."""
    if not node.raw["spec"].get("unschedulable"):
        change.spec["unschedulable"] = True
        change.annotations[node.names.tainted_since] = "true"
    change.reason, change.message = "NodeFailedCheck", f"{text} Cordoned. {_remedy(node, text)}"
    return change


def _remedy(node: Node, text: str) -> str:
    match = _NEEDS.search(text)
    words = _REMEDIES.get(match.group(1) if match else "", _ELSE)
    return f"To do: {words.format(node=node.name)}. Validation repeats until the node passes."
