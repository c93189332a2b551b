"""Lint report with file, line and column: the one result that every format writes."""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpuyard_core.findings import Diagnostic, Fix, Path, Severity
from gpuyard_lint.combined.evaluation import evaluate_files
from gpuyard_lint.combined.scopes import scopes
from gpuyard_lint.ignores import NOTHING_IGNORED, IgnoreComment, Ignores
from gpuyard_lint.items import FileLocation, Item, LintInput, SkippedFile
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN, Resource, Rule, Stack
from gpuyard_lint.rules.run import (
    DEFAULT_CONFIGURATION,
    Finding,
    FindingState,
    RuleConfiguration,
    TimeLimitReached,
    check_resource,
    check_stack,
)

_MOST_WATCHED = 1000
"""Maximum number of resources that are observed at once: a rule that reads more reports the first."""


def find_unknown_value(
    finding: Finding, resources: Sequence[Resource], settings: RuleConfiguration
) -> tuple[Resource, Path] | None:
    """Run a rule again that met an unknown value: the resource and the path of the value; None if unknown."""
    if finding.state is not FindingState.NOT_EVALUATED or finding.diagnostic.path:
        return None
    reads: list[tuple[Resource, Path]] = []
    if finding.resource is not None:
        again = check_resource(finding.rule, _watched(finding.resource, reads), settings)
    else:
        watched = [_watched(each, reads) for each in resources[:_MOST_WATCHED]]
        again = check_stack(finding.rule, Stack((*watched, *resources[_MOST_WATCHED:])), settings)
    stopped = any(each.state is FindingState.NOT_EVALUATED for each in again)
    return reads[-1] if stopped and reads else None


def _watched(resource: Resource, unknown_reads: list[tuple[Resource, Path]]) -> Resource:
    return replace(resource, properties=_Watched(resource.properties, (), resource, unknown_reads))


