"""Clusters that a cloud makes, and the one that a platform asks for; no cloud loads what is another's."""
