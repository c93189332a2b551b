"""GPU-AWS-03: the cluster writes audit and authenticator logs."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuyard_core.findings import Severity
from gpuyard_lint.rules.rule import (
    AuditReference,
    Parameters,
    Resource,
    Rule,
    Violation,
    enum_value,
    items,
)

_AUDIT = "audit"
_NEEDED = (_AUDIT, "authenticator")
_FIELD = "enabledClusterLogTypes"


def _check(resource: Resource, _: Parameters) -> Iterator[Violation]:
    on = {enum_value(each) for each in items(resource.properties.get(_FIELD))}
    if missing := [each for each in _NEEDED if each not in on]:
        # the audit log names the principal of each request, but not of rejected logins
        seen = _AUDIT in on
        yield Violation(
            (_FIELD,),
            f"the cluster does not log {'rejected logins' if seen else 'who did what'}:"
            f" {' and '.join(missing)} logs are disabled",
            f"add {', '.join(missing)} to {_FIELD}",
            severity=Severity.INFO if seen else None,
        )


def _remediate(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    on = [*items(properties.get(_FIELD))]
    return {**properties, _FIELD: sorted({*on, *_NEEDED})}


RULE = Rule(
    id="GPU-AWS-03",
    title="EKS audit and authenticator logs are enabled",
    severity=Severity.WARNING,
    why="Without them you cannot tell who used the GPUs or read the Secrets.",
    fix="Enable the audit and authenticator logs of the control plane.",
    sources=("EKS user guide, control plane logging: off by default",),
    references=(AuditReference("CIS EKS 1.8.0", "2.1.1"),),
    kinds=("aws:eks/Cluster",),
    check=_check,
    remediate=_remediate,
)
