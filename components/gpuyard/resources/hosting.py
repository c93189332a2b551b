"""The component provider for other languages, which `components/__main__.py` serves to the engine.

It works around five defects of the SDK's own host: an argument cannot be a union, integers arrive
as floats, unknown fields are silently dropped, missing fields are reported one at a time, and every
exception of a constructor is shown with a traceback.
"""

import inspect
import json
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

import pulumi
from pulumi.provider.experimental.analyzer import (
    Analyzer,
    ComponentDefinition,
    PropertyDefinition,
)
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.experimental.schema import generate_schema
from pulumi.provider.provider import ConstructResult
from pulumi.provider.server import ComponentInitError, main

from gpuyard.resources.clusters.autoscaler import ClusterAutoscaler
from gpuyard.resources.clusters.eks import EksCluster
from gpuyard.resources.clusters.gke import GkeCluster
from gpuyard.resources.clusters.karpenter import Karpenter
from gpuyard.resources.errors import PlatformRejected
from gpuyard.resources.gpu_operator.component import GpuOperator
from gpuyard.resources.idle import IdleReclaim
from gpuyard.resources.observability import Observability
from gpuyard.resources.part_args import PartArgs
from gpuyard.resources.platform import Platform
from gpuyard.resources.pools import GpuNodePool
from gpuyard.resources.queueing import Queueing
from gpuyard.resources.spec_types import SpecTypes
from gpuyard.resources.state import camel_case
from gpuyard.resources.storage import Storage
from gpuyard.resources.teams import Team
from gpuyard.resources.validation.component import Validation
from gpuyard_core.findings import Severity, show_path

COMPONENTS: list[type[pulumi.ComponentResource]] = [
    ClusterAutoscaler,
    EksCluster,
    GkeCluster,
    GpuNodePool,
    GpuOperator,
    IdleReclaim,
    Karpenter,
    Observability,
    Platform,
    Queueing,
    Storage,
    Team,
    Validation,
]
PACKAGE = "gpuyard"


class ComponentHost(ComponentProvider):
    """Serves the components; each receives its arguments as from a Python program."""

    def __init__(self) -> None:
        try:
            installed = version(PACKAGE)
        except PackageNotFoundError:  # a checkout that is not installed
            installed = "0.0.0"
        super().__init__(COMPONENTS, PACKAGE, namespace=None, version=installed)
        spec = SpecTypes(PACKAGE)
        self._type_defs = spec.by_name | self._type_defs
        self._described = spec.described
        for component in self._component_defs.values():
            component.inputs["platform"].ref = spec.platform
            for name, given in component.inputs.items():
                # The analyzer does not read the docstrings of inherited arguments.
                given.description = given.description or Analyzer(PACKAGE).get_docstring(
                    PartArgs, name
                )
                if name in spec.sections and name not in spec.described:
                    component.inputs[name] = replace(
                        spec.sections[name], optional=given.optional, description=given.description
                    )
        platform = self._component_defs["Platform"]
        for name, summary in (("pools", "pool_summaries"), ("teams", "team_summaries")):
            # Python has the components under these names, which other languages cannot get.
            definition = platform.outputs.pop(camel_case(summary))
            platform.outputs = {name: definition, **platform.outputs}
            platform.outputs_mapping[name] = summary
        schema = generate_schema(
            PACKAGE, installed, None, self._component_defs, self._type_defs, self._dependencies
        )
        raw = json.dumps(schema.to_json())
        self.schema = json.dumps(json.loads(raw, object_hook=_without_indentation))

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: pulumi.Inputs,
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Construct a component and report its findings as errors of its inputs."""
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as error:
            if isinstance(error.inner, PlatformRejected):
                _refuse(error.inner)
            if isinstance(error.inner, pulumi.RunError):
                raise pulumi.InputPropertiesError(str(error.inner)) from None
            raise

    def map_inputs(
        self, inputs: pulumi.Inputs, component_def: ComponentDefinition
    ) -> dict[str, Any]:
        """Give inputs their Python names and keep unknown ones, so that the spec's validation reports them."""
        given: dict[str, Any] = {str(key): value for key, value in inputs.items()}
        known = {**component_def.inputs, **self._described}
        return self._renamed(given, known, component_def.inputs_mapping)

    def _renamed(
        self,
        values: dict[str, Any],
        known: dict[str, PropertyDefinition],
        names: dict[str, str],
    ) -> dict[str, Any]:
        return {
            names.get(key, key): self._mapped(value, known.get(key))
            for key, value in values.items()
        }

    def _mapped(self, value: Any, known: PropertyDefinition | None) -> Any:
        if isinstance(value, float):
            return int(value) if value.is_integer() else value
        if isinstance(value, list):
            return [self._mapped(one, known and known.items) for one in value]
        if not isinstance(value, dict):
            return value
        kind = self.get_type_definition(known) if known is not None and known.ref else None
        if kind is not None:
            return self._renamed(value, kind.properties, kind.properties_mapping)
        inner = known.additional_properties if known is not None else None
        return {key: self._mapped(one, inner) for key, one in value.items()}


def serve() -> None:
    """Serve the components to the engine, whose address is the first argument."""
    main(ComponentHost(), sys.argv[1:])


def _refuse(refused: PlatformRejected) -> NoReturn:
    """Report errors of inputs under the names that other languages use; warnings reject nothing."""
    message, _, _ = str(refused).partition("\n")
    errors: list[pulumi.InputPropertyErrorDetails] = []
    for finding in [one for one in refused.findings if one.severity is Severity.ERROR]:
        path = tuple(camel_case(p) if isinstance(p, str) else p for p in finding.path)
        where = f"{finding.where}: "
        errors.append(
            {"property_path": show_path(path), "reason": str(finding).removeprefix(where)}
        )
    raise pulumi.InputPropertiesError(message, errors) from None


def _without_indentation(fields: dict[str, Any]) -> dict[str, Any]:
    """An object of the schema whose description has no indentation of the source."""
    if isinstance(text := fields.get("description"), str):
        fields["description"] = inspect.cleandoc(text)
    return fields
