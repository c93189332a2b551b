"""From the text of a stack file to a spec, or to everything that keeps it from being one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from gpuyard.errors import SpecError
from gpuyard.findings import Finding, Fix, Path, Severity, error, format_findings, has_errors
from gpuyard.spec.partial_spec import PartialSpec, read_partial, suppressed_findings
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.problems import format_input, validation_findings
from gpuyard.spec.region import (
    ENVIRONMENT,
    Credentials,
    Region,
    check_project,
    credentials_from,
    region_of,
)
from gpuyard.spec.sections.inventory import Files, with_inventories
from gpuyard.spec.suggestions import nearest_name
from gpuyard.spec.yaml_tree import Document, parse_yaml

CONFIG_KEY = "gpuyard:platform"
PLATFORM_PATH: Path = ("config", CONFIG_KEY)
"""Where a stack file has the platform."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a stack file says.

    `spec` is None exactly when a finding refuses. What can be judged of the platform is then `salvaged`:
    proofs run on it too, so that a user sees their refusals at once.
    """

    spec: PlatformSpec | None
    findings: tuple[Finding, ...]
    partial: PartialSpec = field(default_factory=PartialSpec)
    document: Document | None = None
    region: Region | None = None
    """Where the file has the cloud's provider work."""
    credentials: Credentials = ENVIRONMENT
    """In whose account it has it work."""

    @property
    def judged_part(self) -> PlatformSpec | None:
        """The platform, or what of it can be judged."""
        return self.spec or self.partial.spec

    def remaining_findings(self, findings: Iterable[Finding]) -> list[Finding]:
        """What the proofs say about the salvaged part, at the places of the file.

        A proof that misses something only because it was left out as malformed is not heard, and neither is
        one about a value that was mended: it is read again when somebody has mended it.
        """
        malformed = [f.path for f in self.findings]
        unheard = suppressed_findings(self.partial.dropped)
        placed = [self._placed(f) for f in findings if not f.id.startswith(unheard)]
        return [
            f
            for f in placed
            if f.severity is Severity.INFO or not any(p[: len(f.path)] == f.path for p in malformed)
        ]

    def _placed(self, finding: Finding) -> Finding:
        fix = finding.fix
        if fix is not None and fix.at is not None:
            fix = replace(fix, at=self._place(fix.at))
        return replace(finding, path=self._place(finding.path), fix=fix)

    def _place(self, path: Path) -> Path:
        match path:
            case (str(name), int(index), *rest) if name in self.partial.valid:
                return (name, self.partial.valid[name][index], *rest)
            case _:
                return path

    def line_of(self, path: Path) -> int | None:
        """The line of the stack file a finding's path stands in."""
        if self.document is None:
            return None
        is_in_config = path[:1] == PLATFORM_PATH[:1]
        return self.document.line_of(path if is_in_config else (*PLATFORM_PATH, *path))


def read_stack_file(data: bytes, name: str, files: Files | None = None) -> Reading:
    """Read a `Pulumi.<stack>.yaml`, and with `files` what it names; UsageError when it is not YAML at all."""
    document = parse_yaml(data, name)
    platform = platform_in(document.value)
    if platform is None:
        return Reading(None, (_no_platform(document.value),), document=document)
    early = [*_duplicates(document), *_secrets(platform)]
    reading = read_platform(platform, document.value["config"], files)
    secrets = [f.path for f in early if f.id == "spec.secret"]
    others = [f for f in reading.findings if not any(f.path[: len(p)] == p for p in secrets)]
    findings = (*early, *others)
    return _refused(replace(reading, findings=findings, document=document))


def _refused(reading: Reading) -> Reading:
    """Without a spec where something outside of it refuses; all of it can be judged then."""
    if reading.spec is None or not has_errors(reading.findings):
        return reading
    return replace(reading, spec=None, partial=PartialSpec(reading.spec))


def platform_in(root: Any) -> Any:
    """The `gpuyard:platform` value of a stack file that was parsed; None when there is none."""
    config = root.get("config") if isinstance(root, dict) else None
    return config.get(CONFIG_KEY) if isinstance(config, dict) else None


