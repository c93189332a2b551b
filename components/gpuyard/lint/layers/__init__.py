"""How values of a release are laid over each other, and where each layer stands."""
