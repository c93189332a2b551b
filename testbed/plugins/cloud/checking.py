"""Validation by a provider before it calls its cloud: `refusals`, for every graph and each Check.

Each error names the path, the value and what is allowed. An unknown value passes, like in the provider;
it counts as given where fields exclude each other.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from testbed.plugins.cloud import facts, limits, rules
from testbed.plugins.cloud.facts import Facts
from testbed.plugins.kubernetes.values import UNKNOWN, Unknown

_LATE = {
    "UnresolvedOutput",
    "Joined",
    "Json",
    "Base64",
}
_SHOWN = 120  # characters of a value in a message


def refusals(kind: str, inputs: Mapping[str, Any]) -> list[str]:
    """Errors of the provider or its cloud for these inputs, of a graph or the engine; none if valid."""
    plain = known(inputs)
    return [*of_provider(kind, plain), *of_service(kind, plain)]


def of_provider(kind: str, inputs: Mapping[str, Any]) -> list[str]:
    """Errors of the provider itself, in Check."""
    about = facts.resource(kind)
    if about is None:
        suggestion = nearest(kind, facts.kinds(kind.partition(":")[0]) if ":" in kind else ())
        return [f"{kind}: no such type here{suggestion}"]
    results = [*_walked(kind, about, inputs).found, *rules.of_provider(kind, inputs)]
    return list(dict.fromkeys(results))


def of_service(kind: str, inputs: Mapping[str, Any]) -> list[str]:
    """Errors of the cloud; its provider does not check these."""
    about = facts.resource(kind)
    if about is None:
        return []
    return [*_walked(kind, about, inputs).later, *rules.of_service(kind, inputs)]


def _walked(kind: str, about: Facts, inputs: Mapping[str, Any]) -> "_Walk":
    walk = _Walk(kind, about["inputs"])
    walk.fields("", "", inputs, ())
    return walk


# ── values of graphs ──────────────────────────────────────────────────────────────────────────────
def known(value: Any) -> Any:
    """The same tree with UNKNOWN for each late value, and for text that contains one."""
    if type(value).__name__ in _LATE and type(value).__module__.startswith("gpuyard."):
        return _settled(value)
    if isinstance(value, Mapping):
        return {key: known(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [known(each) for each in value]
    return value


def _settled(value: Any) -> Any:
    from gpuyard.render.cloud.graph import late_value_names, resolve_values

    return UNKNOWN if any(late_value_names(value)) else resolve_values(value, str)


# ── the walk ──────────────────────────────────────────────────────────────────────────────────────
# The objects above a value by their path, nearest last: where the names in `conflicts` are looked up.
Above = tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass
class _Walk:
    kind: str
    paths: Mapping[str, Facts]
    found: list[str] = field(default_factory=list[str])
    later: list[str] = field(default_factory=list[str])

    def _refuse(self, where: str, value: Any, allowed: str) -> None:
        self.found.append(self._said(where, value, allowed))

    def _said(self, where: str, value: Any, allowed: str) -> str:
        return f"{self.kind}: {where} is {_shown(value)}; allowed: {allowed}"

    def fields(self, path: str, where: str, inputs: Mapping[str, Any], above: Above) -> None:
        """The fields of one object: unknown ones, missing ones, and each given one."""
        names = facts.children(self.kind).get(path, ())
        if not names:
            return  # a block whose fields are not in the tables
        here = (*above, (path, inputs))
        for name in inputs:
            if name not in names and not name.startswith("__") and inputs[name] is not None:
                suggestion = nearest(name, names)
                self.found.append(f"{self.kind}: {_join(where, name)} is no field{suggestion}")
        for name in names:
            inner, spot = _join(path, name), _join(where, name)
            about = self.paths[inner]
            self._together(inner, spot, about, inputs.get(name), here)
            if inputs.get(name) is not None:
                self._value(inner, spot, about, inputs[name], here)
            elif about.get("required"):
                self.found.append(f"{self.kind}: {spot} is missing; it is required")

    def _value(self, path: str, where: str, about: Facts, value: Any, above: Above) -> None:
        if isinstance(value, Unknown):
            return
        type_ = about["type"]
        if type_.startswith("["):
            self._list(path, where, about, value, above)
        elif type_.startswith("{"):
            self._map(where, about, value)
        else:
            self._single(path, where, about, type_, value, above)

    def _single(
        self, path: str, where: str, about: Facts, type_: str, value: Any, above: Above
    ) -> None:
        if isinstance(value, Unknown):
            return
        if not limits.of_type(value, type_):
            self._refuse(where, value, _TYPE_WORDS[type_])
        elif type_ == "object":
            self.fields(path, where, value, above)
        else:
            for allowed in limits.broken(value, about):
                self._refuse(where, value, allowed)
            if value not in about.get("apiEnum", (value,)):
                self.later.append(self._said(where, value, f"one of {', '.join(about['apiEnum'])}"))

    def _list(self, path: str, where: str, about: Facts, value: Any, above: Above) -> None:
        type_ = about["type"][1:-1]
        if not isinstance(value, list):
            self._refuse(where, value, f"a list of {_TYPE_WORDS[type_]}")
            return
        if len(value) < about.get("minItems", 0):
            self._refuse(where, value, f"{about['minItems']} items or more")
        if len(value) > about.get("maxItems", len(value)):
            self._refuse(where, value, f"{about['maxItems']} items or less")
        for place, each in enumerate(value):
            item = {**about.get("items", {}), **_of_items(about)}
            self._single(path, f"{where}[{place}]", item, type_, each, above)

    def _map(self, where: str, about: Facts, value: Any) -> None:
        if not isinstance(value, Mapping):
            self._refuse(where, value, "keys and values")
            return
        if "check" in about and not limits.CHECKS[about["check"]][1](value):
            self._refuse(where, value, limits.CHECKS[about["check"]][0])
        for key, each in value.items():
            if not isinstance(each, Unknown) and not limits.of_type(each, about["type"][1:-1]):
                self._refuse(f'{where}["{key}"]', each, _TYPE_WORDS[about["type"][1:-1]])

    def _together(self, path: str, where: str, about: Facts, value: Any, above: Above) -> None:
        """Fields that exclude, need or replace each other."""
        if value is not None:
            for other in about.get("conflicts", ()):
                if other != path and _there(other, above):
                    both = " and ".join(sorted((path, other)))
                    self.found.append(f"{self.kind}: {both} exclude each other; give one")
            for other in about.get("requiredWith", ()):
                if not _there(other, above):
                    self.found.append(f"{self.kind}: {where} needs {other} beside it")
        for key, expected, bad in _CHOICES:
            names = about.get(key, ())
            if names and bad(sum(_there(name, above) for name in names)):
                self.found.append(f"{self.kind}: {expected} of {', '.join(names)}")


def _of_items(about: Facts) -> Facts:
    return {"apiEnum": about["apiEnum"]} if "apiEnum" in about else {}


_TYPE_WORDS = {
    "string": "text",
    "bool": "true or false",
    "int": "a whole number",
    "number": "a number",
    "object": "an object",
}
_CHOICES: tuple[tuple[str, str, Callable[[int], bool]], ...] = (
    ("exactlyOneOf", "give exactly one", lambda number: number != 1),
    ("atLeastOneOf", "give at least one", lambda number: number < 1),
)


def _there(path: str, above: Above) -> bool:
    """Whether a field is given, looked up in the nearest object above that has it."""
    for prefix, holder in reversed(above):
        if not prefix or path.startswith(f"{prefix}."):
            rest = path[len(prefix) + 1 :] if prefix else path
            return _given(holder, rest.split("."))
    return False


def _given(value: Any, steps: list[str]) -> bool:
    if isinstance(value, list):
        return any(_given(each, steps) for each in value)
    if not steps or isinstance(value, Unknown):
        return value is not None
    return isinstance(value, Mapping) and _given(value.get(steps[0]), steps[1:])


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def nearest(name: str, names: tuple[str, ...]) -> str:
    """The end of an error that suggests the nearest name."""
    suggestion = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; the nearest is {suggestion[0]}" if suggestion else ""


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
