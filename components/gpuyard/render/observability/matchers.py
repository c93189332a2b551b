"""Label matchers of a selector: which values they accept."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_core.catalogue.metrics import Label

_NAME = "__name__"
_VARIABLE = "$"
"""A dashboard's variable in a value: any value is possible."""


def matchers_by_label(selector: Any) -> Mapping[str, list[Any]]:
    """The matchers of a selector by the label that they match."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for each in selector.matchers.matchers:
        if each.name != _NAME:
            found[each.name].append(each)
    return found


def accepts(matchers: Iterable[Any], value: str) -> bool:
    """Whether all these matchers accept a value; "" for a series without the label."""
    return all(_VARIABLE in each.value or _accepts(each, value) for each in matchers)


def can_match(matchers: Iterable[Any], label: Label) -> bool:
    """Whether any value of the label is accepted."""
    every = list(matchers)
    if label.values:
        return any(accepts(every, value) for value in label.values)
    exact = {each.value for each in every if kind_of(each) == "Equal"}
    if any(_VARIABLE in value for value in exact):
        return True
    if len(exact) > 1 or (exact and not accepts(every, *exact)):
        return False
    return not (label.form and exact) or all(re.fullmatch(label.form, value) for value in exact)


def _accepts(matcher: Any, value: str) -> bool:
    kind = kind_of(matcher)
    if kind in {"Equal", "NotEqual"}:
        return (matcher.value == value) is (kind == "Equal")
    return (re.fullmatch(matcher.value, value) is not None) is (kind == "Re")


def kind_of(matcher: Any) -> str:
    """Equal, NotEqual, Re or NotRe."""
    return str(matcher.op).rpartition(".")[2]


def is_absence(matchers: Iterable[Any]) -> bool:
    """Whether the matchers ask for series without the label."""
    return any(kind_of(each) in {"Equal", "Re"} and each.value == "" for each in matchers)
