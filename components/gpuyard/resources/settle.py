"""Keep the SDK's final wait cheap: wait once for everything registered, before the program returns.

When a program returns, the SDK waits for all outstanding outputs with `asyncio.wait(…,
FIRST_COMPLETED)`, anew after every completion (`wait_for_rpcs` in pulumi/runtime/stack.py). With an
engine slower than the program nearly all outputs are outstanding then, so the work grows with the
square of the resources. Measured with pulumi 3.272.0, ConfigMaps, an engine that takes 50 ms for a
registration and does 8 at a time, CPU of the program per resource:

    resources              250      1000      2000
    as the SDK waits    3.3 ms    6.8 ms    8.7 ms
    settled first       2.5 ms    2.6 ms    3.0 ms

`benchmarks/registration.py` measures it again, with this library's own resources.

Left alone, knowingly: the SDK also sends four debug messages for each resource to the engine, each
a blocking call (another half of the cost at 1000 resources). There is no supported way to stop
them: `pulumi.log.debug` asks only whether there is an engine. Replacing the engine connection
would, but would also silence `pulumi up --debug`, the first thing asked for when something is
wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pulumi.runtime.settings import get_root_resource
from pulumi.runtime.sync_await import (
    _sync_await,  # pyright: ignore[reportPrivateUsage]  # generated SDKs use it too
)

if TYPE_CHECKING:
    import pulumi


def settle_registrations(within: pulumi.Resource | None = None) -> None:
    """Wait until every resource registered so far has its URN.

    With `within`, only that resource and its descendants are waited for.

    Call it as the last line of `__main__.py`, or of the constructor of the outermost component,
    after `register_outputs`; what is registered later is simply not waited for here. It changes no
    graph and no outcome: a failed registration is not reported here but, as ever, by the SDK when
    the program ends, and unknown outputs of a preview do not matter, as URNs are always known.
    Without an engine it returns at once.

    Do not call it while an output that a resource needs is still to be set by later lines of the
    program (an output made from a hand-made future): it would wait for ever.
    """
    _sync_await(_settle(within))


async def _settle(within: pulumi.Resource | None) -> None:
    root = within if within is not None else get_root_resource()
    if root is None:
        return
    settled: set[pulumi.Resource] = set()
    while waiting := [one for one in _tree(root) if one not in settled]:
        # Failures stay with the SDK, which holds the same futures and raises from them at the end.
        await asyncio.gather(*(one.urn.future() for one in waiting), return_exceptions=True)
        settled.update(waiting)  # an apply may have registered more meanwhile


def _tree(root: pulumi.Resource) -> Iterator[pulumi.Resource]:
    waiting = [root]
    while waiting:
        one = waiting.pop()
        yield one
        # The SDK keeps the children for depends_on on a component; there is no public accessor.
        waiting.extend(one._childResources)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
