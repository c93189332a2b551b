"""The ids of a cloud's resources from what a graph says, and from them what `pulumi import` takes."""

from collections.abc import Mapping
from typing import Any

from gpuyard.catalogue.software.cloud_ids import IDENTITIES, IdForm

_ASKED = IdForm()
"""Of a kind whose id is the cloud's own, and import takes it as it is."""


class _Lacking(Exception):
    """A field that nobody knows yet."""


class _Words(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        raise _Lacking(key)


def identity_format(kind: str) -> IdForm:
    """How ids of a kind are written."""
    return IDENTITIES.get(kind, _ASKED)


def resolve_identity(template: str, inputs: Mapping[str, Any]) -> str | None:
    """The text with the fields in it; None where one of them is not known, or there is no text."""
    known = {key: value for key, value in inputs.items() if value is not None}
    try:
        return template.format_map(_Words(known)) or None
    except (_Lacking, KeyError):
        return None


def import_id(kind: str, identity: str, inputs: Mapping[str, Any]) -> str | None:
    """What `pulumi import` takes for a resource of which this is the id."""
    form = identity_format(kind)
    if not form.imported:
        return identity or None
    return resolve_identity(form.imported, {**inputs, **({"id": identity} if identity else {})})
