"""Regenerate facts/: the clouds' own models of the calls in `sent.yaml`.

    python -m testbed.plugins.cloud.opinions.gather FOLDER

FOLDER has the wheels of botocore and google-api-python-client (both Apache-2.0): the first contains the
models from which AWS generates its SDKs, the second Google's discovery documents. Neither is installed.
"""

import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from testbed.plugins.cloud.opinions.bodies import SENT

FACTS = Path(__file__).parent / "facts"
_VERSIONS = {
    "compute": "v1",
    "container": "v1beta1",
    "cloudkms": "v1",
    "iam": "v1",
    "storage": "v1",
    "file": "v1",
    "servicenetworking": "v1",
}
_SCALARS = {
    "string": "text",
    "blob": "text",
    "timestamp": "text",
    "boolean": "flag",
    "integer": "whole",
    "long": "whole",
    "float": "number",
    "double": "number",
    "number": "number",
    "any": "any",
}


def main(folder: Path) -> None:
    """Write a file for each cloud, and print its sources."""
    FACTS.mkdir(exist_ok=True)
    for cloud, wheel, read in (
        ("aws", "botocore", _aws),
        ("gcp", "google_api_python_client", _google),
    ):
        path = next(iter(folder.glob(f"{wheel}-*.whl")))
        calls = sorted(
            {
                call
                for kind, sent in SENT.items()
                if kind.startswith(cloud)
                for call in sent["calls"]
            }
        )
        with ZipFile(path) as archive:
            tables = {"source": "-".join(path.name.split("-")[:2]), **read(archive, calls)}
        text = json.dumps(tables, indent=0, sort_keys=True)
        (FACTS / f"{cloud}.json").write_text(text + "\n", "utf-8")
        sys.stdout.write(f"{cloud}: {tables['source']}, {len(calls)} calls\n")


# ── AWS ───────────────────────────────────────────────────────────────────────────────────────────
def _aws(archive: ZipFile, calls: list[str]) -> dict[str, Any]:
    tables: dict[str, Any] = {"calls": {}, "shapes": {}}
    for service in sorted({call.partition(".")[0] for call in calls}):
        names = [
            n
            for n in archive.namelist()
            if n.startswith(f"botocore/data/{service}/") and n.endswith("service-2.json.gz")
        ]
        model = json.loads(gzip.decompress(archive.read(max(names))))
        for call in calls:
            if call.startswith(f"{service}."):
                shape = model["operations"][call.partition(".")[2]]["input"]["shape"]
                tables["calls"][call] = f"{service}.{shape}"
                _reach(service, shape, model["shapes"], tables["shapes"])
    return tables


def _reach(service: str, name: str, shapes: Mapping[str, Any], results: dict[str, Any]) -> None:
    """The shape, and all shapes that it uses."""
    key = f"{service}.{name}"
    if key in results:
        return
    shape = shapes[name]
    inner: list[str] = []
    created: dict[str, Any] = {}
    match shape["type"]:
        case "structure":
            members = {field: each["shape"] for field, each in shape["members"].items()}
            inner = list(members.values())
            created["members"] = {field: f"{service}.{each}" for field, each in members.items()}
            created["required"] = shape.get("required", [])
        case "list":
            inner = [shape["member"]["shape"]]
            created["each"] = f"{service}.{inner[0]}"
        case "map":
            inner = [shape["value"]["shape"]]
            created["values"] = f"{service}.{inner[0]}"
        case scalar:
            created["is"] = _SCALARS[scalar]
    created |= {word: shape[word] for word in ("enum", "pattern", "min", "max") if word in shape}
    results[key] = created
    for each in inner:
        _reach(service, each, shapes, results)


# ── Google ────────────────────────────────────────────────────────────────────────────────────────
def _google(archive: ZipFile, calls: list[str]) -> dict[str, Any]:
    tables: dict[str, Any] = {"calls": {call: call for call in calls}, "shapes": {}}
    for api in sorted({call.partition(".")[0] for call in calls}):
        name = f"googleapiclient/discovery_cache/documents/{api}.{_VERSIONS[api]}.json"
        schemas = json.loads(archive.read(name))["schemas"]
        for call in calls:
            if call.startswith(f"{api}."):
                _follow(call, {"$ref": call.partition(".")[2]}, schemas, tables["shapes"])
    return tables


def _follow(
    key: str, schema: Mapping[str, Any], schemas: Mapping[str, Any], results: dict[str, Any]
) -> None:
    """The schema under its key, and all schemas that it uses."""
    if key in results:
        return
    api = key.partition(".")[0]
    full = schemas[schema["$ref"]] if "$ref" in schema else schema
    created: dict[str, Any] = {}
    results[key] = created
    parts = dict(_parts(key, full))
    match full.get("type", "any"):
        case "object" if "properties" in full:
            created["members"] = {
                field: _named(api, f"{key}.{field}", each)
                for field, each in full["properties"].items()
            }
            created["required"] = []
        case "object":
            created["values"] = _named(api, f"{key}.*", full.get("additionalProperties", {}))
        case "array":
            created["each"] = _named(api, f"{key}.*", full["items"])
        case scalar:
            created["is"] = "whole" if "int" in full.get("format", "") else _SCALARS[scalar]
    created |= {word: full[word] for word in ("enum", "pattern") if word in full}
    for inner, each in parts.items():
        _follow(_named(api, inner, each), each, schemas, results)


def _named(api: str, inline: str, schema: Mapping[str, Any]) -> str:
    return f"{api}.{schema['$ref']}" if "$ref" in schema else inline


def _parts(key: str, full: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for field, each in full.get("properties", {}).items():
        yield f"{key}.{field}", each
    for word in ("items", "additionalProperties"):
        if word in full:
            yield f"{key}.*", full[word]
    if (
        full.get("type") == "object"
        and not full.get("properties")
        and "additionalProperties" not in full
    ):
        yield f"{key}.*", {}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
