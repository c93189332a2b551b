"""Containers in the app-template form: by name, with the image in parts and variables by name."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import UNKNOWN, mapping
from gpuyard_lint.app_template.options import Options, container_options, enabled_parts
from gpuyard_lint.app_template.volumes import volume_mounts

_AS_THEY_ARE = ("envFrom", "ports", "resources", "restartPolicy", "securityContext", "workingDir")
_WORDS = ("command", "args")


def containers(
    values: Mapping[str, Any], controller: str, field: str, at: Path, places: dict[Path, Path]
) -> Iterator[dict[str, Any]]:
    """The containers of a controller under a field, as a list at a path of the object."""
    where = ("controllers", controller)
    value = mapping(values, *where)
    for index, name in enumerate(enabled_parts(value.get(field))):
        here = (*at, index)
        places[here] = (*where, field, name)
        options = container_options(value, where, field, name)
        container = _container(name, options, here, places)
        listed = [*volume_mounts(values, controller, name)]
        container["volumeMounts"] = [mount for mount, _ in listed]
        places |= {(*here, "volumeMounts", number): own for number, (_, own) in enumerate(listed)}
        yield container


def _container(name: str, options: Options, at: Path, places: dict[Path, Path]) -> dict[str, Any]:
    override, _ = options.get("nameOverride", (None, ()))
    result: dict[str, Any] = {"name": override or name}
    for key in _AS_THEY_ARE:
        if key in options:
            result[key], places[*at, key] = options[key]
    for key in _WORDS:
        if key in options:
            value, places[*at, key] = options[key]
            result[key] = [value] if isinstance(value, str) else value
    if "image" in options:
        value, where = options["image"]
        result |= _image(value, where, at, places)
    if "env" in options:
        value, where = options["env"]
        places[*at, "env"] = where
        result["env"] = _variables(value, where, (*at, "env"), places)
    return result


def _image(value: Any, where: Path, at: Path, places: dict[Path, Path]) -> dict[str, Any]:
    """The image as one text, located at its last part; the chart rejects one without a version."""
    parts = {key: mapping(value).get(key) for key in ("repository", "tag", "digest")}
    given = {key: each for key, each in parts.items() if each not in (None, "")}
    if "repository" not in given or len(given) == 1:
        return {}
    places[*at, "image"] = (*where, next(reversed(given)))
    pulled = mapping(value).get("pullPolicy")
    pull_policy = {"imagePullPolicy": pulled} if pulled else {}
    if UNKNOWN in given.values():
        return {"image": UNKNOWN, **pull_policy}
    tag = f":{given['tag']}" if "tag" in given else ""
    digest = f"@{given['digest']}" if "digest" in given else ""
    return {"image": f"{given['repository']}{tag}{digest}", **pull_policy}


def _variables(variables: Any, where: Path, at: Path, places: dict[Path, Path]) -> Any:
    """A list of variables; by name if written so, each with its value or its source."""
    if isinstance(variables, list):
        return [_variable(mapping(each).get("name"), each) for each in variables]
    if not isinstance(variables, Mapping):
        return variables
    for index, (name, value) in enumerate(variables.items()):
        places[*at, index] = (*where, name)
        if not isinstance(value, Mapping):
            places[*at, index, "value"] = (*where, name)
    return [_variable(name, value) for name, value in variables.items()]


def _variable(name: Any, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {"name": name, "value": _written(value)}
    fields = {key: each for key, each in value.items() if key not in ("name", "dependsOn")}
    if "value" in fields:
        return {"name": name, "value": _written(fields["value"])}
    return {"name": name, "valueFrom": fields.get("valueFrom", fields)}


def _written(value: Any) -> Any:
    """A variable's value is text, and the chart converts numbers and booleans."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
