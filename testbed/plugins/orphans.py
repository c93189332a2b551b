"""End a plugin whose engine is gone.

A killed engine cannot end its plugins. The official plugins notice when its address has not answered
for five minutes (pulumi/pulumi, sdk/go/common/util/rpcutil, Healthcheck); checking the parent process
is quicker and costs nothing.
"""

import os
import threading
import time
from collections.abc import Callable

PAUSE_SECONDS = 1.0


def end_with_parent(end: Callable[[], object]) -> None:
    """Call `end` from a separate thread once the parent process has ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PAUSE_SECONDS)
        end()

    threading.Thread(target=watch, daemon=True).start()
