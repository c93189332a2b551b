"""Keep the SDK's wait at the end of a program cheap: one turn of its event loop before it begins.

When a program returns, the SDK first waits for the registrations that have begun, one after
another, then for all outstanding outputs with `asyncio.wait(…, FIRST_COMPLETED)`, anew after every
completion (`wait_for_rpcs` in pulumi/runtime/stack.py). A registration begins only when the event
loop turns, and a plain program never lets it. So the first wait finds nothing, the second finds
every output of every resource, and its work grows with the square of their number. Once the
registrations have begun the first wait does nearly all of the waiting, and its work is linear.

Measured with pulumi 3.272.0 and an engine that takes 50 ms for a registration and does 8 at a time,
CPU of the program per resource on a busy machine (benchmarks/registration.md):

                        as the SDK waits    settled
     250 resources                6.5 ms     5.1 ms
    1000 resources                8.3 ms     3.9 ms

Awaiting all URNs instead does the same for the cost, but holds the program up and, with an output
that later lines of the program complete, for ever.

Left alone, knowingly: the SDK also sends four debug messages for each resource to the engine, each
a blocking call (about half of what is left at 1000 resources). There is no supported way to stop
them: `pulumi.log.debug` asks only whether there is an engine. Replacing the engine connection would
do it, but would also silence `pulumi up --debug`, the first thing asked for when something is wrong.
"""

from __future__ import annotations

import asyncio

from pulumi.runtime.settings import get_root_resource
from pulumi.runtime.sync_await import (
    _sync_await,  # pyright: ignore[reportPrivateUsage]  # generated SDKs use it too
)


def await_registrations() -> None:
    """Let every registration made so far begin, so that the SDK's own wait for them stays cheap.

    Call it as the last line of `__main__.py`, or last in the constructor of the outermost
    component. It waits for nothing, changes no graph and no outcome: a failed registration or apply
    is reported by the SDK when the program ends, as ever, and what is registered later takes part
    all the same. Outside a running program it does nothing.
    """
    if get_root_resource() is not None:
        _sync_await(asyncio.sleep(0))
