"""The add-ons of a stack file: charts, images, values and resources, from `tables/addons.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gpuyard_core.catalogue.software.charts import Chart
from gpuyard_core.catalogue.sources import Source
from gpuyard_core.catalogue.tables import read_yaml

ValuesPath = tuple[str, ...]
"""A path in a chart's values; empty: their root."""


@dataclass(frozen=True, slots=True)
class AddonImage:
    """An image that a chart runs."""

    at: ValuesPath
    """The path of its mapping in the values."""
    home: str
    """Registry and path."""
    pin: str
    keys: tuple[str, ...] = ("repository", "tag")
    """The keys there: of the reference, of repository and tag, or of registry, repository and tag."""
    tag: str = "{}"
    """The project's tag format; {} is the version of the pin."""


@dataclass(frozen=True, slots=True)
class AddonChart:
    """A chart of an add-on, and where its values have images, placement and namespaces."""

    addon: str
    chart: Chart
    images: tuple[AddonImage, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """Values that differ from the chart's own."""
    places: tuple[ValuesPath, ...] = ()
    """Paths of nodeSelector and tolerations."""
    namespaces: ValuesPath = ()
    """The path of the namespaces of teams; empty if the controller watches every namespace."""
    separator: str = ""
    """What separates these namespaces in a text; empty: they are a list."""
    owns_crds: bool = False
    """Whether Helm deletes its CRDs with it, and Kubernetes their objects."""
    monitors: Mapping[str, Any] = field(default_factory=dict)
    """Values that need prometheus-operator."""
    labels: tuple[ValuesPath, ...] = ()
    """The paths of the labels of these monitors."""


@dataclass(frozen=True, slots=True)
class AddonFacts:
    """What gpuyard installs for an add-on, and what teams may do with it."""

    name: str
    title: str
    namespace: str
    source: Source
    needs: tuple[str, ...] = ()
    """Add-ons without which it does not work."""
    since: str = ""
    """The oldest Kubernetes minor that it supports; empty if any that a stack may have."""
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Resources that members of teams may create, by API group."""
    own_groups: tuple[str, ...] = ()
    """Other API groups of its charts."""
    accounts: tuple[str, ...] = ()
    """Namespaces of controllers whose requests in a team's namespaces are checked as those of its members."""
    ports: tuple[int, ...] = ()
    """Ports of pods of teams that its controller calls."""
    charts: tuple[AddonChart, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """API groups that exist once its charts are installed."""
        return (*self.kinds, *self.own_groups)


@cache
def addon_facts() -> Mapping[str, AddonFacts]:
    """By name in a stack file."""
    facts: Mapping[str, AddonFacts] = read_yaml("addons", Mapping[str, AddonFacts])
    return facts
