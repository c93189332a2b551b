"""The plan of a spec: `plan` derives pools, quotas, queues and prices, or reports why it cannot."""

from gpuyard.plan.platform import plan, plan_or_raise

__all__ = ["plan", "plan_or_raise"]
