"""YAML text with the same bytes for the same value, and the usual order of fields of objects."""

from typing import Any

import yaml

_FIRST = ("apiVersion", "kind", "metadata", "name", "namespace")


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # either class, chosen at run time
    """Block style for several lines, no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  PyYAML's signature
        return True


def _text(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def yaml_text(value: Any) -> str:
    """One YAML document."""
    return str(
        yaml.dump(
            in_reading_order(value), Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True
        )
    )


def yaml_documents(values: list[Any]) -> str:
    """Several documents, separated."""
    return "---\n".join(yaml_text(v) for v in values)


def in_reading_order(value: Any) -> Any:
    """The usual first fields of an object first; all others keep their order."""
    if isinstance(value, dict):
        keys = [k for k in _FIRST if k in value] + [k for k in value if k not in _FIRST]
        return {k: in_reading_order(value[k]) for k in keys}
    if isinstance(value, list | tuple):
        return [in_reading_order(v) for v in value]
    return value
