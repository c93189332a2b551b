"""Cloud clusters and their components; a platform loads only the modules of its own cloud."""
