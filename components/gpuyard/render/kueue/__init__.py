"""The objects of Kueue: its chart, configuration, queues, priorities, checks and topologies."""
