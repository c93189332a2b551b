"""GPU-QUE-02: Kueue's objects say what they mean where it is read."""

from collections.abc import Iterator

from gpuyard.findings import Severity
from gpuyard.manifests.placeholders import is_filled_in, is_placeholder
from gpuyard.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    known,
    mapping,
    text,
)
from gpuyard.rules.subjects.tenants import LOCAL_QUEUE

PRIORITY = "kueue.x-k8s.io/WorkloadPriorityClass"
_QUEUE = "kueue.x-k8s.io/ClusterQueue"
_FLAVOR = "kueue.x-k8s.io/ResourceFlavor"
_NAMED = (_QUEUE, _FLAVOR, LOCAL_QUEUE, PRIORITY)
_TOP = ("value", "description")
_SERVED = "kueue.x-k8s.io/v1beta2/"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == PRIORITY:
        for key in _TOP:
            if at(resource.properties, "spec", key) is not None:
                yield Violation(
                    ("spec", key),
                    f"a WorkloadPriorityClass has no spec: its {key} stands beside metadata",
                    f"move {key} to the top level",
                )
        if known(resource.properties.get("value")) is None and not at(
            resource.properties, "spec", "value"
        ):
            yield Violation(
                ("value",), "without a value the class is rejected", "write value: 1000"
            )
        return
    if resource.group_kind == _QUEUE:
        yield from _covered(resource)
    if resource.kind.startswith(_SERVED) and at(resource.properties, "spec", "cohort"):
        yield Violation(
            ("spec", "cohort"),
            "v1beta2 calls it cohortName: this queue is in no cohort and borrows nothing",
            "write cohortName",
        )


def _covered(queue: Resource) -> Iterator[Violation]:
    """Every flavor of a group has all that the group covers, in its order: the API refuses another."""
    for g, group in enumerate(items(at(queue.properties, "spec", "resourceGroups"))):
        covered = [text(each) for each in items(mapping(group).get("coveredResources"))]
        for f, flavor in enumerate(items(mapping(group).get("flavors"))):
            given = [text(mapping(e).get("name")) for e in items(mapping(flavor).get("resources"))]
            if covered and given != covered and not any(map(is_filled_in, (*given, *covered))):
                missing = [name for name in covered if name not in given]
                what = f"no {' and no '.join(missing)}" if missing else "another order, or more"
                yield Violation(
                    ("spec", "resourceGroups", g, "flavors", f, "resources"),
                    f"the queue is rejected: a flavor has what its group covers, in its order; {what} here",
                    f"list {', '.join(covered)}, or make a group of its own for this flavor",
                )


def _twice(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Of two with one name in one file the later one is there, and the earlier was never meant to go."""
    first: dict[tuple[str, ...], Resource] = {}
    for each in stack.of(*_NAMED):
        name = at(each.properties, "metadata", "name")
        inside = each.namespace if each.group_kind == LOCAL_QUEUE else ""
        if not isinstance(name, str) or is_placeholder(name):
            continue
        before = first.setdefault((each.source, each.kind, inside, name), each)
        if _without_metadata(before) != _without_metadata(each):
            kind = each.kind.rpartition("/")[2]
            yield Violation(
                ("metadata", "name"),
                f"another {kind} here is called {name} as well, with other contents:"
                " the one that is applied last is there, for both",
                "give each a name of its own",
                each,
            )


def _without_metadata(resource: Resource) -> dict[str, object]:
    return {key: each for key, each in resource.properties.items() if key != "metadata"}


RULE = Rule(
    id="GPU-QUE-02",
    title="Priorities, cohorts and queues of Kueue are what is read",
    severity=Severity.REFUSE,
    why="A priority in the wrong place is rejected, a cohort of the wrong name is none, of two one is.",
    fix="Write value at the top of a WorkloadPriorityClass, cohortName in queues, no name twice.",
    sources=("kubernetes-sigs/kueue v0.19.2 CRDs of v1beta2",),
    kinds=_NAMED,
    check=_check,
    check_stack=_twice,
)
