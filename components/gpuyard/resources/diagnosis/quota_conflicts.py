"""Retry after a write conflict on a namespace's quota, which does not mean that it is exceeded.

Each counted object updates its ResourceQuota, and so does the controller that recounts it. After
some conflicts the API server fails the creation with "the object has been modified". The official
provider gives up; the same request succeeds a moment later. An exceeded quota has another message.
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
    """The log message before the next try; "" without a quota conflict, or after the last try."""
    match = _RACED.search(args.errors[0]) if args.errors else None
    if match is None or len(args.errors) >= TRIES:
        return ""
    count = f"{len(args.errors)} of {TRIES}"
    return f"two writers changed quota {match['name']} at the same time; retrying ({count})"
