"""Messages of the operator's agents on a node: why an operation failed there."""

from gpuyard.resources.diagnosis.kubectl import Kubectl


async def last_message(kubectl: Kubectl, app: str, node: str) -> str:
    """The last log lines of an agent's pod on the node; "" if it has none or they cannot be read."""
    where = ("-A", "-l", f"app={app}", "--field-selector", f"spec.nodeName={node}")
    for pod in (await kubectl.get("pods", *where) or {}).get("items") or []:
        meta = pod["metadata"]
        if log_text := await kubectl.run("logs", meta["name"], "-n", meta["namespace"], "--tail=3"):
            return " ".join(log_text.split())
    return ""


async def event_messages(kubectl: Kubectl, node: str, reason: str) -> list[str]:
    """Messages of a node's events with this reason, the latest last."""
    fields = f"involvedObject.name={node},reason={reason}"
    result = await kubectl.get("events", "-A", "--field-selector", fields)
    events = sorted(
        (result or {}).get("items") or [], key=lambda one: str(one.get("lastTimestamp"))
    )
    return [str(each["message"]) for each in events]
