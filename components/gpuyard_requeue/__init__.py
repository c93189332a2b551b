"""Queues a gang again as a whole when one of its nodes goes: a spot notice, an end announced, a drain.

Runs in the cluster as one pod, carried there as text. It keeps nothing of its own: a gang that it has stopped
carries a label until it queues again, so the program may be ended at any moment and another one goes on.
"""
