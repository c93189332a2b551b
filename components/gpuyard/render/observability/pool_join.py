"""The pool of series of the DCGM exporter, where the collectors of a managed service do not set it.

They know the node of a pod and no label of it. The recording rule of nodes has the pool of each.
"""

import re

from gpuyard.render.observability.facts import NODE_INFO

_SERIES = r"DCGM_\w+(?:\{[^}]*\})?"
_EXPORTED = re.compile(rf"\w+\({_SERIES}\[[^\]]+\]\)|{_SERIES}")
"""A selector, with the function of its range if it has one."""
_POOL = re.compile(r'\bpool(?:=~|!~|!=|=)"[^"]*"(?:,\s*)?')


def joined_with_pools(query: str) -> str:
    """The query with the pool of each series; matchers of the pool move to the nodes."""
    return _EXPORTED.sub(_join, query) if re.search(r"\bpool\b", query) else query


def _join(found: re.Match[str]) -> str:
    matchers = "".join(_POOL.findall(found[0])).rstrip(", ")
    series = _POOL.sub("", found[0]).replace("{}", "").replace(", }", "}")
    nodes = f"{NODE_INFO}{{{matchers}}}" if matchers else NODE_INFO
    return f"({series} * on (node) group_left (pool) {nodes})"
