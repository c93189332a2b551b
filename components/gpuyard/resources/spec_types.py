"""The spec as types of a Pulumi package, from the JSON Schema of stack files."""

import textwrap
from collections.abc import Mapping
from functools import partial
from typing import Any

from pulumi.provider.experimental.analyzer import PropertyDefinition, PropertyType, TypeDefinition

from gpuyard.resources.state import camel_case
from gpuyard.spec.schema import stack_schema

_LINE = 90


class SpecTypes:
    """Type definitions by name, each before the types that it references.

    A value with several notations is `Any`, and an enumeration is text: the spec itself validates
    them and reports all findings at once.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._schemas: Mapping[str, Any] = stack_schema()["$defs"]
        self.by_name: dict[str, TypeDefinition] = {}
        self.platform = self._reference("PlatformSpec")
        self.sections = self.by_name["PlatformSpec"].properties
        """The sections of a platform, by their names in other languages."""
        models = {"pool": "Pool", "team": "Team", "cluster": "ClusterSpec"}
        self.described = {
            name: PropertyDefinition(ref=self._reference(model)) for name, model in models.items()
        }
        """Arguments of a component that name or describe a pool, a team or a cluster."""

    def _reference(self, model: str) -> str:
        """The reference to a model's type, which is defined first."""
        name = f"{model.removesuffix('Spec')}Spec"
        if name not in self.by_name:
            self._define(name, self._schemas[model])
        return f"#/types/{self._package}:index:{name}"

    def _define(self, name: str, model: Mapping[str, Any]) -> None:
        properties: dict[str, PropertyDefinition] = {}
        self.by_name[name] = TypeDefinition(
            name=name,
            type=PropertyType.OBJECT,
            properties=properties,
            properties_mapping={camel_case(field): field for field in model["properties"]},
            module=__name__,
            python_type=dict,
            description=_wrapped(model["description"]),
        )
        for field, schema in model["properties"].items():
            defined = self._property(schema, _wrapped(schema["description"]))
            defined.optional = field not in model.get("required", ())
            properties[camel_case(field)] = defined

    def _property(self, schema: Mapping[str, Any], description: str) -> PropertyDefinition:
        """A property, whose items or values have the same description."""
        defined = partial(PropertyDefinition, plain=True, description=description)
        forms = [form for form in schema.get("anyOf", ()) if form.get("type") != "null"]
        if "$ref" in schema:
            model = schema["$ref"].rpartition("/")[2]
            if "properties" in self._schemas[model]:
                return defined(ref=self._reference(model))
            forms = [self._schemas[model]]
        if len(forms) == 1:
            return self._property(forms[0], description)
        match schema.get("type"):
            case "array":
                items = self._property(schema["items"], description)
                return defined(type=PropertyType.ARRAY, items=items)
            case "object":
                kinds = schema.get("patternProperties") or {"": schema["additionalProperties"]}
                values = self._property(next(iter(kinds.values())), description)
                return defined(type=PropertyType.OBJECT, additional_properties=values)
            case "string" | "integer" | "number" | "boolean" as plain:
                return defined(type=PropertyType(plain))
        return defined(ref="pulumi.json#/Any")


def _wrapped(text: str) -> str:
    """The paragraphs of a description in lines, as in the docstrings of components."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(textwrap.fill(each, _LINE, break_on_hyphens=False) for each in paragraphs)
