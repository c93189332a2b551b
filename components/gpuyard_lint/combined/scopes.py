"""Files that are deployed together: a kustomization, a chart, an application's folder, else a folder.

A rule about several resources applies within one of these. Two values files of one chart in one folder
are alternatives: each is checked with everything else there, never with the other.
"""

import posixpath
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from gpuyard_core.manifests.fields import NotEvaluatedError, is_true, mapping, mappings, text
from gpuyard_lint.charts import keep_known_operator_values
from gpuyard_lint.combined.changes import Change, PatchedObject, image_names
from gpuyard_lint.combined.kustomize import FLUX, Kustomization, built_resource, kustomizations
from gpuyard_lint.combined.script_hints import apply_script_hints, values_with_overrides
from gpuyard_lint.items import Item, LintInput
from gpuyard_lint.rules.rule import Resource


class ChangeIndex:
    """Changes in order: those of `images` by image, all others by the kind and name of their target."""

    def __init__(self, changes: Iterable[Change]) -> None:
        """Index them."""
        runs = groupby(changes, key=lambda change: bool(change.image))
        self._runs = [_Run(list(run), of_images=of_images) for of_images, run in runs]
        self.lookups = 0
        """The keys and changes with which objects have been compared so far."""

    def applied(self, resource: Resource) -> PatchedObject | None:
        """The object after all changes; None if one deletes it."""
        form = PatchedObject(resource.properties, (resource.name,))
        for run in self._runs:
            keys = run.keys(form)
            self.lookups += len(keys)
            at = run.following(keys, 0)
            while at is not None:
                change = run.changes[at]
                self.lookups += len(keys)
                if change.matches(form) is not False:
                    after = change.apply(form)
                    if after is None:
                        return None
                    keys = keys if after is form else run.keys(after)
                    form = after
                at = run.following(keys, at + 1)
        return form


class _Run:
    """Consecutive changes with keys of one type."""

    def __init__(self, changes: list[Change], *, of_images: bool) -> None:
        self.changes = changes
        self.keys = image_names if of_images else _kinds_and_names
        self._places: dict[Hashable, list[int]] = {}
        for place, change in enumerate(changes):
            key = change.image if of_images else change.target_kind_and_name
            self._places.setdefault(key, []).append(place)

    def following(self, keys: Iterable[Hashable], start: int) -> int | None:
        """The first change from an index on with one of the keys."""
        found = (self._places[key] for key in keys if key in self._places)
        return min(
            (each[at] for each in found if (at := bisect_left(each, start)) < len(each)),
            default=None,
        )


def _kinds_and_names(form: PatchedObject) -> set[tuple[str, str]]:
    return {(kind, name) for kind in ("", form.kind) for name in ("", *form.names)}


CHART = "Chart.yaml"
_TEMPLATES = "templates"
_VALUES = ("values.yaml", "values.yml")
_ARGO = "argoproj.io/Application"
OverlayChains = dict[str, list[Kustomization]]
"""By file: the kustomizations that include it, the inner one first."""
MOST_LOOKUPS = 1_000_000
"""Comparisons of changes with objects in one kustomization, of about 1 µs each."""
TOO_MANY_CHANGES = (
    f"matching its patches and images to objects takes more than {MOST_LOOKUPS:,} comparisons: "
    "gpuyard checks its objects without them. "
    "Name one kind and one object in the target of each patch"
)
_MOST_TAKEN, _DEEPEST = 1000, 50
"""Maximum number of kustomizations that lint follows from one, per path, and maximum depth."""


@dataclass(frozen=True, slots=True)
class _View:
    """The whole input, for checks of a part of it."""

    by_file: Mapping[str, Sequence[Item]]
    own: frozenset[str]
    """Values of charts with their own templates."""
    handed: Mapping[str, Any]
    """By values file: the result with values from commands and Terraform releases."""


@dataclass(frozen=True, slots=True)
class LintScope:
    """A unit of deployment: each resource as written and as deployed."""

    resources: tuple[tuple[Resource, Resource], ...]
    absent_resources: tuple[tuple[Resource, ...], ...] = ()
    """By alternative, the resources that are absent: with two values files, those of the other."""
    file: str = ""
    """The kustomization that it is, "" if it is none."""
    unapplied_changes_reason: str = ""
    """The reason why the changes of its kustomizations are not applied."""