def read_platform(
    value: object, config: Mapping[str, object] | None = None, files: Files | None = None
) -> Reading:
    """Read the `gpuyard:platform` value, already parsed, and what the configuration beside it says."""
    value, skipped = with_inventories(value, files)
    reading = _read(value)
    if skipped:
        reading = _refused(replace(reading, findings=(*reading.findings, *skipped)))
    part = reading.judged_part
    if part is None:
        return reading
    zones = [zone for pool in part.pools for zone in pool.zones]
    region, wrong = region_of(config or {}, part.cloud.value, zones)
    findings = (*reading.findings, *wrong, *check_project(config or {}, part.cloud.value))
    signed = credentials_from(config or {})
    return _refused(replace(reading, findings=findings, region=region, credentials=signed))


def _read(value: object) -> Reading:
    if isinstance(value, PlatformSpec):
        return Reading(value, ())
    try:
        return Reading(PlatformSpec.model_validate(value), ())
    except ValidationError as e:
        findings = tuple(validation_findings(e, PlatformSpec, value))
        return Reading(None, findings, partial=read_partial(value))


def platform_spec(value: object) -> PlatformSpec:
    """A spec from a spec or a plain mapping, wherever it comes from; SpecError lists every finding."""
    reading = read_platform(value)
    if reading.spec is None:
        raise SpecError(f"the platform is not well-formed:\n{format_findings(reading.findings)}")
    return reading.spec


def _no_platform(root: object) -> Finding:
    value = (
        "an empty file"
        if root is None
        else format_input(root if not isinstance(root, dict) else list(root))
    )
    return error(
        "spec.no_platform",
        (),
        f"the file has no `config: {CONFIG_KEY}:`",
        value=value,
        allowed=f"a Pulumi stack file with the platform under `config: {CONFIG_KEY}:`",
        fix=Fix(message=_where_it_is(root)),
    )


def _where_it_is(root: object) -> str:
    """What is to be done where the platform stands, but elsewhere."""
    config = root.get("config") if isinstance(root, Mapping) else None
    match root, config:
        case _, {"gpuyard:platform": None}:
            return "it is empty: write the platform below it, indented"
        case _, {"gpuyard": {"platform": _}}:
            return f"write `{CONFIG_KEY}:` as one key, not two"
        case {"gpuyard:platform": _}, _:
            return "put `config:` above it, and indent it"
        case _, Mapping() if suggestion := nearest_name(CONFIG_KEY, _mappings(config)):
            return f"rename `{suggestion}:` to `{CONFIG_KEY}:`"
        case (({"pools": _} | {"cloud": _}), _):
            return f"put `config:` and below it `{CONFIG_KEY}:` above it, and indent it"
        case _:
            return "see README.md for a stack of twenty lines to start from"


def _mappings(config: Mapping[object, object]) -> list[str]:
    """The keys that a platform could stand under."""
    return [
        key for key, value in config.items() if isinstance(key, str) and isinstance(value, Mapping)
    ]


def _duplicates(document: Document) -> list[Finding]:
    return [
        error(
            "spec.duplicate_key",
            path[len(PLATFORM_PATH) :] if path[: len(PLATFORM_PATH)] == PLATFORM_PATH else path,
            f"the key stands twice in one mapping, again in line {line}",
            value=format_input(path[-1]),
            allowed="each key once",
            fix=Fix(message="keep one of them"),
        )
        for path, line in document.duplicates
    ]


def _secrets(platform: object) -> list[Finding]:
    """`secure:` makes the engine decrypt the whole object into the program: not in here."""
    results: list[Finding] = []
    todo: list[tuple[Path, Any]] = [((), platform)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict):
            if "secure" in value:
                results.append(_secret(path))
            todo.extend(((*path, k), v) for k, v in value.items())
        elif isinstance(value, list):
            todo.extend(((*path, i), v) for i, v in enumerate(value))
    return results


def _secret(path: Path) -> Finding:
    return error(
        "spec.secret",
        path,
        "a secret inside the platform would be shown in plans and states",
        value="secure: …",
        allowed="no secret in the platform; nothing in it needs one",
        fix=Fix(message="remove it; keep secrets in config keys of their own", at=path or None),
    )
