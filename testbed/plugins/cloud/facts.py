"""Facts of the providers' types: `facts/`, made by `gather.py`.

`more.json` has facts that upstream's tables lack and graphs need, read manually in the provider's source.

A path is a field's name with dots, without list indexes: `taints.effect`.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Facts = Mapping[str, Any]
FOLDER = Path(__file__).parent / "facts"


@functools.cache
def table(cloud: str) -> Facts:
    """All facts of one cloud, `aws` or `gcp`."""
    read = json.loads((FOLDER / f"{cloud}.json").read_text(encoding="utf-8"))
    more = json.loads((FOLDER / "more.json").read_text(encoding="utf-8"))
    return {
        **read,
        "resources": {**read["resources"], **more.get(cloud, {})},
        "functions": {**read["functions"], **more["functions"].get(cloud, {})},
    }


def sdk(cloud: str) -> str:
    """The version of the provider that the facts are of."""
    return str(table(cloud)["sdk"]).rpartition(" ")[2]


def kinds(cloud: str) -> tuple[str, ...]:
    """The types of resources that this cloud has here."""
    return tuple(table(cloud)["resources"])


def resource(kind: str) -> Facts | None:
    """The facts of one type, or None for one that is not in the tables."""
    cloud = kind.partition(":")[0]
    if not (FOLDER / f"{cloud}.json").exists():
        return None
    result: Facts | None = table(cloud)["resources"].get(kind)
    return result


def function(token: str) -> Facts | None:
    """The facts of one function."""
    cloud = token.partition(":")[0]
    if not (FOLDER / f"{cloud}.json").exists():
        return None
    result: Facts | None = table(cloud)["functions"].get(token)
    return result


@functools.cache
def children(kind: str) -> Mapping[str, tuple[str, ...]]:
    """The names below each path of a type; "" is the resource itself."""
    below: dict[str, list[str]] = {}
    for path in (resource(kind) or {"inputs": ()})["inputs"]:
        holder, _, name = path.rpartition(".")
        below.setdefault(holder, []).append(name)
    return {holder: tuple(names) for holder, names in below.items()}
