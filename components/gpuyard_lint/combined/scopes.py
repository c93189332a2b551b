"""Files that are deployed together: a kustomization, a chart, an application's folder, else a folder.

A rule about several resources applies within one of these. Two values files of one chart in one folder
are alternatives: each is checked with everything else there, never with the other.
"""

import posixpath
from collections import ChainMap, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.manifests.fields import NotEvaluatedError, is_true, mapping, mappings, text
from gpuyard_core.yaml_tree import Document
from gpuyard_lint.app_template.objects import APP_VALUES, ChartRelease, app_template_objects
from gpuyard_lint.charts import keep_known_operator_values
from gpuyard_lint.combined.change_index import ChangeIndex, apply_changes
from gpuyard_lint.combined.changes import PatchedObject
from gpuyard_lint.combined.kustomize import (
    FLUX,
    Kustomization,
    kustomizations,
)
from gpuyard_lint.combined.kustomize import (
    built_resource as kustomization_inputs,
)
from gpuyard_lint.combined.references import renamed_objects, update_references
from gpuyard_lint.combined.script_hints import apply_script_hints, values_with_overrides
from gpuyard_lint.deployers.change_folders import overlay_folders
from gpuyard_lint.embedded_values import with_embedded
from gpuyard_lint.items import FileLocation, Item, LintInput
from gpuyard_lint.layers.values_variants import merged_release_values
from gpuyard_lint.rules.rule import Resource

CHART = "Chart.yaml"
_TEMPLATES = "templates"
_VALUES = ("values.yaml", "values.yml")
_NOWHERE = FileLocation("", Document(None, {}))
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
    """By values file: the result with values from commands."""
    laid: Mapping[str, tuple[Any, ...]]
    """The same with values of releases that name it."""

    def forms(self, file: str) -> tuple[Any, ...]:
        """The results of the values in a file; none if it is used as written."""
        return (self.handed[file],) if file in self.handed else self.laid.get(file, ())


@dataclass(frozen=True, slots=True)
class KustomizedObject:
    """An object that a kustomization changes."""

    item: Item
    file: str
    """The outermost kustomization that deploys it."""
    changes: ChangeIndex
    deployed: Resource
    """As deployed, under its written name."""
    is_kustomize_output: bool
    """Whether kustomize itself built it."""

    @property
    def original(self) -> Resource:
        """The initial state in the kustomization."""
        return self.item.merged_resource or self.item.resource


@dataclass(frozen=True, slots=True)
class LintScope:
    """A unit of deployment: each resource as written and as deployed."""

    resources: tuple[tuple[Resource, Resource], ...]
    absent_resources: tuple[tuple[Resource, ...], ...] = ()
    """By alternative, the resources that are absent: with two values files, those of the other."""
    file: str = ""
    """The kustomization that it is, "" if it is none."""
    kustomized: tuple[KustomizedObject, ...] = ()
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
    view = _View(by_file, _own_values(reading.files), forms, reading.values_variants)
    changed = overlay_folders(reading, of_folders)
    for folder, overlay in changed.kustomizations:
        chains = overlay_chains(folder, ChainMap({folder: overlay}, of_folders))
        if folder not in of_folders:
            chains.pop(overlay.file, None)
        if folder in changed.covered:
            listed |= set(chains)
        built = _built_around(reading.kustomizations.get(folder, ()), overlay)
        results.append(replace(_scope(chains, view, built), file=overlay.file))
    for folder in overlay_roots(of_folders):
        if folder in changed.covered:
            continue
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
            rest[_tree_of(posixpath.dirname(file), trees)][file] = []
    by_flux: dict[str, list[tuple[Resource, Resource]]] = defaultdict(list)
    for each in (item.resource for item in reading.items if item.resource.group_kind == FLUX):
        for path in _paths(each):
            by_flux[path].append((each, each))
    for tree, chains in rest.items():
        scope = _scope(chains, view)
        flux_pairs = [
            pair for path in _ends(tree) for pair in by_flux.get(path, ()) if tree in trees
        ]
        yield replace(scope, resources=(*scope.resources, *flux_pairs))


def _ends(folder: str) -> Iterator[str]:
    """Possible paths of the folder from an unknown root: `a/b/c`, `b/c` and `c`."""
    parts = folder.split("/")
    return ("/".join(parts[start:]) for start in range(len(parts)))


