"""What agents of the operator have said on a node: why something did not come about there."""

from gpuyard.resources.diagnosis.kubectl import Kubectl


async def last_message(kubectl: Kubectl, app: str, node: str) -> str:
    """The last lines of an agent's pod there; empty where it has none, or nobody could read them."""
    where = ("-A", "-l", f"app={app}", "--field-selector", f"spec.nodeName={node}")
    for pod in (await kubectl.get("pods", *where) or {}).get("items") or []:
        meta = pod["metadata"]
        if log_text := await kubectl.run("logs", meta["name"], "-n", meta["namespace"], "--tail=3"):
            return " ".join(log_text.split())
    return ""


async def event_messages(kubectl: Kubectl, node: str, reason: str) -> list[str]:
    """Events of a node with that reason, the last one last."""
    fields = f"involvedObject.name={node},reason={reason}"
    result = await kubectl.get("events", "-A", "--field-selector", fields)
    events = sorted(
        (result or {}).get("items") or [], key=lambda one: str(one.get("lastTimestamp"))
    )
    return [str(each["message"]) for each in events]
