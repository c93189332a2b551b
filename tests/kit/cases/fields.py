"""Coverage of fields: few objects that together have all of them."""

from typing import Any

FREE = {"annotations", "data", "hard", "labels", "matchLabels", "nodeLabels", "nodeSelector"}
"""Keys below these are chosen by users; `requests` and `limits` are below `hard` or few."""


def fields(value: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Every path to a field; items of a list are one."""
    results = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            results |= {(*path, key)} | (set() if key in FREE else fields(inner, (*path, key)))
    elif isinstance(value, list):
        results = {each for inner in value for each in fields(inner, (*path, "[]"))}
    return results


def covering(objects: Any) -> list[dict[str, Any]]:
    """The objects, in order, that add a field to those seen before of their kind and version."""
    seen: set[tuple[str, ...]] = set()
    chosen = []
    for obj in objects:
        new = {(obj["apiVersion"], obj["kind"], *path) for path in fields(obj)} - seen
        if new:
            chosen.append(obj)
            seen |= new
    return chosen
