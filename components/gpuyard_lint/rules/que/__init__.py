"""Rules on queues, priorities and quotas."""
