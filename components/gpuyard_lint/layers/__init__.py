"""How values of a release are merged, and the place of each layer."""
