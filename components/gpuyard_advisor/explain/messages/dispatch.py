"""Jobs that queue here and run on other clusters."""

from collections.abc import Sequence


def dispatched_to(clusters: Sequence[str]) -> str:
    """A job with quota that is dispatched to a worker cluster."""
    if len(clusters) == 1:
        return f"dispatched to {clusters[0]}"
    return f"dispatched to one of {', '.join(clusters)}"


def when_remote_queue_admits(clusters: Sequence[str]) -> str:
    """The condition that the worker cluster decides."""
    if len(clusters) == 1:
        return f"when its queue on {clusters[0]} admits it: the free capacity there is unknown"
    return (
        "when its queue on one of them admits it, where it then stays: the free capacity there is unknown,"
        " and pools are the sum over all clusters"
    )


def kind_not_dispatched(kind: str) -> str:
    """A kind that is not dispatched."""
    return f"a {kind} is not dispatched to other clusters (only Jobs and pods are), and this cluster has no nodes"


def unqueued_job_not_dispatched(why: str, namespace: str) -> str:
    """A job without a queue, which is not dispatched."""
    why = why or f"namespace {namespace} belongs to no team"
    return f"{why}: it is not dispatched, and this cluster has no nodes"
