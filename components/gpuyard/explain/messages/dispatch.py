"""Jobs that queue here and run on other clusters."""

from collections.abc import Sequence


def sent(clusters: Sequence[str]) -> str:
    """What a platform does with a job that has quota and runs elsewhere."""
    if len(clusters) == 1:
        return f"sent to {clusters[0]}"
    return f"sent to one of {', '.join(clusters)}"


def admitted_there(clusters: Sequence[str]) -> str:
    """What is decided where it runs."""
    if len(clusters) == 1:
        return f"when its queue on {clusters[0]} admits it: what is free there is not known here"
    return (
        "when its queue on one of them admits it, which keeps it: what is free there is not known here,"
        " and pools are what all of them hold together"
    )


def not_sent(kind: str) -> str:
    """A kind that the dispatcher does not know how to send."""
    return f"a {kind} is not sent to other clusters, only Jobs and pods are, and no node is here"


def sent_by_nobody(why: str, namespace: str) -> str:
    """A job in no queue, where only queues send jobs."""
    why = why or f"namespace {namespace} belongs to no team"
    return f"{why}: nothing sends it anywhere, and no node is here"
