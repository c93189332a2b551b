"""An object that nobody has refused: its namespace's quota was written by two at the same moment.

Each object that a ResourceQuota counts changes that one object, and so does the controller that counts anew.
The API server tries some times, and then tells whoever made something that the quota "has been modified". The
official provider gives such an object up at once; the same request passes a moment later. A quota that is
exceeded is refused in other words.
https://github.com/helm/helm/issues/9710
"""

import re

import pulumi

TRIES = 10
PAUSE_SECONDS = 1.0
_RACED = re.compile(
    r'Operation cannot be fulfilled on resourcequotas "(?P<name>[^"]+)": the object has been modified'
)


def quota_conflict_retry(args: pulumi.ErrorHookArgs) -> str:
    """What to say before the next try; "" where no quota was in the way, or it was each time."""
    match = _RACED.search(args.errors[0]) if args.errors else None
    if match is None or len(args.errors) >= TRIES:
        return ""
    count = f"{len(args.errors)} of {TRIES}"
    return f"quota {match['name']} was written by two at once; trying again ({count})"
