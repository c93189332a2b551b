"""Pinned software versions of a platform, their compatibility, and the content of images."""
