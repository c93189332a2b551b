"""An object whose kind the API server does not serve yet: whether to retry, and the diagnosis.

A chart is installed when Helm has sent its CRDs. Each API server then starts to serve them on its
own: usually within a second, under load after a minute. The provider gives up after half a minute.
So the creation of an object whose kind a chart of the same program installs is retried: no other
check of the kind would still be valid at the creation. Kinds of other origin are not waited for.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from gpuyard_core.catalogue.software.addons import addon_facts
from gpuyard_core.names import KUEUE_GROUP, MONITORING_GROUP

TRIES = 10
"""Each takes 30 to 60 s: together ten minutes, the provider's timeout for other waits."""
_INSTALLS = {
    KUEUE_GROUP: "gpuyard installs Kueue unless the stack file sets `queueing: {install: false}`",
    MONITORING_GROUP: "gpuyard installs prometheus-operator with `observability: {prometheus: install}`",
}
_NO_MATCH = re.compile(r'no matches for kind "([^"]+)" in version "([^"]+)"')


@dataclass(frozen=True, slots=True)
class MissingKind:
    """A kind that the API server does not serve."""

    kind: str
    api_version: str

    @property
    def group(self) -> str:
        """The API group of the kind."""
        return self.api_version.rpartition("/")[0]

    def __str__(self) -> str:
        """The kind as Kubernetes writes it."""
        return f"{self.kind} ({self.api_version})"


def parse_missing_kind(args: pulumi.ErrorHookArgs) -> MissingKind | None:
    """The kind that the last try did not find; None if it failed for another reason."""
    match = _NO_MATCH.search(args.errors[0]) if args.errors else None
    return MissingKind(*match.groups()) if match and args.failed_operation != "delete" else None


def missing_kind_retry(args: pulumi.ErrorHookArgs, brought: Collection[str]) -> str:
    """The log message of a retry; "" if there is nothing to wait for, or after the last try."""
    kind = parse_missing_kind(args)
    if kind is None or kind.group not in brought or len(args.errors) >= TRIES:
        return ""
    return (
        f"the API server does not serve {kind} yet, which a chart of this program installs; "
        f"retrying ({len(args.errors)} of {TRIES})"
    )


def missing_kind_message(
    kind: MissingKind,
    name: str,
    definitions: Sequence[Mapping[str, Any]] | None,
    look: str,
    *,
    ours: bool,
) -> str:
    """Explain why an object does not exist; `definitions` is None if the query failed."""
    waited = f", after {TRIES} tries" if ours else ""
    lines = [f"{kind.kind} {name} was not created: the API server does not serve {kind}{waited}."]
    results = [one for one in definitions or () if _defines(one, kind)]
    for one in results:
        lines += _state(one, kind)
    if definitions is not None and not results:
        lines.append("the cluster has no CRD for it")
    if ours or results:
        lines.append(f"fix: run the same command again when this shows the kind: {look}")
    else:
        lines.append("; ".join(filter(None, ("fix: install the CRD first", _hint(kind.group)))))
    return "\n  ".join(lines)


def _hint(group: str) -> str:
    """What installs the CRDs of a group; empty if gpuyard installs none of them."""
    names = [
        f"[{name}]"
        for name, facts in addon_facts().items()
        if group in facts.groups and facts.charts
    ]
    addons = f"gpuyard installs it with `addons: {' or '.join(names)}`" if names else ""
    return _INSTALLS.get(group) or addons


def _defines(definition: Mapping[str, Any], kind: MissingKind) -> bool:
    spec = definition.get("spec", {})
    return (spec.get("group"), spec.get("names", {}).get("kind")) == (kind.group, kind.kind)


def _state(definition: Mapping[str, Any], kind: MissingKind) -> Iterator[str]:
    """The state of a CRD: false conditions and the served versions."""
    name = definition["metadata"]["name"]
    served = [one["name"] for one in definition["spec"].get("versions", ()) if one.get("served")]
    if kind.api_version.rpartition("/")[2] not in served:
        yield f"CRD {name} serves {', '.join(served) or 'no version'}"
    conditions = {c["type"]: c for c in definition.get("status", {}).get("conditions") or ()}
    for one in ("NamesAccepted", "Established"):
        condition = conditions.get(
            one, {"status": "False", "message": "the API server has not reported it yet"}
        )
        if condition["status"] != "True":
            yield f"CRD {name} is not {one}: {condition.get('message')}"
