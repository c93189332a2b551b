"""The generic rule for readiness: sigs.k8s.io/cli-utils, pkg/kstatus/status.

Only the parts that need no Go types: the generation, the `Reconciling`, `Stalled` and `Ready`
conditions, and DaemonSets.
"""

from __future__ import annotations

from testbed.plugins.kubernetes.values import Object, path


def compute(obj: Object) -> tuple[bool, str]:
    """Whether the object matches its spec, and what is missing."""
    if path(obj, "metadata", "deletionTimestamp"):
        return False, "Resource scheduled for deletion"
    generation = path(obj, "metadata", "generation", default=0)
    observed = path(obj, "status", "observedGeneration")
    kind = obj.get("kind")
    if isinstance(observed, int) and observed < generation:
        return (
            False,
            f"{kind} generation is {generation}, but latest observed generation is {observed}",
        )
    if obj.get("apiVersion") == "apps/v1" and kind == "DaemonSet":
        return _daemon_set(obj)
    return _conditions(obj)


def _conditions(obj: Object) -> tuple[bool, str]:
    results = {
        item.get("type"): item for item in path(obj, "status", "conditions", default=[]) or []
    }
    for bad in ("Reconciling", "Stalled"):
        if (results.get(bad) or {}).get("status") == "True":
            return False, str(results[bad].get("message") or bad)
    ready = results.get("Ready")
    if ready is None or ready.get("status") == "True":
        return True, "Resource is current"
    return False, str(ready.get("message") or "Resource is not ready")


def _daemon_set(obj: Object) -> tuple[bool, str]:
    status = obj.get("status") or {}
    if "observedGeneration" not in status:
        return False, "Missing .status.observedGeneration"
    expected = status.get("desiredNumberScheduled", -1)
    if expected < 0:
        return False, "Missing .status.desiredNumberScheduled"
    if path(obj, "spec", "updateStrategy", "type") == "OnDelete":
        return True, f"All replicas scheduled as expected. Replicas: {expected}"
    counts = (
        ("currentNumberScheduled", "Current"),
        ("updatedNumberScheduled", "Updated"),
        ("numberAvailable", "Available"),
        ("numberReady", "Ready"),
    )
    for key, word in counts:
        got = status.get(key, 0)
        if got < expected:
            return False, f"{word}: {got}/{expected}"
    return True, f"All replicas scheduled as expected. Replicas: {expected}"
