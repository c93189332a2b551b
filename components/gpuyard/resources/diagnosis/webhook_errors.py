"""An object that nobody has refused: the webhook that the API server has to ask did not answer.

Kueue's webhooks stand before its queues and flavors. While its pods start, after an update or the loss of a
node, and for some seconds after their chart is in, nobody answers there, and the API server refuses what it
cannot have judged. The official provider gives such an object up at once. The same request passes once the
webhook answers, so it is made again, every few seconds, for a minute. What a webhook itself has refused is
refused.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy
"""

import re

import pulumi

TRIES = 12
PAUSE_SECONDS = 5.0
"""Between two tries: together the minute in which pods start and are found by those who ask them."""
_UNANSWERED = re.compile(
    r'failed calling webhook "(?P<name>[^"]+)": failed to call webhook: .*?'
    r"(connection refused|connection reset by peer|no endpoints available|no route to host|i/o timeout"
    r"|context deadline exceeded|Client\.Timeout exceeded|unexpected EOF|: EOF"
    r"|TLS handshake (timeout|error)|certificate signed by unknown authority)",
    re.DOTALL,
)


def unreachable_webhook(error: str) -> str:
    """The webhook that did not answer; "" where the operation failed for another reason."""
    match = _UNANSWERED.search(error)
    return match["name"] if match else ""


def webhook_retry(args: pulumi.ErrorHookArgs) -> str:
    """What to say while a webhook is waited for; "" where there is none to wait for, or it took too long."""
    name = unreachable_webhook(args.errors[0]) if args.errors else ""
    if not name or len(args.errors) >= TRIES:
        return ""
    return f"webhook {name} does not answer yet; trying again ({len(args.errors)} of {TRIES})"
