"""GPU-QUE-02: Kueue objects use fields that Kueue reads."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from gpuyard_core.findings import Severity
from gpuyard_core.manifests.placeholders import is_entirely_placeholder, is_placeholder
from gpuyard_lint.rules.rule import (
    Parameters,
    Resource,
    Rule,
    Stack,
    Violation,
    at,
    items,
    known_value,
    mapping,
    text,
)
from gpuyard_lint.rules.subjects.tenants import LOCAL_QUEUE

PRIORITY = "kueue.x-k8s.io/WorkloadPriorityClass"
_QUEUE = "kueue.x-k8s.io/ClusterQueue"
_FLAVOR = "kueue.x-k8s.io/ResourceFlavor"
_NAMED = (_QUEUE, _FLAVOR, LOCAL_QUEUE, PRIORITY)
_KUSTOMIZATION = "kustomize.config.k8s.io/Kustomization"
_FLUX = "kustomize.toolkit.fluxcd.io/Kustomization"
_TOP = ("value", "description")
_SERVED = "kueue.x-k8s.io/v1beta2/"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    if resource.group_kind == PRIORITY:
        for key in _TOP:
            if at(resource.properties, "spec", key) is not None:
                yield Violation(
                    ("spec", key),
                    f"a WorkloadPriorityClass has no spec: {key} is a top-level field",
                    f"move {key} to the top level",
                )
        if known_value(resource.properties.get("value")) is None and not at(
            resource.properties, "spec", "value"
        ):
            yield Violation(
                ("value",), "the API server rejects a class without value", "write value: 1000"
            )
        return
    if resource.group_kind == _QUEUE:
        yield from _covered(resource)
    if resource.kind.startswith(_SERVED) and at(resource.properties, "spec", "cohort"):
        yield Violation(
            ("spec", "cohort"),
            "the field is cohortName in v1beta2: this queue joins no cohort and borrows nothing",
            "write cohortName",
        )


def _covered(queue: Resource) -> Iterator[Violation]:
    """Every flavor of a group lists all covered resources in order: the API server rejects others."""
    for g, group in enumerate(items(at(queue.properties, "spec", "resourceGroups"))):
        covered = [text(each) for each in items(mapping(group).get("coveredResources"))]
        for f, flavor in enumerate(items(mapping(group).get("flavors"))):
            resource_names = [
                text(mapping(e).get("name")) for e in items(mapping(flavor).get("resources"))
            ]
            if (
                covered
                and resource_names != covered
                and not any(map(is_entirely_placeholder, (*resource_names, *covered)))
            ):
                missing = [name for name in covered if name not in resource_names]
                what = (
                    f"no {' and no '.join(missing)}" if missing else "another order, or extra ones"
                )
                yield Violation(
                    ("spec", "resourceGroups", g, "flavors", f, "resources"),
                    f"the queue is rejected: a flavor must list the covered resources of its group in order; {what} here",
                    f"list {', '.join(covered)}, or create a separate group for this flavor",
                )


def _duplicates(stack: Stack, _: Parameters) -> Iterator[Violation]:
    """Two objects with one name in one file: the later one overwrites the earlier.

    In files of one kustomization neither applies: the build fails.
    """
    first: dict[tuple[str, ...], Resource] = {}
    listed = _listed(stack)
    for each in stack.resources_of_kinds(*_NAMED):
        name = at(each.properties, "metadata", "name")
        inside = each.namespace if each.group_kind == LOCAL_QUEUE else ""
        if not isinstance(name, str) or is_placeholder(name):
            continue
        for place in (each.source, *listed.get(each.source, ())):
            before = first.setdefault((place, each.kind, inside, name), each)
            if _without_metadata(before) != _without_metadata(each):
                yield _called_so(each, name, before)
                break


def _called_so(each: Resource, name: str, before: Resource) -> Violation:
    kind = each.kind.rpartition("/")[2]
    if before.source == each.source:
        where, then = "here", "the last one applied overwrites the other"
    else:
        where, then = "of this kustomization", "kustomize build fails"
    problem = f"another {kind} {where} has the same name {name} and different content: {then}"
    return Violation(("metadata", "name"), problem, "use different names", each)


def _listed(stack: Stack) -> Mapping[str, Sequence[str]]:
    """By file, the kustomizations that list it; Flux generates one for a folder without."""
    results: dict[str, list[str]] = {}
    folders: set[str] = set()
    for each in stack.resources_of_kinds(_KUSTOMIZATION):
        folders.add(folder := posixpath.dirname(each.source))
        for name in items(each.properties.get("resources")):
            file = posixpath.normpath(posixpath.join(folder, text(name)))
            results.setdefault(file, []).append(each.source)
    flux_paths = {
        path for each in stack.resources_of_kinds(_FLUX) if (path := _folder(each)) != "."
    }
    for file in {each.source for each in stack.resources_of_kinds(*_NAMED)} if flux_paths else ():
        folder = posixpath.dirname(file)
        if folder not in folders and any(f"/{folder}".endswith(f"/{path}") for path in flux_paths):
            results.setdefault(file, []).append(f"{folder}/")
    return results


def _folder(flux: Resource) -> str:
    """The folder of a Flux Kustomization, "." if it names none or a placeholder."""
    spec = flux.properties.get("spec")
    path = spec.get("path") if isinstance(spec, Mapping) else None
    return posixpath.normpath(path).strip("/") if isinstance(path, str) else "."


def _without_metadata(resource: Resource) -> dict[str, object]:
    return {key: each for key, each in resource.properties.items() if key != "metadata"}


RULE = Rule(
    id="GPU-QUE-02",
    title="Kueue priorities, cohorts and queues use fields that Kueue reads",
    severity=Severity.ERROR,
    why="A misplaced priority is rejected, a misnamed cohort is ignored, and duplicates overwrite each other.",
    fix="Set value at the top level of a WorkloadPriorityClass, cohortName in queues, and unique names.",
    sources=(
        "kubernetes-sigs/kueue v0.19.2 CRDs of v1beta2",
        "kubernetes-sigs/kustomize api/resmap, Append: may not add resource with an already registered id",
    ),
    kinds=_NAMED,
    check=_check,
    check_stack=_duplicates,
)
