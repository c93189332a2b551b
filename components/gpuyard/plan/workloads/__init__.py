"""Training runtimes and services: what a plan decides about them."""
