"""Values of the GPU Operator's chart: keys of the first and second level, and the fields with a fixed set of keys."""

from collections.abc import Mapping
from typing import Any

from gpuyard_core.catalogue.lists import find_list, find_pairs
from gpuyard_core.catalogue.tables import read_yaml

OF_HELM = frozenset({"global", "nameOverride", "fullnameOverride"})
"""Values of every Helm chart."""
TOP_LEVEL = OF_HELM.union(find_list("operator-values"))
"""Keys of the first level."""
_VALUES = read_yaml("operator_values", Mapping[str, Any])
SECTIONS: Mapping[str, frozenset[str]] = {
    section: frozenset(keys) for section, keys in _VALUES["sections"].items()
}
"""Second-level keys that guides use with free-form content."""
OF_A_RELEASE = "depends on the release"
"""A default that depends on the release: the exporter's monitor is enabled since v26.7.0."""
FIELDS: Mapping[tuple[str, ...], Mapping[str, Any]] = {
    tuple(path.split(".")): fields for path, fields in _VALUES["fields"].items()
}
"""Fields with a fixed set of keys in every release, by path, with their defaults.

None: no relevant default. No release since v22.9.0 had a field that the current one lacks.
"""

DEEPEST = max(map(len, FIELDS))
"""The maximum depth of these paths; deeper keys are not checked."""


def fields_of(path: tuple[str, ...]) -> frozenset[str] | None:
    """The keys that the chart reads at this path; None if any key is allowed, or unknown."""
    if not path:
        return TOP_LEVEL
    if len(path) == 1:
        return SECTIONS.get(path[0])
    result = FIELDS.get(path)
    return None if result is None else frozenset(result)


ON_BY_ITSELF = frozenset(find_list("operator-enabled"))
"""Components that the chart enables by default."""
BY_OTHER_NAMES: Mapping[str, str] = find_pairs("operator-components")
"""Other names of components, in lower case without punctuation."""
DEFAULT_PRIORITY = "system-node-critical"
DEFAULT_STRATEGY = "single"
GPU_TAINT = "nvidia.com/gpu"
"""The taint that the chart's DaemonSets tolerate by default."""
