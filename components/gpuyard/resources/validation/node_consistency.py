"""Compares driver and firmware versions between the nodes of a pool; each node reports only its own.

As with measured values, only short texts become outputs, and at most one for each node.
"""

from collections.abc import Iterable, Mapping

from gpuyard.resources.validation.measurements import MOST_LETTERS, figures_document, short_text

InconsistentNodes = Mapping[str, Mapping[str, list[str]]]
"""By part: its versions, each with the nodes that have it."""
MOST_PARTS, MOST_VERSIONS, MOST_NODES = 8, 8, 64
SHOWN = 8
"""The maximum number of node names per version in a warning."""
_CALLED = {
    "driver": "driver",
    "vbios": "VBIOS",
    "gsp_firmware": "GSP firmware",
    "inforom_image": "InfoROM image",
}


def inconsistent_nodes(messages: Iterable[tuple[str, str]]) -> InconsistentNodes:
    """The parts with several versions, from the nodes' termination messages."""
    results: dict[str, dict[str, set[str]]] = {}
    for node, message in messages:
        for part, version in _parts(message).items():
            results.setdefault(part, {}).setdefault(version, set()).add(node[:MOST_LETTERS])
    several = {part: versions for part, versions in sorted(results.items()) if len(versions) > 1}
    return {
        part: {
            version: sorted(nodes)[:MOST_NODES]
            for version, nodes in sorted(versions.items())[:MOST_VERSIONS]
        }
        for part, versions in list(several.items())[:MOST_PARTS]
    }


def inconsistency_warning(pool: str, mixed: InconsistentNodes) -> str:
    """The warning; "" if all nodes have the same versions."""
    if not mixed:
        return ""
    lines = [
        f"  {_CALLED.get(part, part)} {version}: {_names(nodes)}"
        for part, versions in mixed.items()
        for version, nodes in versions.items()
    ]
    fix = (
        "use one node image and one VBIOS for all: a job on several of them may run at the pace "
        "of the slowest, or fail on one only"
    )
    return "\n".join([f"The nodes of pool {pool} are not identical:", *lines, f"  fix: {fix}"])


def _names(nodes: list[str]) -> str:
    more = f" and {len(nodes) - SHOWN} more" if len(nodes) > SHOWN else ""
    return ", ".join(nodes[:SHOWN]) + more


def _parts(message: str) -> dict[str, str]:
    """One text by part; a node whose GPUs differ has a combined version."""
    try:
        raw = figures_document(message)["parts"]
        return {
            short_text(part): " and ".join(short_text(each) for each in raw[part]) for part in raw
        }
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return {}
