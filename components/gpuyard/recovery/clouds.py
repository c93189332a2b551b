"""What a cloud had been asked to make when the engine was killed: its id, so that the state can have it.

`pulumi import` would forget which names the provider chose, and the next `up` would make all of it anew under
other ones. So what was under way goes into the state as it was asked for, with its id, and the engine's own
refresh then reads it, or finds that it is not there.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuyard.catalogue.cloud_fields import DEFAULTS
from gpuyard.catalogue.software.cloud_ids import ADOPTED_ON_CREATE, IDENTITIES, LOOKUPS, Lookup
from gpuyard.names import PLATFORM_LABEL
from gpuyard.preflight.probes import Probe, ProbeAnswer
from gpuyard.recovery.stack import plaintext_value

CLOUDS = ("aws:", "gcp:")

RunLookup = Callable[[Sequence[Probe]], Mapping[str, ProbeAnswer]]
"""Put questions to the clouds' programs."""
State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LookupResult:
    """One resource that was being made in a cloud."""

    urn: str
    identity: str = ""
    """Empty where nobody has it, or nobody can say."""
    reason: str = ""
    """Why nobody can say; with that it is left to people."""


def look_up_pending(state: State, ask: RunLookup) -> dict[str, LookupResult]:
    """All that was being made in clouds, by URN."""
    under_way = [one for one in state.get("pending_operations") or [] if _is_ours(one)]
    known = {each["urn"]: each for each in state.get("resources") or []}
    return {one["resource"]["urn"]: _sought(one["resource"], known, ask) for one in under_way}


def _is_ours(operation: State) -> bool:
    return bool(
        operation["type"] == "creating" and operation["resource"]["type"].startswith(CLOUDS)
    )


def _sought(resource: State, known: Mapping[str, State], ask: RunLookup) -> LookupResult:
    kind, urn = str(resource["type"]), str(resource["urn"])
    if kind in ADOPTED_ON_CREATE:
        return LookupResult(urn)
    provider = known.get(str(resource.get("provider") or "").rpartition("::")[0], {})
    settings = provider.get("inputs") or {}
    fields = resource_fields(resource.get("inputs") or {}, settings)
    try:
        if urn in known:
            return LookupResult(urn, reason="it was to take the place of another")
        form = IDENTITIES.get(kind)
        if form and form.id:
            return LookupResult(urn, form.id.format_map(fields))
        if kind in LOOKUPS:
            known_ids = {each.get("id") for each in known.values() if each["type"] == kind}
            return _looked_for(urn, LOOKUPS[kind], fields, _flags(settings), known_ids, ask)
    except (KeyError, TypeError) as lacking:
        return LookupResult(urn, reason=f"{lacking.args[0]} of it is not known")
    return LookupResult(urn, reason="its cloud must say")


def resource_fields(inputs: State, settings: State) -> dict[str, Any]:
    """What ids are made of."""
    tags = inputs.get("tags") or {}
    result = {
        **{
            name: plaintext_value(settings.get(name))
            for name in ("project", "region")
            if settings.get(name)
        },
        **inputs,
    }
    for name, tag in (("named", "Name"), ("platform", PLATFORM_LABEL)):
        if tag in tags:
            result[name] = tags[tag]
    if "cluster" in inputs:
        result["cluster"] = str(inputs["cluster"]).rpartition("/")[2]
    if "destinationCidrBlock" in inputs:
        result["checksum"] = zlib.crc32(str(inputs["destinationCidrBlock"]).encode())
    return result


def _flags(settings: State) -> list[str]:
    """Where to ask, and as whom, as the provider does."""
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
    answer = ask([Probe(urn, f"whether {urn} is there", tuple(words))])[urn]
    if answer.failure_reason or answer.error:
        return LookupResult(
            urn,
            reason=f"`{' '.join(words)}` does not say it: {answer.failure_reason or answer.error}",
        )
    match = {
        name: expected.format_map(fields) if isinstance(expected, str) else expected
        for name, expected in look.match.items()
    }
    ids = [
        _last(item[look.identity]) if look.identity else str(item)
        for item in _items(answer.value, look.items)
        if not match or match.items() <= item.items()
    ]
    results = [each for each in ids if each not in known_ids]
    if len(results) > 1:
        return LookupResult(urn, reason=f"it may be any of {', '.join(sorted(results))}")
    return LookupResult(urn, *results)


def _last(identity: Any) -> str:
    return str(identity).rpartition("/")[2]


def _items(value: Any, lists: Sequence[str]) -> list[Any]:
    """The items of a list, or those of lists in them; some services leave an empty list out."""
    results = [value]
    for name in lists:
        results = [item for each in results for item in each.get(name, ())]
    return results


def with_adopted_resources(deployment: State, sought: Iterable[LookupResult]) -> dict[str, Any]:
    """A deployment as the engine exports it, with what was found in it as if it had been made."""
    results = {each.urn: each.identity for each in sought if each.identity}
    under_way = deployment.get("pending_operations") or []
    adopted = [
        _adopted_resource(one["resource"], results)
        for one in under_way
        if one["resource"]["urn"] in results
    ]
    rest = [one for one in under_way if one["resource"]["urn"] not in results]
    resources = [*(deployment.get("resources") or []), *adopted]
    return {**deployment, "resources": resources, "pending_operations": rest}


def _adopted_resource(resource: State, results: Mapping[str, str]) -> dict[str, Any]:
    identity = results[resource["urn"]]
    # Without outputs a provider takes the refresh for an import, and forgets which names it chose.
    outputs = {**_without_defaults(resource.get("inputs") or {}), "id": identity}
    return {**resource, "id": identity, "outputs": outputs}


def _without_defaults(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_defaults(each) for key, each in value.items() if key != DEFAULTS}
    if isinstance(value, list):
        return [_without_defaults(each) for each in value]
    return value