def scopes(reading: LintInput) -> list[LintScope]:
    """All deployed resources, by unit of deployment; a file of patches belongs to none."""
    of_folders = kustomizations(reading)
    by_file: dict[str, list[Item]] = defaultdict(list)
    for item in reading.items:
        by_file[item.place.file].append(item)
    results: list[LintScope] = []
    listed: set[str] = set()
    patches = {name for each in of_folders.values() for name in each.patch_files}
    for name in patches:  # not an object of its own; complete objects inside it are deployed
        by_file[name] = [each for each in by_file.get(name, ()) if ":" in each.resource.kind]
    forms = apply_script_hints(reading.values_overlays, by_file)
    view = _View(by_file, _own_values(reading.files), forms)
    for folder in overlay_roots(of_folders):
        chains = overlay_chains(folder, of_folders)
        listed |= set(chains)
        scope = _scope(chains, view, reading.kustomizations.get(folder, ()))
        results.append(replace(scope, file=of_folders[folder].file))
    return [*results, *_unlisted(reading, view, listed)]


def _unlisted(reading: LintInput, view: _View, listed: Collection[str]) -> Iterator[LintScope]:
    """Files in no kustomization, by folder: with the Flux Kustomization that applies the whole folder."""
    rest: dict[str, OverlayChains] = defaultdict(dict)
    trees = _trees(reading)
    for file in view.by_file:
        if file not in listed:
            folder = posixpath.dirname(
                file
            )  # the nearest parent that is deployed as a whole, or its own
            tree = next((each for each in _above(folder) if each in trees), folder)
            rest[tree][file] = []
    by_flux: dict[str, list[tuple[Resource, Resource]]] = defaultdict(list)
    for each in (item.resource for item in reading.items if item.resource.group_kind == FLUX):
        for path in _paths(each):
            by_flux[path].append((each, each))
    for tree, chains in rest.items():
        scope = _scope(chains, view)
        parts = tree.split("/") if tree in trees else []
        # possible paths of the folder from an unknown root: `a/b/c`, `b/c` and `c`
        paths = ("/".join(parts[start:]) for start in range(len(parts)))
        flux_pairs = [pair for path in paths for pair in by_flux.get(path, ())]
        yield replace(scope, resources=(*scope.resources, *flux_pairs))


def _own_values(files: Sequence[str]) -> frozenset[str]:
    """Values for a chart with its own templates: each key is the chart's."""
    charts = {posixpath.dirname(file) for file in files if posixpath.basename(file) == CHART}
    written = {
        posixpath.dirname(folder)
        for folder in {posixpath.dirname(file) for file in files}
        if posixpath.basename(folder) == _TEMPLATES
    }
    return frozenset(posixpath.join(each, name) for each in charts & written for name in _VALUES)


def overlay_roots(of_folders: Mapping[str, Kustomization]) -> list[str]:
    """Kustomizations that no other includes. A cycle, which kustomize rejects, has none and is ignored."""
    referenced = {
        name for each in of_folders.values() for name in (*each.folders, *each.components)
    }
    return [folder for folder in of_folders if (folder or ".") not in referenced]


def overlay_chains(
    folder: str,
    of_folders: Mapping[str, Kustomization],
    above: tuple[str, ...] = (),
    left: Iterator[int] | None = None,
) -> OverlayChains:
    """By file in a kustomization, with those below it: the kustomizations that include it."""
    left = iter(range(_MOST_TAKEN)) if left is None else left
    own = of_folders[folder]
    result: OverlayChains = {name: [] for name in (own.file, *own.patch_files)}
    for name in own.folders:
        for file, chain in _chains_through(name, of_folders, (*above, folder), left).items():
            result[file] = [*result.get(file, ()), *chain]
    for name in own.components:
        parts = _chains_through(name, of_folders, (*above, folder), left)
        for file, chain in parts.items():
            result.setdefault(file, chain)
        for file in result if name in of_folders else ():
            if file not in parts:
                result[file] = [*result[file], of_folders[name]]
    return {file: [*chain, own] for file, chain in result.items()}


def _chains_through(
    name: str, of_folders: Mapping[str, Kustomization], above: tuple[str, ...], left: Iterator[int]
) -> OverlayChains:
    folder = "" if name == "." else name
    if folder not in of_folders:
        return {name: []}
    if folder in above or len(above) >= _DEEPEST or next(left, None) is None:
        return {}
    return overlay_chains(folder, of_folders, above, left)


