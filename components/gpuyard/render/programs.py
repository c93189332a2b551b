"""Programs of ours that run elsewhere, carried as text: neither side imports the other."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import gpuyard
from gpuyard.render.objects import Object

_NOBODY = 65534
NOBODY: Object = {
    "runAsNonRoot": True,
    "runAsUser": _NOBODY,
    "runAsGroup": _NOBODY,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""As whom the pods of those run that need nothing of their node."""
CONFINED: Object = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""And their containers."""


@cache
def source_of(package: str) -> Mapping[str, str]:
    """Its source by file, as a path below the package: `checks/links.py`."""
    folder = Path(gpuyard.__file__).parents[1] / package
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
    }
