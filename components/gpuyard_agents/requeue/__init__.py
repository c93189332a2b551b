"""Requeues a whole gang when one of its nodes is lost: by a spot notice, the end of a block, or a drain.

Runs in the cluster as one pod, with its source in a ConfigMap. It has no state of its own: a stopped gang
has a label until it queues again, so the pod can be replaced at any time.
"""