def _trees(reading: LintInput) -> frozenset[str]:
    """Folders deployed as a whole: of a chart, or of an application that includes everything below."""
    charts = {posixpath.dirname(f) for f in reading.files if posixpath.basename(f) == CHART}
    tree_paths = {path for item in reading.items for path in _paths(item.resource)}
    folders = {posixpath.dirname(file) for file in reading.files} if tree_paths else set[str]()
    ends = {above for folder in folders for above in _above(folder)}
    named = {each for each in ends for path in tree_paths if f"/{each}".endswith(f"/{path}")}
    return frozenset(charts | named)


def _paths(resource: Resource) -> Iterator[str]:
    """Folders of a repository, as in Applications and Flux Kustomizations, with everything below."""
    if resource.group_kind not in {FLUX, _ARGO}:
        return
    source_paths: list[str] = []
    try:
        spec = mapping(resource.properties, "spec")
        if resource.group_kind == FLUX:
            source_paths.append(text(spec, "path"))
        else:
            for source in (mapping(spec, "source"), *mappings(spec, "sources")):
                recurse = is_true(mapping(source, "directory").get("recurse"))
                source_paths += [text(source, "path")] if recurse else []
    except NotEvaluatedError:
        return  # its path is not known yet
    for path in source_paths:
        clean = posixpath.normpath(path).strip("/") if path else "."
        if clean != ".":
            yield clean


def _above(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder) if folder.strip("/") else ""


def _scope(chains: OverlayChains, view: _View, built: tuple[Resource, ...] = ()) -> LintScope:
    pairs: list[tuple[Resource, Resource]] = []
    charts: dict[tuple[str, str], list[str]] = defaultdict(list)
    maybe: list[Resource] = []
    indexed: dict[tuple[int, ...], ChangeIndex] = {}
    lookups = 0
    for file, kustomized_by in chains.items():
        key = tuple(map(id, kustomized_by))
        if key not in indexed:
            indexed[key] = ChangeIndex(change for each in kustomized_by for change in each.changes)
        changes = indexed[key]
        for item in view.by_file.get(file, ()):
            before = changes.lookups
            deployed = _as_deployed(item, changes, view, built)
            pairs += [] if deployed is None else [(item.resource, deployed)]
            lookups += changes.lookups - before
            if lookups > MOST_LOOKUPS:
                as_written: OverlayChains = {file: [] for file in chains}
                return replace(
                    _scope(as_written, view, built), unapplied_changes_reason=TOO_MANY_CHANGES
                )
            maybe += [item.resource] if item.is_uncertain else []
            if item.resource.kind.startswith("values:") and not item.place.prefix:
                charts[posixpath.dirname(file), item.resource.kind].append(file)
    sets = [files for files in charts.values() if len(files) > 1]
    # by alternative, as many as the longest set has; a shorter one repeats
    alternatives: list[tuple[Resource, ...]] = []
    for number in range(max(map(len, sets), default=0)):
        chosen = {files[number % len(files)] for files in sets}
        absent = sorted({file for files in sets for file in files} - chosen)
        alternatives.append(tuple(i.resource for file in absent for i in view.by_file[file]))
    if maybe:  # each with the parts that a variable decides, and without
        alternatives = [each for one in alternatives or [()] for each in (one, (*one, *maybe))]
    return LintScope(tuple(pairs), tuple(alternatives))


def _as_deployed(
    item: Item, changes: ChangeIndex, view: _View, built: tuple[Resource, ...]
) -> Resource | None:
    """One resource as deployed; None if a kustomization deletes it.

    Values as commands and Terraform pass them to Helm; of a custom chart, those that its templates use.
    """
    output = built_resource(item.resource, built) if built else None
    if output is not None:
        return replace(item.resource, properties=output.properties, name=output.name)
    written, file, prefix = (
        item.merged_resource or item.resource,
        item.place.file,
        item.place.prefix,
    )
    if ":" not in written.kind:
        changed = changes.applied(written)
        if changed is None or changed.value is item.resource.properties:
            return None if changed is None else item.resource
        return replace(item.resource, properties=changed.value, name=changed.names[-1])
    if file in view.handed:
        written = values_with_overrides(written, prefix, view.handed[file])
    return keep_known_operator_values(written) if file in view.own and not prefix else written