def _built_around(built: tuple[Resource, ...], overlay: Kustomization) -> tuple[Resource, ...]:
    """Objects built by kustomize, with the changes of their deployer; none if uncertain."""
    changes = [change for change in overlay.changes if change.deployer_file]
    if not all(change.is_certain for change in changes):
        return ()
    index = ChangeIndex(changes)
    forms = ((each, apply_changes(each, index)) for each in built)
    return tuple(
        replace(each, properties=form.value, name=form.names[-1])
        for each, form in forms
        if form is not None
    )


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


def overlay_chains(folder: str, of_folders: Mapping[str, Kustomization]) -> OverlayChains:
    """By file in a kustomization: the kustomizations that include it."""
    return _chains(folder, of_folders, (), iter(range(_MOST_TAKEN)))


def _chains(
    folder: str,
    of_folders: Mapping[str, Kustomization],
    above: tuple[str, ...],
    left: Iterator[int],
) -> OverlayChains:
    """The files of a kustomization, with those below it."""
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
    return _chains(folder, of_folders, above, left)


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


def _tree_of(folder: str, trees: frozenset[str]) -> str:
    """The nearest parent that is deployed as a whole, else the folder itself."""
    return next((each for each in _above(folder) if each in trees), folder)


@dataclass(frozen=True, slots=True)
class _Chain:
    """Kustomizations that include files, the inner one first."""

    file: str
    """The outer one, "" if there is none."""
    changes: ChangeIndex


@dataclass(frozen=True, slots=True)
class _There:
    """One resource, and its deployed form."""

    item: Item
    chain: _Chain
    form: PatchedObject
    made: Resource | None = None
    """The object as built by kustomize."""

    @property
    def changes(self) -> ChangeIndex:
        return ChangeIndex(()) if self.item.is_described_by_values else self.chain.changes


def _scope(chains: OverlayChains, view: _View, built: tuple[Resource, ...] = ()) -> LintScope:
    results: list[_There] = []
    charts: dict[tuple[str, str], list[str]] = defaultdict(list)
    maybe: list[Resource] = []
    indexed: dict[tuple[int, ...], _Chain] = {}
    lookups = 0
    for file, kustomized_by in chains.items():
        key = tuple(map(id, kustomized_by))
        if key not in indexed:
            outer = kustomized_by[-1].file if kustomized_by else ""
            changes = ChangeIndex(change for each in kustomized_by for change in each.changes)
            indexed[key] = _Chain(outer, changes)
        chain = indexed[key]
        for item in view.by_file.get(file, ()):
            before = chain.changes.lookups
            results += _deployed_forms(item, chain, view, built)
            lookups += chain.changes.lookups - before
            if lookups > MOST_LOOKUPS:
                as_written: OverlayChains = {file: [] for file in chains}
                return replace(
                    _scope(as_written, view, built), unapplied_changes_reason=TOO_MANY_CHANGES
                )
            maybe += [item.resource] if item.is_uncertain else []
            if item.resource.kind.startswith("values:") and not item.place.prefix:
                charts[posixpath.dirname(file), item.resource.kind].append(file)
    sets = [files for files in charts.values() if len(files) > 1]
    alternatives = list(_alternatives(sets, view.by_file))
    if maybe:  # each with the parts that a variable decides, and without
        alternatives = [each for one in alternatives or [()] for each in (one, (*one, *maybe))]
    pairs = tuple(_named(results, known=bool(built)))
    changed = zip(results, pairs, strict=True)
    kustomized = (
        _kustomized(each, as_deployed, known=bool(built)) for each, (_, as_deployed) in changed
    )
    return LintScope(
        pairs, tuple(alternatives), kustomized=tuple(each for each in kustomized if each)
    )


def _named(results: Sequence[_There], *, known: bool) -> Iterator[tuple[Resource, Resource]]:
    """Deployed under the new name, with renamed references; objects built by kustomize already are."""
    renamed = {} if known else renamed_objects(each.form for each in results)
    for each in results:
        value = update_references(each.form.value, renamed) if renamed else each.form.value
        written = each.item.resource
        if value is written.properties:
            yield written, written
        else:
            yield written, replace(written, properties=value, name=each.form.names[-1])


