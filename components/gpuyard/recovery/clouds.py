"""Ids of resources that a cloud was creating when the engine was killed.

`pulumi import` would lose which names the provider chose, and the next `up` would replace all of it
under other names. So a pending resource is added to the state with its inputs and id, and a Pulumi refresh
then reads it, or finds that it does not exist.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.preflight.probes import Probe, ProbeAnswer
from gpuyard.recovery.stack import plaintext_value
from gpuyard_core.catalogue.cloud_fields import DEFAULTS
from gpuyard_core.catalogue.software.cloud_ids import ADOPTED_ON_CREATE, IDENTITIES, LOOKUPS, Lookup
from gpuyard_core.names import PLATFORM_LABEL

CLOUDS = ("aws:", "gcp:")

RunLookup = Callable[[Sequence[Probe]], Mapping[str, ProbeAnswer]]
"""Runs queries with the clouds' CLIs."""
State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LookupResult:
    """One resource whose creation was pending in a cloud."""

    urn: str
    identity: str = ""
    """Empty when it does not exist or is unknown."""
    reason: str = ""
    """Why it is unknown; the user must then decide."""


def look_up_pending(state: State, ask: RunLookup) -> dict[str, LookupResult]:
    """Look up all pending creations in clouds, by URN."""
    known = {each["urn"]: each for each in state.get("resources") or []}
    return {
        one["resource"]["urn"]: _sought(one["resource"], known, ask)
        for one in state.get("pending_operations") or []
        if one["type"] == "creating" and one["resource"]["type"].startswith(CLOUDS)
    }


def _sought(resource: State, known: Mapping[str, State], ask: RunLookup) -> LookupResult:
    kind, urn = str(resource["type"]), str(resource["urn"])
    if kind in ADOPTED_ON_CREATE:
        return LookupResult(urn)
    provider = known.get(str(resource.get("provider") or "").rpartition("::")[0], {})
    settings = provider.get("inputs") or {}
    fields = resource_fields(resource.get("inputs") or {}, settings)
    try:
        if urn in known:
            return LookupResult(urn, reason="it was a pending replacement")
        form = IDENTITIES.get(kind)
        if form and form.id:
            return LookupResult(urn, form.id.format_map(fields))
        if kind in LOOKUPS:
            known_ids = {each.get("id") for each in known.values() if each["type"] == kind}
            return _looked_for(urn, LOOKUPS[kind], fields, _flags(settings), known_ids, ask)
    except (KeyError, TypeError) as lacking:
        return LookupResult(urn, reason=f"its {lacking.args[0]} is unknown")
    return LookupResult(urn, reason="look it up in the cloud")


def resource_fields(inputs: State, settings: State) -> dict[str, Any]:
    """Fields of which ids are composed."""
    tags = inputs.get("tags") or {}
    names = [name for name in ("project", "region") if settings.get(name)]
    result = {name: plaintext_value(settings[name]) for name in names} | dict(inputs)
    for name, tag in (("named", "Name"), ("platform", PLATFORM_LABEL)):
        if tag in tags:
            result[name] = tags[tag]
    if "cluster" in inputs:
        result["cluster"] = str(inputs["cluster"]).rpartition("/")[2]
    if "destinationCidrBlock" in inputs:
        result["checksum"] = zlib.crc32(str(inputs["destinationCidrBlock"]).encode())
    return result


def _flags(settings: State) -> list[str]:
    """CLI options for the region and profile of the provider."""
    options = {name: plaintext_value(settings.get(name)) for name in ("region", "profile")}
    return [word for name, value in options.items() if value for word in (f"--{name}", value)]


def _looked_for(
    urn: str,
    look: Lookup,
    fields: State,
    flags: Iterable[str],
    known_ids: set[Any],
    ask: RunLookup,
) -> LookupResult:
    words = ["aws", *(word.format_map(fields) for word in look.words), *flags, "--output", "json"]
    answer = ask([Probe(urn, f"whether {urn} exists", tuple(words))])[urn]
    if answer.failure_reason or answer.error:
        why = answer.failure_reason or answer.error
        return LookupResult(urn, reason=f"`{' '.join(words)}` failed: {why}")
    items = [answer.value]
    for name in look.items:  # some services omit empty lists
        items = [item for each in items for item in each.get(name, ())]
    match = {
        name: expected.format_map(fields) if isinstance(expected, str) else expected
        for name, expected in look.match.items()
    }
    ids = [
        str(item[look.identity]).rpartition("/")[2] if look.identity else str(item)
        for item in items
        if not match or match.items() <= item.items()
    ]
    results = [each for each in ids if each not in known_ids]
    if len(results) > 1:
        return LookupResult(urn, reason=f"several candidates: {', '.join(sorted(results))}")
    return LookupResult(urn, *results)


def with_adopted_resources(deployment: State, sought: Iterable[LookupResult]) -> dict[str, Any]:
    """The exported deployment with the found resources as if their creation had finished."""
    results = {each.urn: each.identity for each in sought if each.identity}
    under_way = deployment.get("pending_operations") or []
    adopted = []
    for one in under_way:
        if identity := results.get(one["resource"]["urn"]):
            # Without outputs a provider treats the refresh as an import, and loses which names it chose.
            outputs = {**_without_defaults(one["resource"].get("inputs") or {}), "id": identity}
            adopted.append({**one["resource"], "id": identity, "outputs": outputs})
    rest = [one for one in under_way if one["resource"]["urn"] not in results]
    resources = [*(deployment.get("resources") or []), *adopted]
    return {**deployment, "resources": resources, "pending_operations": rest}


def _without_defaults(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_defaults(each) for key, each in value.items() if key != DEFAULTS}
    if isinstance(value, list):
        return [_without_defaults(each) for each in value]
    return value
