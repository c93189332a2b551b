"""The engine's messages without the SDK around them.

`pulumi.runtime.proto` lies inside the SDK, and to import it means to import all of that: 40 % of a plugin's
start, which each command of the engine pays three times. A plugin needs the messages only.
"""

import importlib.machinery
import sys
from types import ModuleType

PARENTS = ("pulumi", "pulumi.runtime")


def alone() -> None:
    """Let `pulumi.runtime.proto` be imported without running the packages that it lies in.

    For processes that import nothing else of the SDK: there is nothing in the packages afterwards.
    """
    path: list[str] | None = None
    for name in PARENTS:
        result = importlib.machinery.PathFinder.find_spec(name, path)
        if result is None or result.submodule_search_locations is None:
            return  # the import that follows says best what is missing
        path = list(result.submodule_search_locations)
        module = ModuleType(name)
        module.__path__ = path
        sys.modules[name] = module
