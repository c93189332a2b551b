"""Pods that check nodes, on nodes that are fake: the real program, over what the fake node says it is."""
