"""Bring inputs into the form in which the API server stores them, so that a preview shows no false changes.

The official provider does this by a round trip through the Go types of built-in kinds
(provider/pkg/clients/ unstructured.go, Normalize). Without Go types, this module makes the changes
that such a round trip makes in practice: Secret data, resource quantities, and empty lists and maps,
which Go omits.
"""

from __future__ import annotations

import base64
import binascii
import re
from decimal import Decimal
from typing import Any

from testbed.plugins.kubernetes.values import Object, clone, drop, has_unknown, path

_READ_ONLY = (
    *(
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
    ),
    *("resourceVersion", "uid"),
)
# Groups whose kinds have Go types in the provider; all others are unchanged.
_BUILT_IN = (
    "apps",
    "autoscaling",
    "batch",
    "coordination",
    "core",
    "extensions",
    "policy",
    "scheduling",
    "",
)
_QUANTITY_MAPS = {
    *("limits", "requests", "hard", "capacity", "allocatable", "podFixed"),
    *("default", "defaultRequest", "max", "min", "maxLimitRequestRatio"),
}
# Maps that Go omits when they are empty; it omits empty lists everywhere.
_OMITTED_WHEN_EMPTY = {
    *("data", "binaryData", "stringData", "labels", "annotations", "nodeSelector", "matchLabels"),
    *("limits", "requests", "hard", "parameters"),
}
_QUANTITY_FIELDS = {"sizeLimit", "divisor"}
_QUANTITY = re.compile(
    r"^([+-]?(?:\d+\.?\d*|\.\d+))(m|u|n|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def inputs(obj: Object) -> Object:
    """The inputs as the API server stores them. The given object is not changed."""
    result: Object = clone(obj)
    if not has_unknown(result) and is_built_in(result):
        if result.get("kind") == "Secret":
            result = _without_empty(result)
            _secret(result)
        elif result.get("kind") == "CustomResourceDefinition":
            _definition(result)
        else:
            result = _quantities(_without_empty(result))
    for field in _READ_ONLY:
        drop(result, "metadata", field)
    return result


def is_built_in(obj: Object) -> bool:
    """Whether the provider has a Go type for this kind."""
    group, _, _ = str(obj.get("apiVersion", "")).rpartition("/")
    return group in _BUILT_IN or group.endswith(".k8s.io")


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_empty(item)
            for key, item in value.items()
            if item != [] and not (item == {} and key in _OMITTED_WHEN_EMPTY)
        }
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


def _secret(obj: Object) -> None:
    """`stringData` takes precedence over `data`, and base64 is canonical."""
    data = obj.get("data") or {}
    texts = obj.get("stringData") or {}
    if texts:
        encoded = {
            key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()
        }
        obj["data"] = {**data, **encoded}
        del obj["stringData"]
        return
    for key, text in data.items():
        try:
            data[key] = base64.b64encode(base64.b64decode(text)).decode()
        except (TypeError, ValueError, binascii.Error):
            continue  # the API server reports the error


def _definition(obj: Object) -> None:
    if path(obj, "spec", "preserveUnknownFields") is False:
        drop(obj, "spec", "preserveUnknownFields")
    obj.pop("status", None)


def _quantities(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        if key in _QUANTITY_MAPS and all(_is_quantity(item) for item in value.values()):
            return {name: canonical(item) for name, item in value.items()}
        return {name: _quantities(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_quantities(item, key) for item in value]
    return canonical(value) if key in _QUANTITY_FIELDS and _is_quantity(value) else value


def _is_quantity(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (
        isinstance(value, str) and bool(_QUANTITY.match(value))
    )


def canonical(value: Any) -> str:
    """A quantity as Kubernetes prints it: `1000m` is `1`, `1024Mi` is `1Gi`, `0.5` is `500m`.

    Rules: k8s.io/apimachinery/pkg/api/resource/quantity.go, CanonicalizeBytes: no fraction, the
    largest suffix that fits.
    """
    match = _QUANTITY.match(str(value))
    if match is None:
        return str(value)
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix in _BINARY:
        return _binary(number * 1024 ** _BINARY[suffix])
    if suffix[:1] in {"e", "E"} and len(suffix) > 1:
        return str(value)  # the exponent form stays an exponent form
    return _decimal(number.scaleb(_DECIMAL[suffix]))


def _binary(amount: Decimal) -> str:
    if amount != amount.to_integral_value() or abs(amount) < 1024:  # noqa: PLR2004
        return _decimal(amount)
    for suffix, power in sorted(_BINARY.items(), key=lambda item: -item[1]):
        if amount % 1024**power == 0:
            return f"{int(amount / 1024**power)}{suffix}"
    return str(int(amount))


def _decimal(amount: Decimal) -> str:
    if amount == 0:
        return "0"
    for suffix, power in sorted(_DECIMAL.items(), key=lambda item: -item[1]):
        scaled = amount.scaleb(-power)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{suffix}"
    return f"{int(amount.scaleb(9).to_integral_value(rounding='ROUND_UP'))}n"
