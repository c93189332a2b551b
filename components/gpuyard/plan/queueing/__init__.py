"""Queues of Kueue: resource groups, priorities, preemption, waiting, other clusters."""
