"""Asks registries how large images are, by the protocol that all of them speak; nothing is signed in to."""
