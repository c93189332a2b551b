"""The plan of a spec: `plan` derives every pool, quota, queue and price, or says why not."""

from gpuyard.plan.platform import plan, plan_or_raise

__all__ = ["plan", "plan_or_raise"]
