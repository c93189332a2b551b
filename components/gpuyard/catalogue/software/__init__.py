"""Pinned versions of the software of a platform, what supports what, and what images hold."""