@dataclass(frozen=True, slots=True, eq=False)
class _Watched(Mapping[Any, Any]):
    """A mapping that records each unknown value that is read from it."""

    given: Mapping[Any, Any]
    path: Path
    resource: Resource
    met: list[tuple[Resource, Path]]

    def __getitem__(self, key: Any) -> Any:
        return self._seen(self.given[key], (*self.path, key))

    def get(self, key: Any, default: Any = None) -> Any:
        """As the mapping itself: a partly known one has its own answer."""
        return self._seen(self.given.get(key, default), (*self.path, key))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.given)

    def __len__(self) -> int:
        return len(self.given)

    def _seen(self, value: Any, path: Path) -> Any:
        if value is UNKNOWN:
            self.met.append((self.resource, path))
        if isinstance(value, Mapping):
            return _Watched(value, path, self.resource, self.met)
        if isinstance(value, list | tuple):
            return [self._seen(each, (*path, number)) for number, each in enumerate(value)]
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings, in the order of files and lines."""

    hits: tuple[Finding, ...]
    skipped: tuple[SkippedFile, ...]
    files: tuple[str, ...]
    resource_count: int
    checked_resources: int
    """Number of resources whose kind a rule checks."""
    rules: tuple[Rule, ...]
    without_reason: tuple[IgnoreComment, ...] = ()
    """Comments without a reason: they ignore nothing."""
    unknown_rules: tuple[IgnoreComment, ...] = ()
    """Comments that name an unknown rule."""
    time_limit_reached: bool = False
    """Whether the time limit ended before the rules had checked everything."""

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """The findings that count."""
        return tuple(hit for hit in self.hits if hit.state is FindingState.OPEN)

    def counts(self) -> dict[str, int]:
        """The number of findings by state."""
        count = Counter(hit.state for hit in self.hits)
        return {s.value: count[s] for s in FindingState if s is not FindingState.FAILED}

    def is_failed(self, fail_on: Severity) -> bool:
        """True if an open finding has at least this severity."""
        return any(hit.diagnostic.severity.rank >= fail_on.rank for hit in self.open_findings)


def build_report(
    reading: LintInput,
    rules: Sequence[Rule],
    settings: RuleConfiguration = DEFAULT_CONFIGURATION,
    ignores: Ignores = NOTHING_IGNORED,
    baseline: Collection[str] = (),
    is_over: Callable[[], bool] = lambda: False,
) -> Report:
    """Check the input against the rules, within the time limit."""
    items = {id(item.resource): item for item in reading.items}
    deployed_together = scopes(reading)
    found = deque[Finding]()
    cut = False
    try:
        timed = replace(settings, is_over=is_over)
        found.extend(evaluate_files(reading, rules, timed, deployed_together))
    except TimeLimitReached:
        cut = True
    resources = [item.resource for item in reading.items]
    hits: list[Finding] = []
    while found:  # each is freed: a hundred thousand use much memory
        each = found.popleft()
        located = _located(each, items, reading, find_unknown_value(each, resources, settings))
        hits.append(_settled(located, ignores, baseline, reading.example_files))
    unread = [
        SkippedFile(each.file, each.unapplied_changes_reason)
        for each in deployed_together
        if each.unapplied_changes_reason
    ]
    active = tuple(rule for rule in rules if rule.id not in settings.off)
    names = {rule.id for rule in (*RULES, *rules)}
    kinds = {kind for rule in active for kind in rule.kinds}
    position = {file: index for index, file in enumerate(reading.files)}
    hits.sort(key=lambda hit: (position.get(hit.file, -1), hit.line, hit.column, hit.rule.id))
    return Report(
        hits=tuple(hits),
        skipped=(*reading.skipped, *unread),
        files=reading.files,
        resource_count=len(reading.items),
        checked_resources=sum(item.resource.group_kind in kinds for item in reading.items),
        rules=active,
        without_reason=ignores.without_reason,
        unknown_rules=tuple(each for each in ignores.rule_mentions if each.rules not in names),
        time_limit_reached=cut,
    )


def _located(
    finding: Finding,
    items: Mapping[int, Item],
    reading: LintInput,
    needed: tuple[Resource, Path] | None,
) -> Finding:
    """With its place; of a result that was not evaluated, the place of the unknown value."""
    about, where = needed or (finding.resource, finding.diagnostic.path)
    item = items.get(id(about))
    diagnostic = replace(finding.diagnostic, path=where)
    if item is None:
        file = reading.files[0] if reading.files else ""
        return replace(finding, diagnostic=diagnostic, file=file)
    line, column = item.place.position(where)
    in_document = _as_in_document(diagnostic, item.place)
    file = item.place.file
    return replace(finding, diagnostic=in_document, file=file, line=line, column=column)


def _as_in_document(diagnostic: Diagnostic, place: FileLocation) -> Diagnostic:
    """The diagnostic with the path and the names that the file has."""
    path, describe = place.document_path(diagnostic.path), place.with_document_names
    fix = diagnostic.fix and Fix(message=describe(diagnostic.fix.message))
    return replace(diagnostic, path=path, problem=describe(diagnostic.problem), fix=fix)


def _settled(
    finding: Finding, ignores: Ignores, baseline: Collection[str], samples: Collection[str]
) -> Finding:
    """With its state in the report, and the reason."""
    state, note = finding.state, finding.note
    if state is FindingState.FAILED:
        state = FindingState.OPEN
    elif state is FindingState.OPEN and finding.is_advisory:
        state, note = FindingState.ADVISORY, note or "advisory: not counted"
    if state is FindingState.OPEN:
        ignored = ignores.reason(finding.file, finding.line, finding.rule.id)
        if ignored is not None:
            state, note = FindingState.IGNORED, f"ignored: {ignored}"
        elif finding.fingerprint in baseline:
            state, note = FindingState.BASELINE, "in the baseline"
        elif finding.file in samples:
            state, note = FindingState.EXAMPLE, "in an example file: not counted"
    return replace(finding, state=state, note=note)
