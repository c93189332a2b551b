"""The process that the engine starts instead of a warm plugin: `proxy.py PLUGIN ARGUMENTS`.

It passes output and signals on to the plugin, and ends with the same exit code. When it is killed, the plugin is.
Without a warm process it becomes the plugin itself.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built in: `signal` around it takes longer to import
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  pathlib takes longer than all of this
sys.path.insert(0, HERE)

import asking  # type: ignore[import-not-found]  # noqa: E402 - the path is set just above

PAUSE_SECONDS = 1.0
FORWARDED = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)


def main() -> int:
    """Request the plugin, then wait for its end."""
    engine = os.getppid()  # first: it may be killed during the request
    # The engine may end a plugin that it is starting.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    plugin, *arguments = sys.argv[1:]
    command = (sys.executable, plugin, *arguments)
    link = asking.connect("plugins", command, os.environ, os.getcwd())  # noqa: PTH109
    if link is None:
        file = f"{HERE}/../{plugin}/__main__.py"
        os.execv(sys.executable, [sys.executable, "-I", file, *arguments])  # noqa: S606
    for number in FORWARDED:
        _signal.signal(number, lambda received, _: link.send(bytes([received])))
    for descriptor in (0, 1, 2):
        os.close(descriptor)  # or the engine would not see that the plugin has closed its output
    code = await_end(link, engine)
    return code if code >= 0 else 128 - code


def await_end(link: Any, engine: int) -> int:
    """The plugin's exit code; a killed engine ends the plugin, too (../orphans.py)."""
    link.settimeout(PAUSE_SECONDS)
    while True:
        try:
            code: int = asking.ended(link)
        except TimeoutError:
            if os.getppid() != engine:
                return 0
        else:
            return code


os._exit(main())
