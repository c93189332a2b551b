"""Containers as app-template has them: by name, the image in parts, the variables by name."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard.findings import Path
from gpuyard.lint.app_template.options import Options, of_container, there
from gpuyard.lint.app_template.volumes import mounts
from gpuyard.manifests.fields import UNKNOWN, mapping

_AS_THEY_ARE = ("envFrom", "ports", "resources", "restartPolicy", "securityContext", "workingDir")
_WORDS = ("command", "args")


def containers(
    values: Mapping[str, Any], controller: str, field: str, at: Path, places: dict[Path, Path]
) -> Iterator[dict[str, Any]]:
    """Those of a controller under a field, for a list that stands at a path of the object."""
    where = ("controllers", controller)
    given = mapping(values, *where)
    for index, name in enumerate(there(given.get(field))):
        here = (*at, index)
        places[here] = (*where, field, name)
        options = of_container(given, where, field, name)
        made = _container(name, options, here, places)
        listed = [*mounts(values, controller, name)]
        made["volumeMounts"] = [mount for mount, _ in listed]
        places |= {(*here, "volumeMounts", number): own for number, (_, own) in enumerate(listed)}
        yield made


def _container(name: str, options: Options, at: Path, places: dict[Path, Path]) -> dict[str, Any]:
    override, _ = options.get("nameOverride", (None, ()))
    made: dict[str, Any] = {"name": override or name}
    for key in _AS_THEY_ARE:
        if key in options:
            made[key], places[*at, key] = options[key]
    for key in _WORDS:
        if key in options:
            given, places[*at, key] = options[key]
            made[key] = [given] if isinstance(given, str) else given
    if "image" in options:
        given, where = options["image"]
        made |= _image(given, where, at, places)
    if "env" in options:
        given, where = options["env"]
        places[*at, "env"] = where
        made["env"] = _variables(given, where, (*at, "env"), places)
    return made


def _image(given: Any, where: Path, at: Path, places: dict[Path, Path]) -> dict[str, Any]:
    """The image as one text, told where its last part stands; the chart refuses one without a version."""
    parts = {key: mapping(given).get(key) for key in ("repository", "tag", "digest")}
    said = {key: each for key, each in parts.items() if each not in (None, "")}
    if "repository" not in said or len(said) == 1:
        return {}
    places[*at, "image"] = (*where, next(reversed(said)))
    pulled = mapping(given).get("pullPolicy")
    kept = {"imagePullPolicy": pulled} if pulled else {}
    if UNKNOWN in said.values():
        return {"image": UNKNOWN, **kept}
    tag = f":{said['tag']}" if "tag" in said else ""
    digest = f"@{said['digest']}" if "digest" in said else ""
    return {"image": f"{said['repository']}{tag}{digest}", **kept}


def _variables(given: Any, where: Path, at: Path, places: dict[Path, Path]) -> Any:
    """A list of them; by name where they stand so, each name with its value or where that comes from."""
    if isinstance(given, list):
        return [_variable(mapping(each).get("name"), each) for each in given]
    if not isinstance(given, Mapping):
        return given
    for index, (name, value) in enumerate(given.items()):
        places[*at, index] = (*where, name)
        if not isinstance(value, Mapping):
            places[*at, index, "value"] = (*where, name)
    return [_variable(name, value) for name, value in given.items()]


def _variable(name: Any, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        return {"name": name, "value": _written(given)}
    said = {key: each for key, each in given.items() if key not in ("name", "dependsOn")}
    if "value" in said:
        return {"name": name, "value": _written(said["value"])}
    return {"name": name, "valueFrom": said.get("valueFrom", said)}


def _written(value: Any) -> Any:
    """A value of a variable is text, and the chart writes numbers and truths as such."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
