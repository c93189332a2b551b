"""Fixes for pools, teams and shapes whose name is in use."""

import hashlib
import json
from collections.abc import Collection, Iterable
from itertools import count

from gpuyard.spec.platform import PlatformSpec, Shape
from gpuyard.spec.pools import Pool
from gpuyard.spec.teams import Team
from gpuyard_core.findings import Fix, Path
from gpuyard_core.models.values import NAME_LENGTH
from gpuyard_core.suggestions import nearest_name


def rename_fix(
    named: Pool | Team | Shape, used: Collection[str], path: Path, wish: str = ""
) -> Fix:
    """The change after which no other has the name, or the name that its objects keep.

    `used` are the names that others have or had; `wish` is tried before a numbered name.
    """
    name, formerly = named.name, () if isinstance(named, Shape) else named.previous_names
    free = wish if wish and wish not in used else free_name(name, used)
    if not formerly or formerly[0] not in used:
        return Fix.write(free, (*path, "name"))
    if name not in used:
        return Fix(message="remove `previous_names`", at=(*path, "previous_names"))
    fields = named.model_dump(mode="json", exclude_unset=True, exclude={"previous_names"})
    return Fix(
        message=f"write {free} and remove `previous_names`",
        at=path,
        value=fields | {"name": free},
    )


def nearest_fix(value: str, known: Iterable[str], at: Path, otherwise: Fix | None = None) -> Fix:
    """The fix that writes the nearest known name; if none is near, by default the one that removes the value."""
    suggestion = nearest_name(value, known)
    return Fix.write(suggestion, at) if suggestion else otherwise or Fix.remove(at)


def free_name(name: str, used: Collection[str]) -> str:
    """The name with the lowest number that makes it unique, within the length limit."""
    numbered = (f"{name[: NAME_LENGTH - len(f'-{n}')].rstrip('-')}-{n}" for n in count(2))
    return next(free for free in numbered if free not in used)


def spec_digest(spec: PlatformSpec) -> str:
    """Twelve hexadecimal digits of the spec's canonical form."""
    canonical = json.dumps(spec.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def short_digest(*parts: object) -> str:
    """Six hexadecimal digits of plain values, for names that change with their content."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:6]
