"""Labs on a real control plane: queues, runs, the yard, idle reclaim, paused parts."""
