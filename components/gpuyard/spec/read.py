"""From the text of a stack file to a spec, or to everything that keeps it from being one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from gpuyard.errors import SpecError
from gpuyard.findings import Finding, Fix, Path, refuse, refused, show
from gpuyard.spec.platform import PlatformSpec
from gpuyard.spec.problems import findings_of, show_given
from gpuyard.spec.region import Region, region_of
from gpuyard.spec.yaml_tree import Document, parse_yaml

CONFIG_KEY = "gpuyard:platform"
PLATFORM_PATH: Path = ("config", CONFIG_KEY)
"""Where a stack file has the platform."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a stack file says.

    `spec` is None exactly when a finding refuses. `sound_part` is then the part of the platform that
    is well-formed, if there is one: proofs run on it too, so that a user sees their refusals at once.
    """

    spec: PlatformSpec | None
    findings: tuple[Finding, ...]
    sound_part: PlatformSpec | None = None
    document: Document | None = None
    region: Region | None = None
    """Where the file has the cloud's provider work."""
    kept: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """For each list of the sound part, which items of the file it holds."""

    def beside(self, findings: Iterable[Finding]) -> list[Finding]:
        """What the proofs say about the sound part, at the places of the file.

        A proof that misses something only because it was left out as malformed is not heard.
        """
        malformed = [f.path for f in self.findings]
        placed = [self._placed(f) for f in findings]
        return [f for f in placed if not any(p[: len(f.path)] == f.path for p in malformed)]

    def _placed(self, finding: Finding) -> Finding:
        fix = finding.fix
        if fix is not None and fix.at is not None:
            fix = replace(fix, at=self._place(fix.at))
        return replace(finding, path=self._place(finding.path), fix=fix)

    def _place(self, path: Path) -> Path:
        match path:
            case (str(name), int(index), *rest) if name in self.kept:
                return (name, self.kept[name][index], *rest)
            case _:
                return path

    def line_of(self, path: Path) -> int | None:
        """The line of the stack file a finding's path stands in."""
        if self.document is None:
            return None
        beside = path[:1] == PLATFORM_PATH[:1]
        return self.document.line_of(path if beside else (*PLATFORM_PATH, *path))


def read_stack_file(data: bytes, name: str) -> Reading:
    """Read a `Pulumi.<stack>.yaml`; UsageError when it is not YAML at all."""
    document = parse_yaml(data, name)
    platform = platform_in(document.value)
    if platform is None:
        return Reading(None, (_no_platform(document.value),), document=document)
    early = [*_duplicates(document), *_secrets(platform)]
    reading = read_platform(platform, document.value["config"])
    secrets = [f.path for f in early if f.id == "spec.secret"]
    other = [f for f in reading.findings if not any(f.path[: len(p)] == p for p in secrets)]
    findings = (*early, *other)
    spec = None if refused(findings) else reading.spec
    return replace(reading, spec=spec, findings=findings, document=document)


def platform_in(root: Any) -> Any:
    """The `gpuyard:platform` value of a stack file that was parsed; None when there is none."""
    config = root.get("config") if isinstance(root, dict) else None
    return config.get(CONFIG_KEY) if isinstance(config, dict) else None


def read_platform(value: object, config: Mapping[str, object] | None = None) -> Reading:
    """Read the `gpuyard:platform` value, already parsed, and the region in the configuration beside it."""
    reading = _read(value)
    part = reading.spec or reading.sound_part
    if part is None:
        return reading
    region, wrong = region_of(config or {}, part.cloud.value)
    spec = None if wrong else reading.spec
    findings = (*reading.findings, *wrong)
    return replace(reading, spec=spec, sound_part=part, findings=findings, region=region)


def _read(value: object) -> Reading:
    if isinstance(value, PlatformSpec):
        return Reading(value, ())
    try:
        return Reading(PlatformSpec.model_validate(value), ())
    except ValidationError as e:
        findings = tuple(findings_of(e, PlatformSpec, value))
        sound, kept = _sound_part(value, findings)
        return Reading(None, findings, sound, kept=kept)


def platform_spec(value: object) -> PlatformSpec:
    """A spec from a spec or a plain mapping; SpecError lists every finding."""
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
        fix=Fix(says="see README.md for a stack of twenty lines to start from"),
    )


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


_LISTS = ("pools", "teams", "shapes")


def _sound_part(
    value: object, findings: tuple[Finding, ...]
) -> tuple[PlatformSpec | None, dict[str, tuple[int, ...]]]:
    """The platform without the pools, teams and shapes that are not well-formed, if that is one.

    What refers to a pool left out is left out as well, so that nothing is blamed twice.
    """
    if not isinstance(value, Mapping):
        return None, {}
    rest: dict[str, Any] = {k: v for k, v in value.items() if isinstance(k, str)}
    bad: dict[str, set[int]] = {name: set() for name in _LISTS}
    for finding in findings:
        match finding.path:
            case (str(name), int(index), *_) if name in bad:
                bad[name].add(index)
            case (str(name), *_) if name not in _LISTS:
                rest.pop(name, None)
            case _:
                return None, {}
    lost = _names(rest.get("pools"), bad["pools"])
    if lost is None:
        return None, {}
    kept: dict[str, tuple[int, ...]] = {}
    for name in _LISTS:
        if isinstance(items := rest.get(name), list | tuple):
            good = (i for i in range(len(items)) if i not in bad[name])
            kept[name] = tuple(i for i in good if not _mentions(items[i], lost))
            rest[name] = [items[i] for i in kept[name]]
    try:
        return PlatformSpec.model_validate(rest), kept
    except ValidationError:
        return None, {}


def _names(pools: object, indexes: set[int]) -> set[str] | None:
    """The names of the pools left out; None when one of them has no readable name."""
    names: set[str] = set()
    for index in indexes:
        pool = pools[index] if isinstance(pools, list | tuple) else None
        name = pool.get("name") if isinstance(pool, Mapping) else None
        if not isinstance(name, str):
            return None
        names.add(name)
    return names


def _mentions(item: object, lost: set[str]) -> bool:
    """True when a team or a shape refers to one of these pools."""
    if not isinstance(item, dict):
        return False
    shares = (item.get(k) for k in ("guarantee", "borrow", "lend"))
    keys = [key for share in shares if isinstance(share, dict) for key in share]
    if any(str(key).partition("/")[0] in lost for key in keys):
        return True
    is_shape = "gpus_per_node" in item or "per_pod" in item
    return item.get("pool") in lost or (is_shape and bool(lost) and "pool" not in item)
