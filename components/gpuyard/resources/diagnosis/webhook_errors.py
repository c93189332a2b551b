"""Retry when an admission webhook did not respond, which does not mean that it denied the request.

Kueue's webhooks check its queues and flavors. While its pods start, after an update, a node failure
or the installation of the chart, they do not respond, and the API server rejects the request. The
official provider gives up. The same request succeeds once the webhook responds, so it is repeated
every few seconds for a minute. A request that the webhook itself denies is not repeated.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy
"""

import re

import pulumi

TRIES = 12
PAUSE_SECONDS = 5.0
"""Pause between two tries: all tries take one minute, in which pods start and their endpoints
appear.
"""
_UNANSWERED = re.compile(
    r'failed calling webhook "(?P<name>[^"]+)": failed to call webhook: .*?'
    r"(connection refused|connection reset by peer|no endpoints available|no route to host|i/o timeout"
    r"|context deadline exceeded|Client\.Timeout exceeded|unexpected EOF|: EOF"
    r"|TLS handshake (timeout|error)|certificate signed by unknown authority)",
    re.DOTALL,
)


def unreachable_webhook(error: str) -> str:
    """The webhook that did not respond; "" if the operation failed for another reason."""
    match = _UNANSWERED.search(error)
    return match["name"] if match else ""


def webhook_retry(args: pulumi.ErrorHookArgs) -> str:
    """The log message of a retry; "" if there is nothing to wait for, or after the last try."""
    name = unreachable_webhook(args.errors[0]) if args.errors else ""
    if not name or len(args.errors) >= TRIES:
        return ""
    return f"webhook {name} does not respond yet; retrying ({len(args.errors)} of {TRIES})"
