"""Volumes in the app-template form: each once, under `persistence`, with the containers that mount it."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Path
from gpuyard_core.manifests.fields import items, mapping
from gpuyard_lint.app_template.options import enabled_parts

_PERSISTENCE = "persistence"
_OF_ALL, _OF_SOME = "globalMounts", "advancedMounts"
_CLAIM = "persistentVolumeClaim"
_OF_MOUNTS = ("subPath", "subPathExpr", "readOnly", "mountPropagation")


def volumes(
    values: Mapping[str, Any], controller: str, at: Path, places: dict[Path, Path]
) -> list[dict[str, Any]]:
    """The volumes of a controller's pod, as a list at a path of the object."""
    results: list[dict[str, Any]] = []
    for name, value in enabled_parts(values.get(_PERSISTENCE)).items():
        if _is_mounted(value, controller):
            here, own = (*at, len(results)), (_PERSISTENCE, name)
            places[here] = own
            results.append({**_source(value, here, own, places), "name": name})
    return results


def volume_mounts(
    values: Mapping[str, Any], controller: str, container: str
) -> Iterator[tuple[dict[str, Any], Path]]:
    """The mounts of a container, with their paths in the values."""
    for name, value in enabled_parts(values.get(_PERSISTENCE)).items():
        own: Path = (_PERSISTENCE, name)
        usual = value.get("hostPath") if value.get("type") == "hostPath" else f"/{name}"
        for each, where in _mounted(value, own, controller, container):
            fields = {key: each[key] for key in _OF_MOUNTS if key in each}
            yield {"name": name, "mountPath": each.get("path") or usual, **fields}, where


def _mounted(
    options: Mapping[str, Any], own: Path, controller: str, container: str
) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """The default: a volume is mounted in all containers, at its own path."""
    if not (options.get(_OF_ALL) or options.get(_OF_SOME)):
        yield {}, own
    for field in ((_OF_ALL,), (_OF_SOME, controller, container)):
        for index, each in enumerate(items(options, *field)):
            yield mapping(each), (*own, *field, index)


def _is_mounted(options: Mapping[str, Any], controller: str) -> bool:
    some = mapping(options, _OF_SOME)
    return bool(options.get(_OF_ALL) or not some or some.get(controller))


def _source(
    options: Mapping[str, Any], at: Path, own: Path, places: dict[Path, Path]
) -> dict[str, Any]:
    """The source of the volume; if rules do not check its type, only the type."""
    sort = options.get("type") or _CLAIM
    if sort == "emptyDir":
        places[*at, sort] = own
        return {sort: {key: options[key] for key in ("medium", "sizeLimit") if options.get(key)}}
    if sort == "hostPath":
        places[*at, sort] = places[*at, sort, "path"] = (*own, sort)
        fields = {"type": options["hostPathType"]} if options.get("hostPathType") else {}
        return {sort: {"path": options.get(sort), **fields}}
    if sort == "custom":
        places[at] = (*own, "volumeSpec")
        return dict(mapping(options, "volumeSpec"))
    return {str(sort): {}}
