"""Reads a stack file into a spec, or into findings with every error."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from gpuyard.spec.late_inputs import marker_findings
from gpuyard.spec.partial_spec import SalvagedSpec, placed, salvage_spec, suppressed_findings
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.region import (
    ENVIRONMENT,
    CloudAccount,
    Region,
    account_from_config,
    check_project,
    region_of,
)
from gpuyard.spec.sections.inventory import Files, with_inventories
from gpuyard_core.errors import SpecError
from gpuyard_core.findings import (
    Diagnostic,
    Fix,
    Path,
    Severity,
    error,
    format_findings,
    has_errors,
)
from gpuyard_core.models.problems import format_input, validation_findings
from gpuyard_core.stack_files import CONFIG_KEY, PLATFORM_PATH, platform_in
from gpuyard_core.suggestions import nearest_name
from gpuyard_core.yaml_tree import Document, parse_yaml


@dataclass(frozen=True, slots=True)
class ParsedStackFile:
    """The content of a stack file.

    `spec` is None exactly when a finding is an error. `partial` then holds the part that can be checked:
    checks run on it too, so that a user sees all their errors at once.
    """

    spec: PlatformSpec | None
    findings: tuple[Diagnostic, ...]
    partial: SalvagedSpec = field(default_factory=SalvagedSpec)
    document: Document | None = None
    region: Region | None = None
    """The region that the file configures for the cloud's provider."""
    account: CloudAccount = ENVIRONMENT
    """The account that the file configures for the cloud's provider."""

    @property
    def checkable_spec(self) -> PlatformSpec | None:
        """The platform, or the part of it that can be checked."""
        return self.spec or self.partial.spec

    def remaining_findings(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The findings on the partial spec, with paths in the file.

        Findings that may be caused only by a dropped malformed part are suppressed, and so are those on a
        value with an assumed fix: they are checked again once you have fixed it.
        """
        malformed = [f.path for f in self.findings]
        unheard = suppressed_findings(self.partial.dropped)
        moved = [self._placed(f) for f in findings if not f.id.startswith(unheard)]
        return [
            f
            for f in moved
            if f.severity is Severity.INFO or not any(p[: len(f.path)] == f.path for p in malformed)
        ]

    def _placed(self, finding: Diagnostic) -> Diagnostic:
        fix = finding.fix
        if fix is not None and fix.at is not None:
            fix = replace(fix, at=placed(fix.at, self.partial.kept_indexes))
        return replace(finding, path=placed(finding.path, self.partial.kept_indexes), fix=fix)

    def line_of(self, path: Path) -> int | None:
        """The line of a finding's path in the stack file."""
        if self.document is None:
            return None
        is_in_config = path[:1] == PLATFORM_PATH[:1]
        return self.document.line_of(path if is_in_config else (*PLATFORM_PATH, *path))


def read_stack_file(data: bytes, name: str, files: Files | None = None) -> ParsedStackFile:
    """Read a `Pulumi.<stack>.yaml`, and with `files` the files it names; UsageError if it is not YAML."""
    document = parse_yaml(data, name)
    platform = platform_in(document.value)
    if platform is None:
        return ParsedStackFile(None, (_no_platform(document.value),), document=document)
    early = [*duplicate_keys(document), *_secrets(platform), *marker_findings(platform)]
    reading = read_platform(platform, document.value["config"], files)
    alone = [f.path for f in early if f.id in {"spec.secret", "spec.late_input"}]
    others = [f for f in reading.findings if not any(f.path[: len(p)] == p for p in alone)]
    findings = (*early, *others)
    return _refused(replace(reading, findings=findings, document=document))


def _refused(reading: ParsedStackFile) -> ParsedStackFile:
    """Moves the spec to `partial` when an error outside the spec rejects the stack file."""
    if reading.spec is None or not has_errors(reading.findings):
        return reading
    return replace(reading, spec=None, partial=SalvagedSpec(reading.spec))


def read_platform(
    value: object, config: Mapping[str, object] | None = None, files: Files | None = None
) -> ParsedStackFile:
    """Read the parsed `gpuyard:platform` value and the other configuration keys of the stack."""
    value, skipped = with_inventories(value, files)
    reading = _read(value)
    if skipped:
        reading = _refused(replace(reading, findings=(*reading.findings, *skipped)))
    part = reading.checkable_spec
    if part is None:
        return reading
    zones = [zone for pool in part.pools for zone in pool.zones]
    region, wrong = region_of(config or {}, part.cloud.value, zones)
    findings = (*reading.findings, *wrong, *check_project(config or {}, part.cloud.value))
    signed = account_from_config(config or {})
    return _refused(replace(reading, findings=findings, region=region, account=signed))


def _read(value: object) -> ParsedStackFile:
    if isinstance(value, PlatformSpec):
        return ParsedStackFile(value, ())
    try:
        return ParsedStackFile(PlatformSpec.model_validate(value), ())
    except ValidationError as e:
        findings = tuple(validation_findings(e, PlatformSpec, value))
        return ParsedStackFile(None, findings, partial=salvage_spec(value))


def platform_spec(value: object) -> PlatformSpec:
    """A spec from a spec or a plain mapping; SpecError lists every finding."""
    reading = read_platform(value)
    if reading.spec is None:
        raise SpecError(f"the platform is invalid:\n{format_findings(reading.findings)}")
    return reading.spec


def _no_platform(root: object) -> Diagnostic:
    given = format_input(list(root) if isinstance(root, dict) else root)
    return error(
        "spec.no_platform",
        (),
        f"the file has no `config: {CONFIG_KEY}:`",
        given="an empty file" if root is None else given,
        allowed=f"a Pulumi stack file with the platform under `config: {CONFIG_KEY}:`",
        fix=Fix(message=_where_it_is(root)),
    )


def _where_it_is(root: object) -> str:
    """The fix when the platform is in another place of the file."""
    config = root.get("config") if isinstance(root, Mapping) else None
    keys: list[str] = []
    if isinstance(config, Mapping):
        keys = [k for k, v in config.items() if isinstance(k, str) and isinstance(v, Mapping)]
    match root, config:
        case _, {"gpuyard:platform": None}:
            return "it is empty: write the platform below it, indented"
        case _, {"gpuyard": {"platform": _}}:
            return f"write `{CONFIG_KEY}:` as one key, not two"
        case {"gpuyard:platform": _}, _:
            return "put it below `config:`, indented"
        case _, Mapping() if suggestion := nearest_name(CONFIG_KEY, keys):
            return f"rename `{suggestion}:` to `{CONFIG_KEY}:`"
        case (({"pools": _} | {"cloud": _}), _):
            return f"put it below `config:` and `{CONFIG_KEY}:`, indented"
        case _:
            return "write one with `gpuyard init`; `pulumi preview` checks a platform that a program defines"


def duplicate_keys(document: Document) -> list[Diagnostic]:
    """A finding for each key that occurs twice in one mapping."""
    return [
        error(
            "spec.duplicate_key",
            path[len(PLATFORM_PATH) :] if path[: len(PLATFORM_PATH)] == PLATFORM_PATH else path,
            f"duplicate key in one mapping, again in line {line}",
            given=format_input(path[-1]),
            allowed="each key once",
            fix=Fix(message="keep one of them"),
        )
        for path, line in document.duplicates
    ]


def _secrets(platform: object) -> list[Diagnostic]:
    """Rejects `secure:`, with which the engine decrypts the whole object into the program."""
    results: list[Diagnostic] = []
    todo: list[tuple[Path, Any]] = [((), platform)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict):
            if "secure" in value:
                results.append(
                    error(
                        "spec.secret",
                        path,
                        "a secret inside the platform would appear in plans and state files",
                        given="secure: …",
                        allowed="no secret; no field of the platform needs one",
                        fix=Fix(
                            message="remove it; keep secrets in separate config keys",
                            at=path or None,
                        ),
                    )
                )
            todo.extend(((*path, k), v) for k, v in value.items())
        elif isinstance(value, list):
            todo.extend(((*path, i), v) for i, v in enumerate(value))
    return results
