"""Graphs of platforms on AWS: as golden files, validated by the provider and by gpuyard's rules."""

import json

from testbed.plugins.cloud.checking import refusals

from gpuyard.plan import plan
from gpuyard.render.aws.graph import aws_graph
from gpuyard.render.cloud.graph import resolve_values
from gpuyard.spec.region import Region
from gpuyard_lint.pulumi import pulumi_resource
from gpuyard_lint.rules import RULES
from gpuyard_lint.rules.rule import UNKNOWN
from gpuyard_lint.rules.run import evaluate
from kit.stacks import platform, pool, spec_of

ADMIN = "arn:aws:iam::123456789012:role/platform"
VPC = "vpc-0123456789abcdef0"
SUBNETS = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
_LATE = "late-value"


def plan_on_aws(pools=None, region="us-east-1", **rest):
    """The plan of a valid platform on AWS."""
    raw = platform([pool()] if pools is None else pools, cloud="aws", **rest)
    result, findings = plan(spec_of(raw), region=Region(region, "aws:region") if region else None)
    assert result is not None, [str(each) for each in findings]
    return result


def graph_of(pools=None, region="us-east-1", **rest):
    """Its graph; `rest` are further fields of the stack file."""
    return aws_graph(plan_on_aws(pools, region, **rest))


def as_text(graph):
    """One object per resource, late values as `${name.output}`."""
    resources = [
        _row(each, ("name", "kind", "part", "after", "protect", "ignores", "delete_first"))
        | {"inputs": _shown(each.inputs)}
        for each in graph.resources
    ]
    calls = [
        _row(each, ("name", "kind", "outputs")) | {"args": _shown(each.args)}
        for each in graph.calls
    ]
    return json.dumps({"calls": calls, "resources": resources}, indent=1) + "\n"


def _row(each, fields):
    inputs = {field: getattr(each, field) for field in fields}
    return {key: value for key, value in inputs.items() if value not in ((), "", False)}


def _shown(value):
    return resolve_values(dict(value), lambda name: f"${{{name}}}")


def refused(graph):
    """The provider's errors for the graph, by resource."""
    results = {r.name: refusals(r.kind, r.inputs) for r in graph.resources}
    return {name: message for name, message in results.items() if message}


def found_by_rules(graph, *, known, beside=()):
    """Violations of gpuyard's rules: with text for each late value, or with the unknowns of a preview.

    `beside` are other resources of the same stack.
    """
    resources = [
        pulumi_resource(
            each.kind, each.name, _settled(each.inputs, known=known), protected=each.protect
        )
        for each in graph.resources
    ]
    return {
        (o.rule.id, o.resource.name if o.resource else "", o.state)
        for o in evaluate([*resources, *beside], RULES)
    }


def _settled(inputs, *, known):
    return (
        resolve_values(dict(inputs), _stand_in)
        if known
        else _unknown(resolve_values(dict(inputs), lambda _: _LATE))
    )


def _stand_in(name):
    """For a name field the name, for others a text that ends in it, as ARNs do."""
    whose, _, output = name.partition(".")
    return whose if output == "name" else f"{_LATE}/{whose}"


def _unknown(value):
    if isinstance(value, dict):
        return {key: _unknown(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_unknown(each) for each in value]
    return UNKNOWN if isinstance(value, str) and _LATE in value else value
