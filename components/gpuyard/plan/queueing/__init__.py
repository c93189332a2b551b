"""Kueue queues: resource groups, priorities, preemption, start deadlines and worker clusters."""
