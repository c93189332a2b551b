"""Keep the SDK's wait at the end of a program cheap: one turn of its event loop before it begins.

When a program returns, the SDK first waits for the registrations that have begun, one after
another, then for all outstanding outputs with `asyncio.wait(…, FIRST_COMPLETED)`, again after every
completion (`wait_for_rpcs` in pulumi/runtime/stack.py). A registration begins only when the event
loop runs, which a plain program never lets it do. So the first wait finds nothing, the second finds
every output of every resource, and its work grows with the square of their number. Once the
registrations have begun, the first wait does nearly all of the waiting, and its work is linear.

Measured with pulumi 3.272.0 and an engine that takes 50 ms for a registration and does 8 at a time,
CPU of the program per resource on a busy machine (benchmarks/registration.md):

                        as the SDK waits    settled
     250 resources                6.5 ms     5.1 ms
    1000 resources                8.3 ms     3.9 ms

Awaiting all URNs costs the same, but blocks the program, and never returns if a later line of the
program completes an output.

Not addressed: the SDK also sends four debug messages for each resource to the engine, each a
blocking call (about half of the remaining time at 1000 resources). There is no supported way to
stop them: `pulumi.log.debug` only checks for an engine. Replacing the engine connection would, but
would also silence `pulumi up --debug`, the first step of any diagnosis.
"""

from __future__ import annotations

import asyncio

from pulumi.runtime.settings import get_root_resource
from pulumi.runtime.sync_await import (
    _sync_await,  # generated SDKs use it too
)


def await_registrations() -> None:
    """Let every registration made so far begin, which keeps the SDK's own wait for them cheap.

    Call it as the last line of `__main__.py`, or last in the constructor of the outermost
    component. It does not wait for results and changes neither graph nor outcome: the SDK reports a
    failed registration or apply at the end of the program as usual, including those of resources
    that are registered later. Outside a running program it does nothing.
    """
    if get_root_resource() is not None:
        _sync_await(asyncio.sleep(0))
