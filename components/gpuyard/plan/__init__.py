"""The plan of a spec: `plan` derives every pool, quota, queue and price, or says why not."""

from gpuyard.plan.platform import plan, planned

__all__ = ["plan", "planned"]
