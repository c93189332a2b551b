"""Applies the fix of a finding to the value it was found in, as an editor would."""

import copy
from typing import Any

from gpuyard.findings import Fix


def applied(raw: Any, fix: Fix) -> Any:
    """The same value with the fix in it; None deletes what stands at its path."""
    if fix.at is None:
        raise ValueError("the fix has no path")
    if not fix.at:
        return copy.deepcopy(fix.value)
    root = copy.deepcopy(raw)
    parent: Any = root
    for step in fix.at[:-1]:
        parent = parent[step]
    last = fix.at[-1]
    if fix.value is None:
        del parent[last]
    else:
        parent[last] = fix.value
    return root
