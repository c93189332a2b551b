"""From the text of a stack file to a spec, or to everything that keeps it from being one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from gpuyard.errors import SpecError
from gpuyard.findings import Finding, Fix, Path, Severity, refuse, refused, show
from gpuyard.spec.nearest import nearest
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.problems import findings_of, show_given
from gpuyard.spec.region import ENVIRONMENT, Region, Signed, check_project, region_of, signed_by
from gpuyard.spec.salvage import Salvage, salvage, silenced
from gpuyard.spec.sections.dump import Files, with_dumps
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
    salvaged: Salvage = field(default_factory=Salvage)
    document: Document | None = None
    region: Region | None = None
    """Where the file has the cloud's provider work."""
    signed: Signed = ENVIRONMENT
    """In whose account it has it work."""

    @property
    def judged_part(self) -> PlatformSpec | None:
        """The platform, or what of it can be judged."""
        return self.spec or self.salvaged.spec

    def beside(self, findings: Iterable[Finding]) -> list[Finding]:
        """What the proofs say about the salvaged part, at the places of the file.

        A proof that misses something only because it was left out as malformed is not heard, and neither is
        one about a value that was mended: it is read again when somebody has mended it.
        """
        malformed = [f.path for f in self.findings]
        unheard = silenced(self.salvaged.lost)
        placed = [self._placed(f) for f in findings if not f.id.startswith(unheard)]
        return [
            f
            for f in placed
            if f.severity is Severity.NOTE or not any(p[: len(f.path)] == f.path for p in malformed)
        ]

    def _placed(self, finding: Finding) -> Finding:
        fix = finding.fix
        if fix is not None and fix.at is not None:
            fix = replace(fix, at=self._place(fix.at))
        return replace(finding, path=self._place(finding.path), fix=fix)

    def _place(self, path: Path) -> Path:
        match path:
            case (str(name), int(index), *rest) if name in self.salvaged.kept:
                return (name, self.salvaged.kept[name][index], *rest)
            case _:
                return path

    def line_of(self, path: Path) -> int | None:
        """The line of the stack file a finding's path stands in."""
        if self.document is None:
            return None
        beside = path[:1] == PLATFORM_PATH[:1]
        return self.document.line_of(path if beside else (*PLATFORM_PATH, *path))


def read_stack_file(data: bytes, name: str, files: Files | None = None) -> Reading:
    """Read a `Pulumi.<stack>.yaml`, and with `files` what it names; UsageError when it is not YAML at all."""
    document = parse_yaml(data, name)
    platform = platform_in(document.value)
    if platform is None:
        return Reading(None, (_no_platform(document.value),), document=document)
    early = [*_duplicates(document), *_secrets(platform)]
    reading = read_platform(platform, document.value["config"], files)
    secrets = [f.path for f in early if f.id == "spec.secret"]
    other = [f for f in reading.findings if not any(f.path[: len(p)] == p for p in secrets)]
    findings = (*early, *other)
    return _refused(replace(reading, findings=findings, document=document))


def _refused(reading: Reading) -> Reading:
    """Without a spec where something outside of it refuses; all of it can be judged then."""
    if reading.spec is None or not refused(reading.findings):
        return reading
    return replace(reading, spec=None, salvaged=Salvage(reading.spec))


def platform_in(root: Any) -> Any:
    """The `gpuyard:platform` value of a stack file that was parsed; None when there is none."""
    config = root.get("config") if isinstance(root, dict) else None
    return config.get(CONFIG_KEY) if isinstance(config, dict) else None


def read_platform(
    value: object, config: Mapping[str, object] | None = None, files: Files | None = None
) -> Reading:
    """Read the `gpuyard:platform` value, already parsed, and what the configuration beside it says."""
    value, unread = with_dumps(value, files)
    reading = _read(value)
    if unread:
        reading = _refused(replace(reading, findings=(*reading.findings, *unread)))
    part = reading.judged_part
    if part is None:
        return reading
    zones = [zone for pool in part.pools for zone in pool.zones]
    region, wrong = region_of(config or {}, part.cloud.value, zones)
    findings = (*reading.findings, *wrong, *check_project(config or {}, part.cloud.value))
    signed = signed_by(config or {})
    return _refused(replace(reading, findings=findings, region=region, signed=signed))


def _read(value: object) -> Reading:
    if isinstance(value, PlatformSpec):
        return Reading(value, ())
    try:
        return Reading(PlatformSpec.model_validate(value), ())
    except ValidationError as e:
        findings = tuple(findings_of(e, PlatformSpec, value))
        return Reading(None, findings, salvaged=salvage(value))


def platform_spec(value: object) -> PlatformSpec:
    """A spec from a spec or a plain mapping, wherever it comes from; SpecError lists every finding."""
    reading = read_platform(value)
    if reading.spec is None:
        raise SpecError(f"the platform is not well-formed:\n{show(reading.findings)}")
    return reading.spec


def _no_platform(root: object) -> Finding:
    given = (
        "an empty file"
        if root is None
        else show_given(root if not isinstance(root, dict) else list(root))
    )
    return refuse(
        "spec.no_platform",
        (),
        f"the file has no `config: {CONFIG_KEY}:`",
        given=given,
        allowed=f"a Pulumi stack file with the platform under `config: {CONFIG_KEY}:`",
        fix=Fix(says=_where_it_is(root)),
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
        case _, Mapping() if near := nearest(CONFIG_KEY, _mappings(config)):
            return f"rename `{near}:` to `{CONFIG_KEY}:`"
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
        refuse(
            "spec.duplicate_key",
            path[len(PLATFORM_PATH) :] if path[: len(PLATFORM_PATH)] == PLATFORM_PATH else path,
            f"the key stands twice in one mapping, again in line {line}",
            given=show_given(path[-1]),
            allowed="each key once",
            fix=Fix(says="keep one of them"),
        )
        for path, line in document.duplicates
    ]


def _secrets(platform: object) -> list[Finding]:
    """`secure:` makes the engine decrypt the whole object into the program: not in here."""
    found: list[Finding] = []
    todo: list[tuple[Path, Any]] = [((), platform)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict):
            if "secure" in value:
                found.append(_secret(path))
            todo.extend(((*path, k), v) for k, v in value.items())
        elif isinstance(value, list):
            todo.extend(((*path, i), v) for i, v in enumerate(value))
    return found


def _secret(path: Path) -> Finding:
    return refuse(
        "spec.secret",
        path,
        "a secret inside the platform would be shown in plans and states",
        given="secure: …",
        allowed="no secret in the platform; nothing in it needs one",
        fix=Fix(says="remove it; keep secrets in config keys of their own", at=path or None),
    )
