"""The engine's messages without the rest of the SDK.

`pulumi.runtime.proto` is inside the SDK, and importing it imports all of the SDK: 40 % of a plugin's start,
which each command of the engine pays three times. A plugin needs only the messages.
"""

import importlib.machinery
import sys
from types import ModuleType

PARENTS = ("pulumi", "pulumi.runtime")


def alone() -> None:
    """Make `pulumi.runtime.proto` importable without running the packages that contain it.

    For processes that import nothing else of the SDK: the packages are empty afterwards.
    """
    path: list[str] | None = None
    for name in PARENTS:
        result = importlib.machinery.PathFinder.find_spec(name, path)
        if result is None or result.submodule_search_locations is None:
            return  # the following import reports best what is missing
        path = list(result.submodule_search_locations)
        module = ModuleType(name)
        module.__path__ = path
        sys.modules[name] = module
