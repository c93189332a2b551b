"""Ids of cloud resources derived from a graph, and the ids for `pulumi import`."""

from collections.abc import Mapping
from typing import Any

from gpuyard_core.catalogue.software.cloud_ids import IDENTITIES, IdForm

_ASKED = IdForm()
"""For kinds whose id the cloud generates and import accepts unchanged."""


class _Lacking(Exception):
    """A field is not known yet."""


class _Words(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        raise _Lacking(key)


def identity_format(kind: str) -> IdForm:
    """The id format of a kind."""
    return IDENTITIES.get(kind, _ASKED)


def resolve_identity(template: str, inputs: Mapping[str, Any]) -> str | None:
    """Fill a template with fields; None if a field is unknown or the template is empty."""
    known = {key: value for key, value in inputs.items() if value is not None}
    try:
        return template.format_map(_Words(known)) or None
    except (_Lacking, KeyError):
        return None


def import_id(kind: str, identity: str, inputs: Mapping[str, Any]) -> str | None:
    """The `pulumi import` id of a resource with this id."""
    form = identity_format(kind)
    if not form.imported:
        return identity or None
    return resolve_identity(form.imported, {**inputs, **({"id": identity} if identity else {})})
