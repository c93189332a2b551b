"""Rules across the fields of one resource: those of the provider, and those of the service behind it.

A rule is a function of the inputs; it yields errors, or nothing. Its docstring begins with its source:
`tf` the provider's source, `api` the service's model, `ug` its guide, `ct` the preconditions that
cluster-toolkit checks, `disc` the discovery document, `doc` the documentation, `moto` the behaviour of moto.
"""

from collections.abc import Mapping
from typing import Any

from testbed.plugins.cloud.rules import aws, aws_service, gcp, gcp_service
from testbed.plugins.cloud.rules.marks import of_marks


def of_provider(kind: str, inputs: Mapping[str, Any]) -> list[str]:
    """Errors of the provider in Check."""
    results = (*aws.RULES.get(kind, ()), *gcp.RULES.get(kind, ()))
    return [f"{kind}: {message}" for rule in results for message in rule(inputs)]


def of_service(kind: str, inputs: Mapping[str, Any]) -> list[str]:
    """Errors of the service when it creates or changes the resource."""
    results = (*aws_service.RULES.get(kind, ()), *gcp_service.RULES.get(kind, ()))
    messages = (each for rule in results for each in rule(inputs))
    return [f"{kind}: {each}" for each in (*messages, *of_marks(kind, inputs))]
