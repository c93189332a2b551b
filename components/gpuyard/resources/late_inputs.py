"""Outputs and resources of the user's program as fields of a platform.

A marker takes the place of each in the spec (`spec/late_inputs.py`); the outputs are bound when
resources are registered.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pulumi
from pulumi.output import Unknown

from gpuyard.plan.records import PlatformPlan
from gpuyard.plan.records.late import resolve_outputs
from gpuyard.render.cloud.graph import late_value_names
from gpuyard.resources.clouds import late_input
from gpuyard.sdk_classes import sdk_version
from gpuyard.spec.late_inputs import (
    input_marker,
    is_input_name,
    late_input_field,
    late_input_names,
    late_inputs,
    marker_findings,
)
from gpuyard.spec.platform import PlatformSpec
from gpuyard_core.findings import Diagnostic, Fix, Path, error, info, show_path

_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)T00:00:00Z")
_SETTINGS = {
    "aws": ("aws:index/getRegion:getRegion", ("region",)),
    "gcp": ("gcp:organizations/getClientConfig:getClientConfig", ("region", "project")),
}
"""Queries to a provider for its own settings."""
_VPC_COMPONENT = {"private": "private_subnet_ids", "public": "public_subnet_ids"}
"""Subnets of a component with a VPC, such as `awsx.ec2.Vpc`."""


class LateInputs:
    """The outputs in a platform, and what is wrong with some of them."""

    def __init__(self) -> None:
        self.outputs: dict[str, pulumi.Output[Any]] = {}
        """By the names of their late values."""
        self.refused: list[Diagnostic] = []
        self._paths: list[Path] = []
        self._region_is_late = False

    def take(self, value: Any, path: Path = ()) -> Any:
        """The platform as plain values, with a marker for each output and resource."""
        if isinstance(value, pulumi.Resource):
            return self._resource(value, path)
        if isinstance(value, pulumi.Output | Unknown) or inspect.isawaitable(value):
            return self._output(value, path)
        if isinstance(value, Mapping):
            return {key: self.take(inner, (*path, str(key))) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.take(inner, (*path, index)) for index, inner in enumerate(value)]
        if isinstance(value, str):
            self.refused += marker_findings(value, path)
            # The engine makes a time of a date without quotes; `gpuyard check` reads the date as written.
            if day := _MIDNIGHT.fullmatch(value):
                return day[1]
        return value

    def provider_location(
        self, platform: object, opts: pulumi.ResourceOptions | None
    ) -> dict[str, str]:
        """Region and project of the cloud provider in `opts`, by the keys of a stack's configuration.

        The provider answers a query with its settings; it cannot if one of them is still unknown.
        """
        cloud = platform.cloud if isinstance(platform, PlatformSpec) else None
        cloud = platform.get("cloud") if isinstance(platform, Mapping) else cloud
        query = _SETTINGS.get(str(cloud))
        provider = _provider_in(opts, str(cloud))
        if provider is None or query is None:
            return {}
        kind, outputs = query
        version = sdk_version(str(cloud))
        invoked = pulumi.InvokeOptions(provider=provider, version=version)
        try:
            answer = pulumi.runtime.invoke(kind, {}, invoked).value or {}
        except Exception as problem:  # noqa: BLE001  the SDK has no other class
            pulumi.log.info(f"the query {kind} got no response: {problem}")
            answer = {}
        known = {f"{cloud}:{key}": answer[key] for key in outputs if answer.get(key)}
        self._region_is_late = f"{cloud}:region" not in known
        return known

    def findings(self, plan: PlatformPlan) -> Iterator[Diagnostic]:
        """What gpuyard could not validate, if anything is late."""
        if self._paths:
            graph = plan.provider.graph(plan)
            skipped = [
                call.name
                for call in (graph.prerequisites if graph else ())
                if any(late_value_names(call.args))
            ]
            queries = f"; skipped queries: {', '.join(skipped)}" if skipped else ""
            yield info(
                "args.late_inputs",
                ("cluster",),
                "gpuyard cannot validate values that only the deployment knows: neither their form "
                f"nor that they exist in the region{queries}",
                given=", ".join(show_path(path) for path in self._paths),
            )
        if self._region_is_late:
            region = plan.region or "no region"
            yield info(
                "args.late_region",
                ("cluster",),
                "only the deployment knows the region of the cloud provider, so gpuyard cannot "
                f"validate zones, and prices are those of {region} in the stack's configuration",
            )

    def _output(self, value: Any, path: Path) -> Any:
        field = late_input_field(path)
        if field is None:
            self.refused.append(_late(type(value).__name__, path))
            return None
        is_list = f"{field}.*" in late_inputs()
        marker = input_marker(path, is_list=is_list)
        (name,) = late_input_names(marker)
        self.outputs[name] = pulumi.Output.from_input(value)
        self._paths.append(path)
        return [marker] if is_list else marker

    def _resource(self, resource: pulumi.Resource, path: Path) -> Any:
        if path == ("cluster", "network"):
            return self.take(_network(resource), path)
        kind = resource.pulumi_resource_type
        known = late_inputs().get(late_input_field(path) or "", {})
        output = getattr(resource, known[kind], None) if kind in known else None
        if output is None:
            self.refused.append(_late(kind, path))
            return None
        return self._output(output, path)


def _network(resource: pulumi.Resource) -> dict[str, Any]:
    """The network of a resource; a component with subnets brings them."""
    vpc = getattr(resource, "vpc_id", None)
    if vpc is None or isinstance(resource, pulumi.CustomResource):
        return {"id": resource}
    subnets = {
        side: ids
        for side, name in _VPC_COMPONENT.items()
        if (ids := getattr(resource, name, None)) is not None
    }
    return {"id": vpc, "subnets": subnets}


def _provider_in(opts: pulumi.ResourceOptions | None, cloud: str) -> pulumi.ProviderResource | None:
    """The explicit provider of a cloud in the options of a component, or of its parent."""
    if opts is None:
        return None
    several = opts.providers or ()
    several = list(several.values() if isinstance(several, Mapping) else several)
    inherited = opts.parent.get_provider(f"{cloud}:index:Any") if opts.parent else None
    given: list[pulumi.ProviderResource | None] = [opts.provider, *several, inherited]
    return next((each for each in given if each is not None and each.package == cloud), None)


def _late(given: str, path: Path) -> Diagnostic:
    kinds = late_inputs().get(late_input_field(path) or "")
    if kinds:
        return error(
            "args.late",
            path,
            "gpuyard does not know which output of this resource to use",
            given=given,
            allowed=f"a value, an output, or one of {', '.join(kinds)}",
            fix=Fix(message="pass the output itself"),
        )
    return error(
        "args.late",
        path,
        "the value is an output, known only after a deployment, or a secret",
        given=given,
        allowed="a plain value: gpuyard validates pools, quotas and cost before the deployment; "
        f"outputs are allowed in {', '.join(name for name in late_inputs() if name + '.*' not in late_inputs())}",
        fix=Fix(message="set the value itself, or read it from the stack's configuration"),
    )


def bind_outputs(value: Any, late: Mapping[str, Any]) -> Any:
    """A copy of the tree in which the outputs in `late` replace every late value."""

    def known(name: str) -> Any:
        return late_input(name, late) if is_input_name(name) else late[name]

    def fill(text: str, _: Any) -> Any:
        names = dict.fromkeys(late_input_names(text))
        outputs = {name: known(name) for name in names}
        return pulumi.Output.all(**outputs).apply(
            lambda got: resolve_outputs(text, got.__getitem__)
        )

    return resolve_outputs(value, known, fill)
