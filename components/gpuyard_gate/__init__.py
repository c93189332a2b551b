"""Opens nodes to jobs once their check has passed, and closes those that failed.

Runs in the cluster as one pod, carried there as text. It keeps nothing of its own: all that it knows stands
on nodes and in the pods that check them, so it may be ended at any moment and another one goes on.
"""