def _kustomized(each: _There, as_deployed: Resource, *, known: bool) -> KustomizedObject | None:
    """An object that its kustomizations change; of built objects, those that certainly are the same."""
    written = each.item.resource
    if not each.chain.file or ":" in written.kind or as_deployed.properties == written.properties:
        return None
    start = each.item.merged_resource or written
    if known:
        form = apply_changes(start, each.changes) if each.made else None
        if form is None or each.made is None or form.names[-1] != each.made.name:
            return None
    as_deployed = replace(as_deployed, name=written.name)
    return KustomizedObject(each.item, each.chain.file, each.changes, as_deployed, known)


def _deployed_forms(
    item: Item, chain: _Chain, view: _View, built: tuple[Resource, ...]
) -> list[_There]:
    """One resource as deployed, values for each release that uses them; none if it is not deployed."""
    if item.is_described_by_values:
        return _described_there(item, chain, view)
    built_resource = kustomization_inputs(item.resource, built) if built else None
    if built_resource is not None:
        form = PatchedObject(built_resource.properties, (item.resource.name, built_resource.name))
        return [_There(item, chain, form, built_resource)]
    written = item.merged_resource or item.resource
    if ":" in written.kind:
        forms = _values_there(item, written, chain.changes, view)
        return [_There(item, chain, PatchedObject(each.properties, (each.name,))) for each in forms]
    changed = apply_changes(written, chain.changes)
    return [_There(item, chain, changed)] if changed is not None else []


def _described_there(item: Item, chain: _Chain, view: _View) -> list[_There]:
    """The objects that values describe, in each of these forms."""
    if item.place.file in view.own and not item.place.prefix:
        return []  # its own templates may change the values first
    described = [each for each in _described(item, chain, view) if each is not None]
    return [_There(item, chain, PatchedObject(each.properties, (each.name,))) for each in described]


def _described(item: Item, chain: _Chain, view: _View) -> Iterator[Resource | None]:
    """The objects that values describe after patches to their release or overrides."""
    release = item.release
    if release is not None:
        form = apply_changes(release, chain.changes)
        if form is not None and form.value is release.properties:
            yield item.resource
        elif form is not None:
            yield _same_in(
                with_embedded(Item(replace(release, properties=form.value), _NOWHERE)), item
            )
        return
    forms = view.forms(item.place.file)
    if not forms:
        yield item.resource
    for each in forms:
        empty = Resource(APP_VALUES, APP_VALUES, {})
        values = values_with_overrides(empty, item.place.prefix, each)
        yield _same_in(app_template_objects(Item(values, _NOWHERE), ChartRelease()), item)


def _same_in(described: Iterator[Item], item: Item) -> Resource | None:
    """The object from the same part of the values."""
    return next((each.resource for each in described if _is_same(each, item)), None)


def _is_same(one: Item, other: Item) -> bool:
    """Whether one part of the values describes both."""
    parts, other_parts = one.place.values_paths, other.place.values_paths
    return parts is not None and other_parts is not None and parts[()] == other_parts[()]


def _values_there(
    item: Item, written: Resource, changes: ChangeIndex, view: _View
) -> Iterator[Resource]:
    """Values as commands and releases pass them to Helm; of a custom chart, those that its templates use."""
    file, prefix = item.place.file, item.place.prefix
    if item.part is not None:
        release = apply_changes(item.part.release, changes)
        if release is not None and release.value is not item.part.release.properties:
            now = replace(item.part.release, properties=release.value)
            deployed_values = merged_release_values(replace(item.part, release=now), file)
            written = (
                written if deployed_values is None else replace(written, properties=deployed_values)
            )
        yield written
        return
    for form in view.forms(file) or (None,):
        value = written if form is None else values_with_overrides(written, prefix, form)
        yield keep_known_operator_values(value) if file in view.own and not prefix else value


def _alternatives(
    sets: Sequence[Sequence[str]], by_file: Mapping[str, Sequence[Item]]
) -> Iterator[tuple[Resource, ...]]:
    """The absent resources per alternative: as many as the longest set has; a shorter one repeats."""
    for number in range(max(map(len, sets), default=0)):
        chosen = {files[number % len(files)] for files in sets}
        alternatives = {file for files in sets for file in files} - chosen
        yield tuple(item.resource for file in sorted(alternatives) for item in by_file[file])
